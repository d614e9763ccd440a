"""The exact interval of a share (Clopper and Pearson 1934)."""

from __future__ import annotations

import scipy


def clopper_pearson(hits: float, total: float, level: float) -> tuple[float, float]:
    """Return the exact confidence interval of the share `hits` / `total` of independent items.

    Args:
        hits: Items with the property.
        total: Items, more than 0.
        level: Confidence level, in (0, 1).

    Returns:
        Its lower and its upper end.

    Source: Clopper & Pearson 1934.

    Examples:
        >>> low, high = clopper_pearson(11, 12, 0.95)
        >>> round(low, 3), round(high, 3)
        (0.615, 0.998)
    """
    misses = total - hits
    tail = (1 - level) / 2
    low = 0.0
    if hits > 0:
        low = float(scipy.special.betaincinv(hits, misses + 1, tail))
    high = 1.0
    if hits < total:
        upper_tail = 1 - tail
        high = float(scipy.special.betaincinv(hits + 1, misses, upper_tail))
    return low, high
