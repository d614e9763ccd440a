"""The difference of two shares of the same items, such as images made before and after a change."""

from __future__ import annotations

import math

from scipy.special import ndtr, ndtri

from t2ibench.stats.bisection import largest_holding


def change_of_paired_shares(
    rises: float, falls: float, n: int, level: float
) -> tuple[float, float, float]:
    """Return the interval of the change of a share, with the p-value that it is 0.

    b items of n gain a property, and c lose it. Of two intervals the wider end counts, and of their
    tests the larger p: the score interval of d = (b − c) / n, whose test of 0 is McNemar's, and
    that of (b − c) / (n + 2) with half an item added to each cell. Alone, the first rejects 0 too
    often where b + c is small, and the second covers too seldom where all change one way.

    Args:
        rises: b.
        falls: c.
        n: Items that both shares are of, at least 1.
        level: Confidence level, in (0, 1).

    Returns:
        Lower end, upper end, and p. The interval leaves 0 out exactly if p is below 1 − level.

    Source: Tango 1998, "Equivalence test and confidence interval for the difference in proportions
        for the paired-sample design"; Agresti and Min 2005, "Simple improved confidence intervals
        for comparing matched proportions".

    Example:
        >>> low, high, p = change_of_paired_shares(8, 0, 40, 0.95)
        >>> round(low, 3), round(high, 3), round(p, 4)
        (0.063, 0.348, 0.0047)
    """
    quantile = float(ndtri((1 + level) / 2))
    size = n + 2
    adjusted = (rises - falls) / size
    error = math.sqrt(rises + falls + 1 - (rises - falls) ** 2 / size) / size
    value = (rises - falls) / n

    def accepted_above(distance: float) -> bool:
        return abs(_score(rises, falls, n, value + distance)) <= quantile

    def accepted_below(distance: float) -> bool:
        return abs(_score(rises, falls, n, value - distance)) <= quantile

    high = value + largest_holding(accepted_above, 1.0 - value)
    low = value - largest_holding(accepted_below, 1.0 + value)
    statistic = min(abs(_score(rises, falls, n, 0.0)), abs(adjusted) / error)
    return (
        min(low, adjusted - quantile * error),
        max(high, adjusted + quantile * error),
        min(1.0, 2 * float(ndtr(-statistic))),
    )


def _score(rises: float, falls: float, n: int, change: float) -> float:
    """Return the score statistic that the share changes by `change` (Tango 1998, eq. 3)."""
    distance = rises - falls - n * change
    if distance == 0:
        return 0.0
    a = 2.0 * n
    b = -rises - falls + (2 * n - rises + falls) * change
    c = -falls * change * (1 - change)
    falling = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
    variance = n * (2 * falling + change * (1 - change))
    return (
        distance / math.sqrt(variance)
        if variance > 0
        else math.copysign(math.inf, distance)
    )
