"""Differences of one score between two runs, with intervals and p-values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import scipy

from t2ibench.methods.core.influence import Influence, JointInfluence
from t2ibench.results.schema import Score
from t2ibench.stats.student import t_interval, t_test

# The power with which a test detects a difference that is called detectable.
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference between two runs with its interval and p-value, both None if unknown.

    The interval excludes 0 if and only if p is below 1 - level: both are of one test.

    Attributes:
        value: The difference.
        low: Lower end of its interval.
        high: Upper end.
        p: p-value that the difference is 0.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @classmethod
    def from_t(cls, value: float, variance: float, df: float, level: float) -> Contrast:
        """Return a difference with Student's t interval and test, from its variance and df."""
        low, high = t_interval(value, variance, df, level)
        return cls(value, low, high, t_test(value, variance, df))

    @property
    def differs(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 or self.high < 0

    @property
    def turned(self) -> Contrast:
        """The same difference with the opposite sign, as second run minus first."""
        low = None if self.high is None else 0.0 - self.high
        high = None if self.low is None else 0.0 - self.low
        return Contrast(0.0 - self.value, low, high, self.p)


def linear(
    value: float, first: Influence, second: Influence, level: float, sign: float = -1.0
) -> Contrast:
    """Return the difference, or sum if `sign` is 1, of one score in two runs, paired by image.

    V = V₁ + V₂ − 2 C, with C over the units that both have, and Student's t with Satterthwaite's
    degrees of freedom over the strata of the difference.

    Examples:
        >>> influence = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
        >>> linear(0.0, influence, influence, 0.95)
        Contrast(value=0.0, low=0.0, high=0.0, p=1.0)
    """
    variance, df = JointInfluence([first, second]).variance([1.0, sign])
    if not math.isfinite(variance) or (variance == 0 and value != 0):
        # A single unit shows no variance, nor do units that do not vary.
        return Contrast(value)
    return Contrast.from_t(value, variance, df, level)


def detectable_difference(
    first: Influence, second: Influence, level: float
) -> float | None:
    """Return the smallest true difference that a t-test detects in 8 of 10 cases, or None."""
    variance, df = JointInfluence([first, second]).variance([1.0, -1.0])
    if not (variance > 0 and df > 0):
        return None
    quantiles = scipy.special.stdtrit(df, (1 + level) / 2) + scipy.special.stdtrit(
        df, POWER
    )
    return float(quantiles) * math.sqrt(variance)


def difference_interval(
    first: Score, second: Score, sign: float = -1.0
) -> tuple[float | None, float | None]:
    """Return the interval of a difference or sum of scores of two independent runs."""
    if (
        first.value is None
        or first.ci_low is None
        or first.ci_high is None
        or second.value is None
        or second.ci_low is None
        or second.ci_high is None
    ):
        return None, None
    value = first.value + sign * second.value
    below = second.value - second.ci_low
    above = second.ci_high - second.value
    if sign < 0:
        below, above = above, below
    low = value - math.hypot(first.value - first.ci_low, below)
    high = value + math.hypot(first.ci_high - first.value, above)
    return low, high


def with_p_of_interval(contrast: Contrast, level: float) -> Contrast:
    """Return a difference with the p-value that its interval implies.

    For runs without influences, of which only intervals are known: the end toward 0 is taken for
    that of a normal distribution.

    Examples:
        >>> contrast = with_p_of_interval(Contrast(0.5, 0.0, 0.9), 0.95)
        >>> round(contrast.p, 9)
        0.05
    """
    if contrast.low is None or contrast.high is None:
        return contrast
    end = contrast.low if contrast.value > 0 else contrast.high
    margin = abs(contrast.value - end)
    if not margin > 0:
        p = 1.0 if contrast.value == 0 else 0.0
    else:
        quantile = scipy.special.ndtri((1 + level) / 2) * abs(contrast.value) / margin
        p = min(1.0, 2 * float(scipy.special.ndtr(-quantile)))
    return Contrast(contrast.value, contrast.low, contrast.high, p)


def change_of_leans(difference: Contrast, total: Contrast) -> Contrast:
    """Return how much more the second run leans than the first, whichever way each leans.

    |l₂| − |l₁| = (|t − d| − |t + d|) / 2 with d = l₁ − l₂ and t = l₁ + l₂ rises or falls with each,
    so that its ends are at the ends of their intervals. It leaves out 0 where both do. The leans
    are of one size where d or t is 0, so that p is the larger of theirs (an intersection-union
    test, which keeps its level without any approximation).

    Examples:
        >>> change_of_leans(Contrast(0.5, 0.25, 0.75, 0.01), Contrast(-1.0, -1.5, -0.5, 0.02))
        Contrast(value=0.5, low=0.25, high=0.75, p=0.02)
    """
    value = _change(difference.value, total.value)
    if difference.low is None or difference.high is None:
        return Contrast(value)
    if total.low is None or total.high is None:
        return Contrast(value)
    ends = [
        _change(difference_end, total_end)
        for difference_end in (difference.low, difference.high)
        for total_end in (total.low, total.high)
    ]
    p = None
    if difference.p is not None and total.p is not None:
        p = max(difference.p, total.p)
    return Contrast(value, min(ends), max(ends), p)


def _change(difference: float, total: float) -> float:
    return (abs(total - difference) - abs(total + difference)) / 2
