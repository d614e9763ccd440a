"""Ratios of estimates that share units: Fieller's sets from influences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.stats.student import satterthwaite, t_test

_ITERATIONS = 30  # of an end of a set, whose degrees of freedom depend on the end


@dataclass(frozen=True, slots=True)
class RatioSet:
    """Which ratios N / D are compatible with N and D.

    Attributes:
        low: Lower end; -inf where the set is unbounded.
        high: Upper end; inf where it is unbounded.
        p: Two-sided p-value that the ratio is 0: below 1 - level where 0 is outside the set.
        df: Degrees of freedom of that test.
    """

    low: float
    high: float
    p: float
    df: float

    @property
    def bounded(self) -> bool:
        """Whether D is known well enough to divide by."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


def ratio_set(
    top: float, bottom: float, of_top: Influence, of_bottom: Influence, level: float
) -> RatioSet:
    """Fieller's set of a ratio N / D.

    The set holds every t with (N - t D)² ≤ q² V(N - t D), where q is the quantile of Student's t
    with Satterthwaite's degrees of freedom of that variance. It is unbounded where D does not
    differ from 0, as an interval that covers for every D has to be.

    Args:
        top: N.
        bottom: D.
        of_top: Influence of the units on N.
        of_bottom: Influence of the units on D, some of which may be the same.
        level: Confidence level, in (0, 1).

    Returns:
        The set; its ends are nan where a variance is unknown.

    Source: Fieller 1954, "Some problems in interval estimation".

    Example:
        With a denominator that is known, the interval of the numerator is divided by it.

        >>> influence = Influence.of_mean("a nurse", [0, 1, 2], [1.0, 2.0, 3.0])
        >>> found = ratio_set(2.0, 4.0, influence, Influence.none(), 0.95)
        >>> round(found.low, 3), round(found.high, 3), round(found.p, 3)
        (-0.121, 1.121, 0.074)
    """
    shares = _Shares.of(of_top, of_bottom)
    variance, df = shares.at(0.0)
    if not np.isfinite(shares.sums).all():
        return RatioSet(np.nan, np.nan, np.nan, np.nan)
    ends = [_end(side, top, bottom, shares, level) for side in (-1.0, 1.0)]
    p = t_test(top, variance, df)
    return RatioSet(ends[0], ends[1], p, df)


@dataclass(frozen=True, slots=True)
class _Shares:
    """The variance of N - t D by stratum, as coefficients of 1, -2 t and t², shape (s, 3)."""

    sums: Float64Array
    df: Float64Array

    @classmethod
    def of(cls, top: Influence, bottom: Influence) -> _Shares:
        # Both combinations have the units of both, in the same order.
        n = Influence.combined([(1.0, top), (0.0, bottom)])
        d = Influence.combined([(0.0, top), (1.0, bottom)])
        products = (n.value * n.value, n.value * d.value, d.value * d.value)
        k = len(n.strata)
        sums = np.stack([np.bincount(n.stratum, weights=x, minlength=k) for x in products], axis=1)
        sizes = np.bincount(n.stratum[n.unit != FLOOR], minlength=k).astype(np.float64)
        return cls(sums.astype(np.float64), np.maximum(sizes - 1.0, 1.0))

    def at(self, t: float) -> tuple[float, float]:
        parts = self.sums @ np.array([1.0, -2.0 * t, t * t])
        return satterthwaite(np.maximum(parts, 0.0), self.df)


def _end(side: float, top: float, bottom: float, shares: _Shares, level: float) -> float:
    """One end of the set: the root of (N - t D)² = q² V(t), with q at the end's own df."""
    c0, c1, c2 = shares.sums.sum(axis=0)
    end = start = top / bottom
    for _ in range(_ITERATIONS):
        df = shares.at(end)[1]
        squared = stdtrit(df, (1 + level) / 2) ** 2 if np.isfinite(df) else 0.0
        # (D² - q² c2) t² - 2 (N D - q² c1) t + (N² - q² c0) <= 0
        lead = bottom**2 - squared * c2
        middle, last = top * bottom - squared * c1, top**2 - squared * c0
        if not lead > 0:
            return side * np.inf
        root = np.sqrt(max(middle**2 - lead * last, 0.0))
        new = float((middle + side * root) / lead)
        if np.isclose(new, end, rtol=1e-9, atol=1e-12):
            return new
        end = new if np.isfinite(new) else start
    return end
