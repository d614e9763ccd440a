"""Differences of one score between two runs, with intervals and p-values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.special import stdtrit

from t2ibench.methods.core.influence import Influence, JointInfluence
from t2ibench.results.schema import Score
from t2ibench.stats.student import t_interval, t_test

# The power with which a test detects a difference that is called detectable.
POWER = 0.8
Verdict = Literal["first", "second", "opposite", "tie"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference, its interval and the p-value that it is 0; no interval without a variance."""

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def differs(self) -> bool:
        """Return whether the interval excludes 0."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 or self.high < 0

    @property
    def turned(self) -> Contrast:
        """Return the reversed difference: the second run's score minus the first's."""
        low = None if self.high is None else 0.0 - self.high
        high = None if self.low is None else 0.0 - self.low
        return Contrast(0.0 - self.value, low, high, self.p)


def linear(
    value: float, first: Influence, second: Influence, level: float, sign: float = -1.0
) -> Contrast:
    """The difference of two estimates, or their sum.

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
    low, high = t_interval(value, variance, df, level)
    return Contrast(value, low, high, t_test(value, variance, df))


def detectable_difference(
    first: Influence, second: Influence, level: float
) -> float | None:
    """Return the smallest true difference that a t-test detects with a power of 0.8."""
    variance, df = JointInfluence([first, second]).variance([1.0, -1.0])
    if not (variance > 0 and df > 0):
        return None
    quantiles = stdtrit(df, (1 + level) / 2) + stdtrit(df, POWER)
    return float(quantiles) * math.sqrt(variance)


def difference_interval(
    first: Score, second: Score, sign: float = -1.0
) -> tuple[float | None, float | None]:
    """The interval of a difference, or sum, of independent runs (MOVER; Zou and Donner 2008)."""
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


def change_of_leans(difference: Contrast, total: Contrast) -> Contrast:
    """Return by how much more the second run leans, regardless of direction.

    |l₂| − |l₁| = (|t − d| − |t + d|) / 2 with d = l₁ − l₂ and t = l₁ + l₂ rises or falls with each,
    so that its ends are at the ends of their intervals. It leaves out 0 where both do.

    Examples:
        >>> change_of_leans(Contrast(0.5, 0.25, 0.75), Contrast(-1.0, -1.5, -0.5))
        Contrast(value=0.5, low=0.25, high=0.75, p=None)
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
    return Contrast(value, min(ends), max(ends))


def _change(difference: float, total: float) -> float:
    return (abs(total - difference) - abs(total + difference)) / 2


def verdict_of(difference: Contrast, total: Contrast | None) -> Verdict | None:
    """Return which run leans less.

    l₁² − l₂² = (l₁ − l₂)(l₁ + l₂): magnitudes differ where both factors differ from 0. Testing
    both (an intersection-union test) keeps its level without any approximation to the squares.

    Args:
        difference: The first run's lean or magnitude minus the second's.
        total: The sum of the two leans; None where the scores are magnitudes.

    Returns:
        'tie' where no difference is beyond chance, 'opposite' where the leans differ and neither
        is smaller beyond chance, and None without an interval.
    """
    if difference.low is None or (total is not None and total.low is None):
        return None
    if not difference.differs:
        return "tie"
    if total is None:
        return "first" if difference.value < 0 else "second"
    if not total.differs:
        return "opposite"
    return "first" if difference.value * total.value < 0 else "second"
