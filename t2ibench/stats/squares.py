"""The mean square of several effects: unbiased, with one interval whatever its test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, chndtr, fdtrc, fdtri, ndtr, stdtrit

_STEPS = 60  # of bisection: more than float64 has bits
_NOTHING = 1e-18  # a variance that is rounding
_SMALLEST = 1e-9  # lower end of an interval whose test only just rejects 0
_NORMAL = 1e5  # noncentrality from which chi-squared is normal
_EVEN = 0.1  # of the noise, the least that squares count


@dataclass(frozen=True, slots=True)
class SquareNoise:
    """What a mean of squared estimates owes to noise, as `square_interval` takes it."""

    noise: float  # u, the mean of the squared estimates where there is nothing else
    slopes: tuple[float, float]  # s₀ and s₁
    df: float  # of the estimate of u
    # T, the largest mean square, toward which noise falls to 0
    top: float = float("inf")


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """The mean square of several effects."""

    value: float  # unbiased, so negative about half of the time where every effect is 0
    low: float  # at most 0 where `p` is at least 1 - level
    high: float  # at least 0
    p: float  # one-sided, that every effect is 0
    fair_low: float  # the least value that can be found
    fair_high: float  # exceeded with probability 1 - level where every effect is 0
    df: tuple[float, float]  # of the numerator and of the denominator of the F test


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

    Returns:
        The mean square with its test and interval.

    Source: U-statistic for the numerator; see `f_square`.

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
        else np.asarray(bottom_variances, np.float64)
    )
    scale = float((d**2 - u).sum())
    total, squares = float(v.sum()), float((n**2).sum())
    if degrees is None and total > 0:
        degrees = (
            min(total**2 / float((v**2 * f / (f + 2)).sum()), float(len(v))),
            total**2 / float((v**2 / (f + 2)).sum()),
        )
    degrees = degrees or (0.0, 0.0)
    if scale <= 0:  # D is nothing but noise
        p = float(fdtrc(*degrees, squares / total)) if total > 0 else 1.0
        return MeanSquare(np.nan, 0.0, np.inf, p, -np.inf, np.inf, degrees)
    scale *= 1 + float((4 * d**2 * u - 2 * u**2).sum()) / scale**2
    along = float((n**2 * v).sum()) / squares if squares > 0 else 0.0
    return f_square(
        squares / scale,
        total / scale,
        along / scale,
        degrees,
        level,
        value=float((n**2 - v).sum()) / scale,
        growth=float(u.sum()) / total if total > 0 else 0.0,
    )


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
    """A mean of k squared estimates N with covariance S: its F test and its interval.

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
    if not noise > _NOTHING:
        p = float(np.finfo(float).tiny) if squares > _NOTHING else 1.0
        return MeanSquare(value, value, value, p, 0.0, 0.0, (0, 0))
    critical = noise * float(fdtri(h, h2, level))
    low, high = square_interval(
        squares,
        critical,
        noise,
        (noise / h, along or noise / h),
        h2,
        level,
        growth=growth,
    )
    p = float(np.clip(fdtrc(h, h2, squares / noise), np.finfo(float).tiny, 1.0))
    low = low if low > 0 else min(value, 0.0)
    return MeanSquare(value, low, high, p, -noise, critical - noise, degrees)


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
    """Interval of a mean square x whose lower end is above 0 exactly where its test rejects 0.

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
    noise, least, along = (max(part, _NOTHING) for part in (noise, *slopes))
    seen = max(squares, _EVEN * noise)
    tail = float(ndtr(-stdtrit(df, (1 + level) / 2)))
    rejected = float(chdtrc(noise / least, critical / least))

    def at(x: float) -> tuple[float, float]:
        """The probability of fewer squares, and the weight of the test."""
        larger = 1 + growth * x
        u = noise * larger
        s = (u * least + x * along) / (u + x) * larger * max(1 - x / top, _SMALLEST)
        if x > _NORMAL * s:  # where scipy's is slow, and in the end not a number
            below = ndtr((seen - u - x) / np.sqrt(s * (2 * u + 4 * x)))
        else:
            below = chndtr(seen / s, u / s, x / s)
        return float(below), float(np.exp(-x / np.sqrt(2 * u * s)))

    def within(x: float) -> bool:
        below, near = at(x)
        return below >= tail * (1 - near)

    def beyond(x: float) -> bool:
        below, near = at(x)
        return 1 - below < tail + (rejected - tail) * near

    high = max(squares, noise)
    while high < top and within(high):
        high *= 2
    high = _last(within, min(high, top))
    if squares <= critical + 1e-11 * max(1.0, abs(critical)):  # equal but for rounding
        return min(squares - noise, 0.0), high
    return max(_last(beyond, squares), _SMALLEST), high


def _last(holds: Callable[[float], bool], high: float) -> float:
    """The largest value in [0, high] up to which a condition holds."""
    if holds(high):
        return high
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
