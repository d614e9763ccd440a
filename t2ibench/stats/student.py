"""Student's t tests and intervals of estimates and of their ratios (Fieller's sets)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array, as_floats

# of the ends of a Fieller set, whose degrees of freedom depend on the ends
_ITERATIONS = 30


def satterthwaite(variances: npt.ArrayLike, dfs: npt.ArrayLike) -> tuple[float, float]:
    """Return the variance of a sum of independent estimates, with its degrees of freedom.

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
    v = as_floats(variances)
    f = as_floats(dfs)
    total = float(v.sum())
    if not total > 0:
        return total, float("nan")
    varies = v > 0
    squares = v[varies] ** 2 / f[varies]
    return total, float(total**2 / squares.sum())


def welch(variances: npt.ArrayLike, counts: npt.ArrayLike) -> tuple[float, float]:
    """Return the variance of a difference of two means, with cautious degrees of freedom.

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
        >>> plain, bounded = satterthwaite([0.01, 0.1], [1, 9]), welch([0.01, 0.1], [2, 10])
        >>> round(plain[1], 1), round(bounded[1], 1)
        (10.0, 1.4)
    """
    sizes = as_floats(counts)
    if (sizes < 2).any():
        return float("nan"), float("nan")
    total, df = satterthwaite(variances, sizes - 1)
    _, df_of_equal_spread = satterthwaite(1 / sizes, sizes - 1)
    return total, min(df, df_of_equal_spread)


def t_interval(
    value: float, variance: float, df: float, level: float = 0.95
) -> tuple[float, float]:
    """Return Student's t interval of an estimate with an estimated variance.

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
    quantile = scipy.special.stdtrit(df, (1 + level) / 2)
    error = np.sqrt(variance)
    half = float(quantile * error)
    return value - half, value + half


def t_test(value: float, variance: float, df: float) -> float:
    """Return the two-sided p-value of Student's t test that an estimate's expectation is 0.

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
    error = np.sqrt(variance)
    t = -abs(value) / error
    p = 2.0 * scipy.special.stdtr(df, t)
    if not np.isfinite(p):
        return float("nan")
    tiny = np.finfo(float).tiny
    return float(np.clip(p, tiny, 1.0))


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratios of two estimates, with Fieller's sets; every array has the shape of the batch.

    Attributes:
        value: N / D.
        low: Lower end of Fieller's set; -inf where it is unbounded.
        high: Its upper end; inf where it is unbounded.
        p: Two-sided p-value that the ratio is 0; below 1 - level where 0 is outside the set.
        top: N.
        bottom: D.
        variance: Of N.
        covariance: Of N and D.
        bottom_variance: Of D.
        df: Degrees of freedom of the variance of N.
    """

    value: Float64Array
    low: Float64Array
    high: Float64Array
    p: Float64Array
    top: Float64Array
    bottom: Float64Array
    variance: Float64Array
    covariance: Float64Array
    bottom_variance: Float64Array
    df: Float64Array


def ratio(
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    means: npt.ArrayLike,
    variances: npt.ArrayLike,
    dfs: npt.ArrayLike,
    level: float = 0.95,
) -> Ratio:
    """Return the ratio of two linear contrasts of independent means, with Fieller's set.

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

        >>> place = ratio([2, -1, -1], [0, 1, -1], [[5, 8, 2], [8, 8, 2]], [0.1] * 3, [9] * 3)
        >>> place.value.tolist(), bool((place.low < place.value).all())
        ([0.0, 1.0], True)
    """
    a, b, m, v, f = np.broadcast_arrays(
        as_floats(top),
        as_floats(bottom),
        as_floats(means),
        as_floats(variances),
        as_floats(dfs),
    )
    part_of_variance = a * a * v
    part_of_covariance = a * b * v
    part_of_bottom_variance = b * b * v
    parts = [part_of_variance, part_of_covariance, part_of_bottom_variance]
    numerator = (a * m).sum(axis=-1)
    denominator = (b * m).sum(axis=-1)
    return ratio_of_parts(
        top=numerator,
        bottom=denominator,
        parts=np.stack(parts, axis=-1),
        dfs=f,
        level=level,
    )


def ratio_of_parts(
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    parts: npt.ArrayLike,
    dfs: npt.ArrayLike,
    level: float = 0.95,
) -> Ratio:
    """Return the ratio of two estimates, with Fieller's set, from parts of their covariance.

    The parts are independent and add up (see `ratio`).

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
    p = as_floats(parts)
    f = as_floats(dfs)
    sums = p.sum(axis=-2)
    variance, covariance, bottom_variance = np.moveaxis(sums, -1, 0)
    n = np.broadcast_to(as_floats(top), variance.shape)
    d = np.broadcast_to(as_floats(bottom), variance.shape)

    def degrees(t: Float64Array) -> Float64Array:
        """Return Satterthwaite's degrees of freedom of the variance V at the ratios `t`."""
        # V_c(t) of each part.
        powers = np.stack([np.ones_like(t), -2.0 * t, t * t], axis=-1)
        terms = p * powers[..., None, :]
        variances = np.maximum(terms.sum(axis=-1), 0.0)
        total = variances.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(variances > 0, variances**2 / f, 0.0)
            freedom: Float64Array = total**2 / squares.sum(axis=-1)
        return freedom

    def end(side: int) -> Float64Array:
        """Return one end of Fieller's set: the lower one for side -1, the upper one for 1.

        It is a root of (N - t D)² = q² V(t), where the quantile q has the degrees of
        freedom of that end.
        """
        t = np.zeros_like(n)
        for _ in range(_ITERATIONS):
            quantile = scipy.special.stdtrit(degrees(t), (1 + level) / 2)
            squared = quantile**2
            # (D² - q² V_D) t² - 2 (N D - q² C) t + (N² - q² V_N) <= 0
            lead = d**2 - squared * bottom_variance
            middle = n * d - squared * covariance
            last = n**2 - squared * variance
            discriminant = middle**2 - lead * last
            root = np.sqrt(np.maximum(discriminant, 0.0))
            solution = (middle + side * root) / lead
            new = np.where(lead > 0, solution, side * np.inf)
            done = np.allclose(new, t, rtol=1e-9, atol=1e-12, equal_nan=True)
            t = np.where(np.isfinite(new), new, value)
            if done:
                break
        bounded = np.where(lead > 0, t, side * np.inf)
        exact = (variance == 0) & (covariance == 0) & (bottom_variance == 0)
        return np.where(exact, value, bounded)

    with np.errstate(divide="ignore", invalid="ignore"):
        value = n / d
        # The ratio is 0 where N is: the test is that of W(0).
        df = degrees(np.zeros_like(n))
        t_of_top = -np.abs(n) / np.sqrt(variance)
        tail = scipy.special.stdtr(df, t_of_top)
        tiny = np.finfo(float).tiny
        tested = np.clip(2.0 * tail, tiny, 1.0)
        low = end(-1)
        high = end(1)
    certainly_zero = (n == 0) & (variance == 0)
    return Ratio(
        value=value,
        low=low,
        high=high,
        p=np.where(certainly_zero, 1.0, tested),
        top=n,
        bottom=d,
        variance=variance,
        covariance=covariance,
        bottom_variance=bottom_variance,
        df=df,
    )


def fieller(
    top: float,
    bottom: float,
    covariance: npt.ArrayLike,
    df: float,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Return Fieller's set and p-value of a ratio of two estimates, from their covariance.

    The covariance was estimated as a whole.

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
    matrix = as_floats(covariance)
    top_variance = float(matrix[0, 0])
    shared = float(matrix[0, 1])
    bottom_variance = float(matrix[1, 1])
    part = [top_variance, shared, bottom_variance]
    is_known = np.isfinite(part).all() and df > 0
    if not is_known:
        return float("nan"), float("nan"), float("nan")
    result = ratio_of_parts(top, bottom, parts=[part], dfs=[df], level=level)
    return float(result.low), float(result.high), float(result.p)
