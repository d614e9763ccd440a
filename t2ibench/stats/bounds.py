"""Inference about a quantity that is only known to lie between two estimates."""

from __future__ import annotations

from dataclasses import dataclass

import scipy

from t2ibench.stats.clopper_pearson import clopper_pearson
from t2ibench.stats.clusters import Proportion

# In standard errors.
_FARTHEST = 10.0
# Between these shares Wilson's interval holds on each side.
_LEAST_MIDDLE = 0.15
_MOST_MIDDLE = 0.85


@dataclass(frozen=True, slots=True)
class BoundedProportion:
    """A share of answers that is known to lie between two bounds, as some answers are unknown.

    Its interval covers the share, wherever between its bounds it lies, with the level's
    probability; it is narrower than one that would cover both bounds. Ends below .15 and above .85
    are Clopper and Pearson's: one side of Wilson's interval does not hold there (.915 of .95).

    Source: Imbens & Manski 2004, "Confidence intervals for partially identified parameters";
        Stoye 2009.

    Example:
        30 of 100 answers are unknown, 40 of the others are of the class:

        >>> share = BoundedProportion(40 / 70, Proportion(0.4, 100, 99), Proportion(0.7, 100, 99))
        >>> low, high = share.interval()
        >>> round(low, 2), round(high, 2), share.p(0.5), share.p(0.25) < 0.01
        (0.32, 0.77, 1.0, True)

    Attributes:
        value: The share of the known answers.
        least: The share if no unknown answer is of the class.
        most: The share if each of them is.
    """

    value: float
    least: Proportion
    most: Proportion

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the share that allows for the unknown answers.

        It goes from the low end of `least` to the high end of `most`, both at the level
        at which together they cover the share.
        """
        if self._covered(0.0) >= level:
            return self.least.value, self.most.value

        def surplus(distance: float) -> float:
            """Return the coverage of ends this many standard errors outside, less the level."""
            return self._covered(distance) - level

        errors_out = scipy.optimize.brentq(surplus, 0.0, _FARTHEST)
        level_of_each = float(2 * scipy.special.ndtr(errors_out) - 1)
        low, _ = _interval(self.least, level_of_each)
        _, high = _interval(self.most, level_of_each)
        return low, high

    def p(self, expected: float) -> float:
        """Return the two-sided p-value that the share is `expected`, to agree with the interval.

        It is 1 for a share between the bounds; nan for an expected share of 0 or 1.
        """
        if self.least.value <= expected <= self.most.value:
            return 1.0
        nearer = self.most
        if expected < self.least.value:
            nearer = self.least
        p_of_nearer = _p(nearer, expected)
        errors_out = float(-scipy.special.ndtri(p_of_nearer / 2))
        return 1.0 - self._covered(errors_out)

    def _covered(self, errors_out: float) -> float:
        """Return the least coverage of an interval with ends this many standard errors out."""
        widest = max(self.least.error, self.most.error)
        width = self.most.value - self.least.value
        above_low_end = scipy.special.ndtr(errors_out + width / widest)
        above_high_end = scipy.special.ndtr(-errors_out)
        return float(above_low_end - above_high_end)


def _interval(share: Proportion, level: float) -> tuple[float, float]:
    if not _extreme(share):
        return share.interval(level)
    return clopper_pearson(share.value * share.size, share.size, level)


def _p(share: Proportion, expected: float) -> float:
    if not _extreme(share) or not 0 < expected < 1:
        return share.p(expected)
    hits = share.value * share.size
    misses = share.size - hits
    if expected < share.value:
        tail = float(scipy.special.betainc(hits, misses + 1, expected))
    else:
        tail = float(scipy.special.betaincc(hits + 1, misses, expected))
    return 2 * tail


def _extreme(share: Proportion) -> bool:
    return not _LEAST_MIDDLE <= share.value <= _MOST_MIDDLE
