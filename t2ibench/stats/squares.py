"""The mean square of several effects, unbiased, with a test and an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtr, fdtrc, fdtri, ncfdtr

from t2ibench.arrays import Float64Array

_STEPS = 60  # of bisection: more than float64 has bits


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """The mean square of several effects.

    Attributes:
        value: Unbiased, so negative about half of the time where every effect is 0.
        low: Lower end of its interval, at most 0 where `p` is at least 1 - level.
        high: Upper end, at least 0.
        p: One-sided p-value that every effect is 0.
        fair_low: The least value that can be found.
        fair_high: The value that is exceeded with probability 1 - level where every effect is 0.
        df: Degrees of freedom of the numerator and of the denominator of the F test.
    """

    value: float
    low: float
    high: float
    p: float
    fair_low: float
    fair_high: float
    df: tuple[float, float]


def mean_square(
    tops: npt.ArrayLike,
    variances: npt.ArrayLike,
    dfs: npt.ArrayLike,
    bottoms: npt.ArrayLike | None = None,
    bottom_variances: npt.ArrayLike | None = None,
    level: float = 0.95,
    degrees: tuple[float, float] | None = None,
) -> MeanSquare:
    """Mean square of the effects N_j / D_j, weighted by D_j².

    With V_j the variance of N_j and U_j that of D_j:

    R² = Σ (N² − V) / Σ (D² − U) / (1 + Σ (4 D² U − 2 U²) / (Σ (D² − U))²)
    F = Σ N² / Σ V, referred to F with h = (ΣV)² / Σ V² f/(f + 2) and h₂ = (ΣV)² / Σ V²/(f + 2)

    The interval inverts the noncentral F: at R₀, N_j has the variance V_j + R₀² U_j,
    λ = R₀² Σ (D² − U) h / ΣV and h₂ (h + λ) / h denominator degrees of freedom. It is one-sided
    at 0, so that its lower end is above 0 where p < 1 − level, and two-sided far from it.

    Args:
        tops: N, shape (k,).
        variances: V at an effect of 0, shape (k,).
        dfs: f, degrees of freedom of V, shape (k,).
        bottoms: D, shape (k,); 1 each by default.
        bottom_variances: U, shape (k,); 0 each by default.
        level: Confidence level, in (0, 1).
        degrees: Degrees of freedom of the F test, where the effects depend on each other, or
            their variances were estimated together; from `variances` and `dfs` by default.

    Returns:
        The mean square with its test and interval.

    Source: U-statistic for the numerator; the test is Box 1954's approximation, the interval its
    inversion, both derived here and certified by `tools/calibration`.

    Example:
        >>> found = mean_square([3.0, -3.0], [0.1, 0.1], [20, 20], [5.0, 5.0])
        >>> round(found.value, 3), found.low > 0, found.p < 0.001
        (0.356, True, True)
    """
    n, v, f = (np.asarray(array, dtype=np.float64) for array in (tops, variances, dfs))
    d = np.ones_like(n) if bottoms is None else np.asarray(bottoms, dtype=np.float64)
    u = (
        np.zeros_like(n)
        if bottom_variances is None
        else np.asarray(bottom_variances, dtype=np.float64)
    )
    scale = float((d**2 - u).sum())
    curvature = float((4 * d**2 * u - 2 * u**2).sum()) / scale**2
    value = float((n**2 - v).sum()) / scale / (1 + curvature)
    total = float(v.sum())
    if not total > 0:  # nothing varies
        exact = value != 0
        return MeanSquare(
            value, value, value, np.finfo(float).tiny if exact else 1.0, 0.0, 0.0, (0, 0)
        )
    h, h2 = degrees or (
        total**2 / float((v**2 * f / (f + 2)).sum()),
        total**2 / float((v**2 / (f + 2)).sum()),
    )
    squares = float((n**2).sum())
    p = float(np.clip(fdtrc(h, h2, squares / total), np.finfo(float).tiny, 1.0))
    low, high = _interval(squares, total, float(u.sum()), max(scale, 0.0), (h, h2), level)
    critical = float(fdtri(h, h2, level))
    unit = total / scale / (1 + curvature) if scale > 0 else float("inf")
    low, high = low**2 if low > 0 else min(value, 0.0), high**2
    return MeanSquare(value, low, high, p, -unit, (critical - 1) * unit, (h, h2))


def _interval(
    squares: float, total: float, extra: float, scale: float, dfs: tuple[float, float], level: float
) -> tuple[float, float]:
    """Both ends on the scale of the root."""
    h, h2 = dfs
    tail = (1 - level) / 2

    def beyond(r: Float64Array, side: int) -> bool:
        """Whether R0 = r is rejected because the squares are too large (1) or too small (-1)."""
        variance = total + r**2 * extra
        noncentrality = r**2 * scale * h / variance
        lowest = tail * (1 - np.exp(-noncentrality / np.sqrt(2 * h)))
        freedom = h2 * (h + noncentrality) / h
        reached = _noncentral_f(h, float(freedom), float(noncentrality), float(squares / variance))
        return bool(reached > lowest + level if side > 0 else reached < lowest)

    if scale <= 0:
        return 0.0, float("inf")
    top = np.sqrt(max(squares, total) / scale)
    low = _bisect(lambda r: beyond(r, 1), top) if beyond(np.float64(0.0), 1) else 0.0
    for _ in range(_STEPS):
        if beyond(top, -1):
            break
        top = top * 2
    else:
        return low, float("inf")
    return low, _bisect(lambda r: not beyond(r, -1), top)


def _noncentral_f(h: float, h2: float, noncentrality: float, x: float) -> float:
    """Distribution function of the noncentral F.

    Far from its mean scipy's is nan here and there; there Patnaik's (1949) approximation by a
    central F stands in, whose error is below .002 where the noncentrality is above 500.

    Returns:
        P(F <= x).
    """
    exact = float(ncfdtr(h, h2, noncentrality, x))
    if np.isfinite(exact):
        return exact
    matched = (h + noncentrality) ** 2 / (h + 2 * noncentrality)
    return float(fdtr(matched, h2, x * h / (h + noncentrality)))


def _bisect(below: object, top: Float64Array) -> float:
    """The largest value in [0, top] for which `below` holds, if it holds from 0 up to there."""
    assert callable(below)
    low, high = 0.0, float(top)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(np.float64(middle)) else (low, middle)
    return low


def quadratic_form(
    value: float,
    squares: float,
    variances: tuple[float, float, float],
    count: int,
    dfs: tuple[float, float],
    level: float = 0.95,
) -> MeanSquare:
    """The mean of k squared effects that depend on each other, with its test and interval.

    As `mean_square`, for a caller that knows the covariance S of its effects and finds the degrees
    of freedom h and h₂ from it. Where S is larger in the direction of the effects than the tr S / h
    that the noncentral F takes, the interval goes over to that larger variance as the effects grow.

    Args:
        value: The unbiased mean square.
        squares: Σ N², the sum of the squared estimates.
        variances: tr S where every effect is 0; by how much it grows with the mean square; and
            N'SN / N'N, the variance in the direction of the effects.
        count: k.
        dfs: h and h₂, of the numerator and of the denominator of F = Σ N² / tr S.
        level: Confidence level, in (0, 1).

    Returns:
        The mean square with its test and interval.

    Source: as `mean_square`.

    Example:
        >>> same = mean_square([3.0, -3.0], [0.1, 0.1], [20, 20])
        >>> found = quadratic_form(same.value, 18.0, (0.2, 0.0, 0.0), 2, same.df)
        >>> np.allclose([found.low, found.high, found.p], [same.low, same.high, same.p])
        True
    """
    total, extra, along = variances
    h, h2 = dfs
    tail = (1 - level) / 2

    def beyond(r: Float64Array, side: int) -> bool:
        """Whether a root mean square of r is rejected: too many squares (1) or too few (-1)."""
        variance, sum_of_squares = total + r**2 * extra, count * r**2
        share = sum_of_squares / (sum_of_squares + variance)
        single = variance / h * (1 + share * max(along * h / total - 1, 0.0))
        freedom, noncentrality = variance / single, sum_of_squares / single
        lowest = tail * (1 - np.exp(-noncentrality / np.sqrt(2 * freedom)))
        below = h2 * (freedom + noncentrality) / freedom
        reached = ncfdtr(freedom, below, noncentrality, squares / variance)
        return bool(reached > lowest + level if side > 0 else reached < lowest)

    top = np.sqrt(max(squares, total) / count)
    low = _bisect(lambda r: beyond(r, 1), top) ** 2 if beyond(np.float64(0.0), 1) else 0.0
    for _ in range(_STEPS):
        if beyond(top, -1):
            break
        top = top * 2
    high = _bisect(lambda r: not beyond(r, -1), top) ** 2
    p = float(np.clip(fdtrc(h, h2, squares / total), np.finfo(float).tiny, 1.0))
    unit = total / count
    fair_high = (float(fdtri(h, h2, level)) - 1) * unit
    return MeanSquare(value, low or min(value, 0.0), high, p, -unit, fair_high, dfs)
