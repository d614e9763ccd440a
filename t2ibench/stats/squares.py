"""Unbiased mean squares of several effects, such as items' leans, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array, as_floats
from t2ibench.stats.bisection import largest_holding

# A variance that is rounding.
_NOTHING = 1e-18
# The lower end of an interval whose test only just rejects 0.
_SMALLEST = 1e-9
# Noncentrality from which chi-squared is normal.
_NORMAL = 1e5
# The least that squares count, as a share of the noise.
_EVEN = 0.1


@dataclass(frozen=True, slots=True)
class SquareNoise:
    """The noise in a mean of squared estimates, in the terms of `square_interval`.

    Attributes:
        noise: u, the mean of the squared estimates where there is nothing else.
        slopes: s₀ and s₁.
        df: Degrees of freedom of the estimate of u.
        top: T, the largest mean square, toward which noise falls to 0.
    """

    noise: float
    slopes: tuple[float, float]
    df: float
    top: float = float("inf")


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """The unbiased mean square of several effects, with its test and interval.

    Attributes:
        value: Unbiased, so negative about half of the time where every effect is 0.
        low: At most 0 where `p` is at least 1 - level.
        high: At least 0.
        p: One-sided p-value that every effect is 0.
        fair_low: The least value that can be measured.
        fair_high: Exceeded with probability 1 - level where every effect is 0.
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
    *,
    along_variances: npt.ArrayLike | None = None,
) -> MeanSquare:
    """Return the mean square of effects that are ratios, with its test and interval.

    The effects N_j / D_j are weighted by D_j².

    With V_j the variance of N_j and U_j that of D_j:

    R² = Σ (N² − V) / Σ (D² − U) / (1 + Σ (4 D² U − 2 U²) / (Σ (D² − U))²)
    F = Σ N² / Σ V, referred to F with h = min(k, (ΣV)² / Σ V² f/(f + 2)) and
    h₂ = (ΣV)² / Σ V²/(f + 2). Of few images that are like A or like B, V varies less than of normal
    ones, and h alone would be above k.

    Args:
        tops: N, shape (k,).
        variances: V at an effect of 0, shape (k,).
        dfs: f, degrees of freedom of V, shape (k,).
        bottoms: D, shape (k,); 1 each by default.
        bottom_variances: U, shape (k,); 0 each by default.
        level: Confidence level, in (0, 1).
        degrees: Degrees of freedom of the F test, where the effects depend on each other, or
            their variances were estimated together; from `variances` and `dfs` by default.
        along_variances: Variances of N where the effects are what they were measured to be, shape
            (k,); V by default. They count in the interval alone: value and test stay. Of few
            images that are nearly all like A, V is often far below the variance that they have.

    Returns:
        The mean square with its test and interval.

    Source: U-statistic for the numerator; see `f_square`.

    Example:
        >>> result = mean_square([3.0, -3.0], [0.1, 0.1], [20, 20], [5.0, 5.0])
        >>> round(result.value, 3), result.low > 0, result.p < 0.001
        (0.356, True, True)
    """
    n = as_floats(tops)
    v = as_floats(variances)
    f = as_floats(dfs)
    d = np.ones_like(n)
    if bottoms is not None:
        d = as_floats(bottoms)
    u = np.zeros_like(n)
    if bottom_variances is not None:
        u = as_floats(bottom_variances)
    weights = d**2 - u
    scale = float(weights.sum())
    total = float(v.sum())
    squares = float((n**2).sum())
    if degrees is None and total > 0:
        degrees = _f_degrees(v, f)
    degrees = degrees or (0.0, 0.0)
    if scale <= 0:  # D is nothing but noise
        p = float(scipy.special.fdtrc(*degrees, squares / total)) if total > 0 else 1.0
        return MeanSquare(
            value=np.nan,
            low=0.0,
            high=np.inf,
            p=p,
            fair_low=-np.inf,
            fair_high=np.inf,
            df=degrees,
        )
    bias = float((4 * d**2 * u - 2 * u**2).sum())
    scale *= 1 + bias / scale**2
    v_along = v
    if along_variances is not None:
        v_along = as_floats(along_variances)
    along = float((n**2 * v_along).sum()) / squares if squares > 0 else 0.0
    growth = float(u.sum()) / total if total > 0 else 0.0
    beyond_noise = float((n**2 - v).sum())
    return f_square(
        squares=squares / scale,
        noise=total / scale,
        along=along / scale,
        degrees=degrees,
        level=level,
        value=beyond_noise / scale,
        growth=growth,
    )


def _f_degrees(v: Float64Array, f: Float64Array) -> tuple[float, float]:
    """Return both degrees of freedom of the F test, from the variances of the effects.

    They are h and h₂ in `mean_square`; `f` are the degrees of freedom of each variance. An effect
    whose images are all alike has no variance, which has no degrees of freedom: it adds no noise.
    """
    total = float(v.sum())
    effects = float(len(v))
    varies = v > 0
    v = v[varies]
    f = f[varies]
    unbiased_squares = v**2 * f / (f + 2)
    # Half of the variance of each v, as an estimate, without bias.
    half_variances = v**2 / (f + 2)
    h = total**2 / float(unbiased_squares.sum())
    h2 = total**2 / float(half_variances.sum())
    return min(h, effects), h2


def f_square(
    squares: float,
    noise: float,
    along: float,
    degrees: tuple[float, float],
    level: float = 0.95,
    *,
    value: float | None = None,
    growth: float = 0.0,
) -> MeanSquare:
    """Return the mean square of k estimates N, of covariance S, with its F test and interval.

    Args:
        squares: N'N / k.
        noise: tr S / k where every effect is 0.
        along: N'SN / N'N / k, the variance in the direction of the effects; 0 where N is 0.
        degrees: h and h₂, degrees of freedom of F = N'N / tr S.
        level: Confidence level, in (0, 1).
        value: The unbiased mean square; `squares` less `noise` by default.
        growth: By what share of itself S grows per unit of the mean square.

    Returns:
        The mean square with its test and interval.

    Source: Box 1954 for the test; see `square_interval`.

    Example:
        >>> same = mean_square([3.0, -3.0], [0.1, 0.1], [20, 20])
        >>> f_square(9.0, 0.1, 0.05, same.df) == same
        True
    """
    h, h2 = degrees
    value = squares - noise if value is None else value
    tiny = float(np.finfo(float).tiny)
    if not noise > _NOTHING:
        return MeanSquare(
            value=value,
            low=value,
            high=value,
            p=tiny if squares > _NOTHING else 1.0,
            fair_low=0.0,
            fair_high=0.0,
            df=(0, 0),
        )
    critical = noise * float(scipy.special.fdtri(h, h2, level))
    low, high = square_interval(
        squares,
        critical,
        noise,
        slopes=(noise / h, along or noise / h),
        df=h2,
        level=level,
        growth=growth,
    )
    p = float(np.clip(scipy.special.fdtrc(h, h2, squares / noise), tiny, 1.0))
    return MeanSquare(
        value=value,
        low=low if low > 0 else min(value, 0.0),
        high=high,
        p=p,
        fair_low=-noise,
        fair_high=critical - noise,
        df=degrees,
    )


def square_interval(
    squares: float,
    critical: float,
    noise: float,
    slopes: tuple[float, float],
    df: float,
    level: float = 0.95,
    *,
    growth: float = 0.0,
    top: float = float("inf"),
) -> tuple[float, float]:
    """Return the interval of a mean square x, above 0 exactly if its test rejects 0.

    The mean of the squared estimates is taken for s times a noncentral chi-squared variable with
    u / s degrees of freedom and noncentrality x / s: its mean is u + x, its variance s (2 u + 4 x).
    Here u = noise (1 + growth x), and s = (u s₀ + x s₁) / (u + x) times 1 + growth x and 1 − x/T.
    The ends are the x at which the tail probability is that of Student's t. Toward 0, with the
    weight exp(−x / √(2 u s)), it is that of the test instead: above, the probability that
    `critical` has at 0, and below, none.

    So one interval serves leans with noise of their own, answers in k classes (whose variance ends
    at T) and shares that differ between captions; the test may be an F test or a Monte Carlo test.
    With 10 to 40 images it covers .93 to .98 (`docs/calibration.md`).

    Args:
        squares: The mean of the squared estimates, their noise not subtracted. Below noise / 10
            it counts as that: answers that are exactly even do not prove that x is near 0.
        critical: The largest value of `squares` that the test does not reject.
        noise: The mean of the squared estimates where x = 0.
        slopes: s₀ and s₁, where there is no noise but in one direction its variance.
        df: Degrees of freedom of the slopes.
        level: Confidence level, in (0, 1).
        growth: By what share of itself the noise grows per unit of x.
        top: T, the largest value of x, where nothing varies.

    Returns:
        Lower end, at most 0 where the test does not reject, and upper end, at least 0.

    Source: Patnaik 1949 for the chi-squared variable of the same moments; the rest is derived here
        and certified by `tools/calibration`.

    Example:
        >>> low, high = square_interval(0.5, 0.4, 0.2, (0.1, 0.1), 40)
        >>> round(low, 3), round(high, 3)
        (0.034, 1.674)
        >>> square_interval(0.3, 0.4, 0.2, (0.1, 0.1), 40)[0]
        0.0
    """
    noise = max(noise, _NOTHING)
    least = max(slopes[0], _NOTHING)
    along = max(slopes[1], _NOTHING)
    seen = max(squares, _EVEN * noise)
    tail = float(scipy.special.ndtr(-scipy.special.stdtrit(df, (1 + level) / 2)))
    rejected = float(scipy.special.chdtrc(noise / least, critical / least))

    def at(x: float) -> tuple[float, float]:
        """Return the probability of smaller estimates at x, and the weight that the test has."""
        larger = 1 + growth * x
        u = noise * larger
        room = max(1 - x / top, _SMALLEST)
        s = (u * least + x * along) / (u + x) * larger * room
        if x > _NORMAL * s:  # where scipy's is slow, and in the end not a number
            error = np.sqrt(s * (2 * u + 4 * x))
            below = scipy.special.ndtr((seen - u - x) / error)
        else:
            below = scipy.special.chndtr(seen / s, u / s, x / s)
        weight = np.exp(-x / np.sqrt(2 * u * s))
        return float(below), float(weight)

    def within(x: float) -> bool:
        """Return whether x is below the upper end of the interval that is sought."""
        below, weight = at(x)
        return below >= tail * (1 - weight)

    def beyond(x: float) -> bool:
        """Return whether x is below the lower end of the interval that is sought."""
        below, weight = at(x)
        return 1 - below < tail + (rejected - tail) * weight

    high = max(squares, noise)
    while high < top and within(high):
        high *= 2
    high = largest_holding(within, min(high, top))
    # Squares that equal the critical value but for rounding are not rejected.
    slack = 1e-11 * max(1.0, abs(critical))
    if squares <= critical + slack:
        return min(squares - noise, 0.0), high
    return max(largest_holding(beyond, squares), _SMALLEST), high
