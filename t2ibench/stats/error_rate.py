"""The error rate that belongs to a confidence level."""

from __future__ import annotations


def error_rate(level: float) -> float:
    """Return how often an interval of a confidence level may miss: 0.05 for 0.95.

    In floating point, `1 - 0.95` is 0.050000000000000044. A p-value of 0.05, the smallest that many
    small tests can have, would lie below that, although it does not lie below 0.05.

    Args:
        level: Confidence level, in (0, 1).

    Returns:
        The error rate, in (0, 1), without the rounding error of the subtraction.

    Example:
        >>> error_rate(0.95), error_rate(0.9), error_rate(0.99)
        (0.05, 0.1, 0.01)
    """
    return round(1 - level, 12)
