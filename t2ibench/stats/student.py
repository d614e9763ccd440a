"""Student's t with Satterthwaite's degrees of freedom; ratios by Fieller's sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from t2ibench.arrays import Float64Array

# of the ends of a Fieller set, whose degrees of freedom depend on the ends
_ITERATIONS = 30


def satterthwaite(variances: npt.ArrayLike, dfs: npt.ArrayLike) -> tuple[float, float]:
    """Variance of a sum of independent estimates, with its degrees of freedom.

    V = Σ v, df = V² / Σ (v² / df_v)

    Args:
        variances: Shape (c,), each at least 0.
        dfs: Degrees of freedom of each, shape (c,); those with 0 variance do not count.

    Returns:
        V and df; df is nan where V is 0.

    Source: Satterthwaite 1946, "An approximate distribution of estimates of variance components".

    Example:
        >>> satterthwaite([1.0, 1.0], [4, 4])
        (2.0, 8.0)
    """
    v = np.asarray(variances, dtype=np.float64)
    f = np.asarray(dfs, dtype=np.float64)
    total = float(v.sum())
    if not total > 0:
        return total, float("nan")
    known = v > 0
    return total, float(total**2 / (v[known] ** 2 / f[known]).sum())


def welch(variances: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[float, float]:
    """Variance of a difference of two means, with degrees of freedom that few values keep to.

    Satterthwaite's, and at most those of equally varying values: a variance that two or three
    values happen to show as small gives too many degrees of freedom where the other side has
    many values (2 against 10 cover .88 to .90 without the bound).

    Args:
        variances: Of each mean, shape (c,).
        counts: How many values each mean is of, shape (c,); of one, nothing is known.

    Returns:
        V and df; df is nan where V is 0 or unknown.

    Source: Welch 1947, "The generalization of Student's problem"; the bound is ours, from
        simulation.

    Example:
        >>> plain, kept = satterthwaite([0.01, 0.1], [1, 9]), welch([0.01, 0.1], [2, 10])
        >>> round(plain[1], 1), round(kept[1], 1)
        (10.0, 1.4)
    """
    sizes = np.asarray(counts, dtype=np.float64)
    if (sizes < 2).any():
        return float("nan"), float("nan")
    total, df = satterthwaite(variances, sizes - 1)
    return total, min(df, satterthwaite(1 / sizes, sizes - 1)[1])


def t_interval(
    value: float, variance: float, df: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval of an estimate with an estimated variance.

    value ± t_df((1 + level) / 2) √variance

    Args:
        value: The estimate.
        variance: Its variance, at least 0.
        df: Degrees of freedom of the variance.
        level: Confidence level, in (0, 1).

    Returns:
        Lower and upper end; [value, value] where the variance is 0, nan where it is unknown.

    Source: Student 1908.

    Example:
        >>> low, high = t_interval(1.0, 4.0, 10)
        >>> round(low, 3), round(high, 3)
        (-3.456, 5.456)
    """
    if variance == 0:
        return value, value
    half = float(stdtrit(df, (1 + level) / 2) * np.sqrt(variance))
    return value - half, value + half


def t_test(value: float, variance: float, df: float) -> float:
    """Two-sided p-value that an estimate's expectation is 0.

    p = 2 P(T_df > |value| / √variance)

    Args:
        value: The estimate.
        variance: Its variance, at least 0.
        df: Degrees of freedom of the variance.

    Returns:
        p, in (0, 1]; 1 where value and variance are both 0; nan where the variance is unknown, or
        is 0 beside a value.

    Source: Student 1908.

    Example:
        >>> round(t_test(2.0, 1.0, 1e9), 4)
        0.0455
    """
    if variance == 0:
        return 1.0 if value == 0 else float("nan")
    p = 2.0 * stdtr(df, -abs(value) / np.sqrt(variance))
    return (
        float(np.clip(p, np.finfo(float).tiny, 1.0)) if np.isfinite(p) else float("nan")
    )


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratios of contrasts of independent means; every array has the shape of the batch."""

    value: Float64Array  # N / D
    low: Float64Array  # of Fieller's set; -inf where it is unbounded
    high: Float64Array  # inf where it is unbounded
    # two-sided, that the ratio is 0; below 1 - level where 0 is outside the set
    p: Float64Array
    top: Float64Array  # N
    bottom: Float64Array  # D
    variance: Float64Array  # of N
    covariance: Float64Array  # of N and D
    bottom_variance: Float64Array  # of D
    df: Float64Array  # of the variance of N


def ratio(
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    means: npt.ArrayLike,
    variances: npt.ArrayLike,
    dfs: npt.ArrayLike,
    level: float = 0.95,
) -> Ratio:
    """Ratio of two linear contrasts of independent means, with Fieller's set.

    N = Σ_c a_c m_c, D = Σ_c b_c m_c, and W(t) = N − t D is a contrast with the variance V(t) = Σ_c
    (a_c − t b_c)² v_c and Satterthwaite's degrees of freedom. The set holds every t with W(t)² ≤ q²
    V(t), where q is the quantile of Student's t; p tests t = 0. Where D does not differ from 0, the
    set is unbounded, as any interval that covers for every D must be sometimes.

    Args:
        top: Coefficients a, shape (c,) or (..., c).
        bottom: Coefficients b, shape (c,) or (..., c).
        means: Shape (..., c).
        variances: Variances of the means, shape (..., c).
        dfs: Their degrees of freedom, shape (..., c).
        level: Confidence level, in (0, 1).

    Returns:
        The ratio of each row of the batch.

    Source: Fieller 1954, "Some problems in interval estimation"; Satterthwaite 1946.

    Example:
        Half way between two means is 0, at the first of them 1:

        >>> found = ratio([2, -1, -1], [0, 1, -1], [[5, 8, 2], [8, 8, 2]], [0.1] * 3, [9] * 3)
        >>> found.value.tolist(), bool((found.low < found.value).all())
        ([0.0, 1.0], True)
    """
    a, b, m, v, f = np.broadcast_arrays(
        *(
            np.asarray(array, dtype=np.float64)
            for array in (top, bottom, means, variances, dfs)
        )
    )
    parts = np.stack([a * a * v, a * b * v, b * b * v], axis=-1)
    return ratio_of_parts((a * m).sum(axis=-1), (b * m).sum(axis=-1), parts, f, level)


def ratio_of_parts(
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    parts: npt.ArrayLike,
    dfs: npt.ArrayLike,
    level: float = 0.95,
) -> Ratio:
    """`ratio` of two estimates whose covariance is a sum of independent parts.

    Part c adds V_c(t) = p_c0 - 2 t p_c1 + t² p_c2 to the variance of W(t) = N - t D.

    Args:
        top: N, shape (...).
        bottom: D, shape (...).
        parts: Of the variance of N, the covariance and the variance of D, shape (..., c, 3).
        dfs: Degrees of freedom of each part, shape (..., c).
        level: Confidence level, in (0, 1).

    Returns:
        The ratio of each row of the batch; its ends and p are nan where a part is unknown.
    """
    p, f = np.asarray(parts, dtype=np.float64), np.asarray(dfs, dtype=np.float64)
    c0, c1, c2 = np.moveaxis(p.sum(axis=-2), -1, 0)
    n, d = (np.broadcast_to(np.asarray(x, np.float64), c0.shape) for x in (top, bottom))

    def df(t: Float64Array) -> Float64Array:
        powers = np.stack([np.ones_like(t), -2.0 * t, t * t], axis=-1)
        variances = np.maximum((p * powers[..., None, :]).sum(axis=-1), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(variances > 0, variances**2 / f, 0.0).sum(axis=-1)
            freedom: Float64Array = variances.sum(axis=-1) ** 2 / shares
        return freedom

    def end(side: int) -> Float64Array:
        """The root of (N - t D)² = q² V(t), with q at that end's own df."""
        t = np.zeros_like(n)
        for _ in range(_ITERATIONS):
            squared = stdtrit(df(t), (1 + level) / 2) ** 2
            # (d² - q² c2) t² - 2 (n d - q² c1) t + (n² - q² c0) <= 0
            lead, middle, last = (
                d**2 - squared * c2,
                n * d - squared * c1,
                n**2 - squared * c0,
            )
            root = np.sqrt(np.maximum(middle**2 - lead * last, 0.0))
            new = np.where(lead > 0, (middle + side * root) / lead, side * np.inf)
            done = np.allclose(new, t, rtol=1e-9, atol=1e-12, equal_nan=True)
            t = np.where(np.isfinite(new), new, value)
            if done:
                break
        exact = (c0 == 0) & (c1 == 0) & (c2 == 0)
        return np.where(exact, value, np.where(lead > 0, t, side * np.inf))

    with np.errstate(divide="ignore", invalid="ignore"):
        value = n / d
        freedom = df(np.zeros_like(n))
        tested = np.clip(
            2.0 * stdtr(freedom, -np.abs(n) / np.sqrt(c0)), np.finfo(float).tiny, 1.0
        )
        tested = np.where((n == 0) & (c0 == 0), 1.0, tested)
        low, high = end(-1), end(1)
    return Ratio(value, low, high, tested, n, d, c0, c1, c2, freedom)


def fieller(
    top: float,
    bottom: float,
    covariance: npt.ArrayLike,
    df: float,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Fieller's set of the ratio of two estimates whose covariance was estimated as a whole.

    Such as of two means over the same stimuli, where `ratio` is for means that are independent.
    The set holds every t with (N − t D)² ≤ q² (v_NN − 2 t v_ND + t² v_DD).

    Args:
        top: N.
        bottom: D.
        covariance: Of N and D, shape (2, 2).
        df: Its degrees of freedom.
        level: Confidence level, in (0, 1).

    Returns:
        Lower end, upper end (-inf and inf where the set is unbounded) and the two-sided p-value
        that the ratio is 0; nan where the covariance is unknown.

    Source: Fieller 1954, "Some problems in interval estimation".

    Example:
        >>> low, high, p = fieller(2.0, 4.0, [[1.0, 0.0], [0.0, 0.0]], 1e9)
        >>> round(low, 3), round(high, 3), round(p, 4)
        (0.01, 0.99, 0.0455)
    """
    (nn, nd), (_, dd) = np.asarray(covariance, dtype=np.float64).tolist()
    if not (np.isfinite([nn, nd, dd]).all() and df > 0):
        return float("nan"), float("nan"), float("nan")
    found = ratio_of_parts(top, bottom, [[nn, nd, dd]], [df], level)
    return float(found.low), float(found.high), float(found.p)
