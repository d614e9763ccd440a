"""Bisection: up to which value a condition holds."""

from __future__ import annotations

from collections.abc import Callable


def largest_holding(
    holds: Callable[[float], bool], high: float, *, steps: int = 60
) -> float:
    """Return the largest value from 0 to `high` up to which a condition holds.

    Args:
        holds: The condition, which no longer holds once it has ceased to.
        high: The largest value that is tried.
        steps: How often the interval is halved; the result is at most high / 2^steps too low,
            and 60 are more than float64 has bits.

    Returns:
        The value; 0 where the condition never holds.

    Example:
        >>> round(largest_holding(lambda x: x * x <= 2, 4.0), 6)
        1.414214
    """
    if holds(high):
        return high
    low = 0.0
    for _ in range(steps):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
