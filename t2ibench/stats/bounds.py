"""Inference about a quantity that is only known to lie between two estimates."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import betainc, betaincc, betaincinv, ndtr, ndtri

from t2ibench.stats.clusters import Proportion

_FARTHEST = 10.0  # standard errors
_MIDDLE = (0.15, 0.85)  # where Wilson's interval holds on each side


@dataclass(frozen=True, slots=True)
class BoundedProportion:
    """A share some of whose answers are unknown.

    Its interval covers the share, wherever between its bounds it lies, with the level's
    probability; it is narrower than one that would cover both bounds. Ends below .15 and above .85
    are Clopper and Pearson's: one side of Wilson's interval does not hold there (.915 of .95).

    Source: Imbens & Manski 2004, "Confidence intervals for partially identified parameters";
        Stoye 2009.

    Example:
        30 of 100 answers are unknown, 40 of the others are of the class:

        >>> found = BoundedProportion(40 / 70, Proportion(0.4, 100, 99), Proportion(0.7, 100, 99))
        >>> low, high = found.interval()
        >>> round(low, 2), round(high, 2), found.p(0.5), found.p(0.25) < 0.01
        (0.32, 0.77, 1.0, True)
    """

    value: float  # the share of the known answers
    least: Proportion  # where no unknown answer is of the class
    most: Proportion  # where each of them is

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The lower end of the least share's interval and the upper end of the most's.

        Both are of the level at which together they cover the share.
        """
        if self._covered(0.0) >= level:
            return self.least.value, self.most.value
        z = brentq(lambda z: self._covered(z) - level, 0.0, _FARTHEST)
        each = float(2 * ndtr(z) - 1)
        return _interval(self.least, each)[0], _interval(self.most, each)[1]

    def p(self, expected: float) -> float:
        """Two-sided p-value of an expected share, which agrees with the interval.

        It is 1 for a share between the bounds; nan for an expected share of 0 or 1.
        """
        if self.least.value <= expected <= self.most.value:
            return 1.0
        nearer = self.least if expected < self.least.value else self.most
        return 1.0 - self._covered(float(-ndtri(_p(nearer, expected) / 2)))

    def _covered(self, z: float) -> float:
        """The least probability that both ends, z standard errors out, hold the share between."""
        widest = max(self.least.error, self.most.error)
        width = self.most.value - self.least.value
        return float(ndtr(z + width / widest) - ndtr(-z))


def _interval(share: Proportion, level: float) -> tuple[float, float]:
    if not _extreme(share):
        return share.interval(level)
    x, tail = share.value * share.size, (1 - level) / 2
    low = float(betaincinv(x, share.size - x + 1, tail)) if x > 0 else 0.0
    high = float(betaincinv(x + 1, share.size - x, 1 - tail)) if x < share.size else 1.0
    return low, high


def _p(share: Proportion, expected: float) -> float:
    if not _extreme(share) or not 0 < expected < 1:
        return share.p(expected)
    x = share.value * share.size
    if expected < share.value:
        return 2 * float(betainc(x, share.size - x + 1, expected))
    return 2 * float(betaincc(x + 1, share.size - x, expected))


def _extreme(share: Proportion) -> bool:
    return not _MIDDLE[0] <= share.value <= _MIDDLE[1]
