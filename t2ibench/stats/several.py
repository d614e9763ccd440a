"""Several independent estimates of one quantity: whether they differ, and weighted sums of them.

Both work on intervals alone, which need not be symmetric; for two estimates both are the method of
variance estimates recovery (Zou and Donner 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import chdtrc, ndtri

from t2ibench.arrays import Float64Array, as_floats

# How near a search comes to the minimum, as a share of the range of the estimates.
_TOLERANCE = 1e-9
# The shortest arm that an interval is given, as a share of its width.
_SMALLEST_ARM = 1e-9


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """The result of a test of whether several estimates are of one number.

    Attributes:
        statistic: Q, the least sum of squared distances of the estimates from one number, each in
            standard errors; of an F test, F.
        p: p-value that all are estimates of one number.
    """

    statistic: float
    p: float


def heterogeneity_of_intervals(
    values: npt.ArrayLike,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    level: float = 0.95,
) -> Heterogeneity | None:
    """Return a test of whether independent estimates with intervals are of one number.

    Q = min over m of Σ (z (x_k − m) / w_k)², where w_k is the distance from x_k to that end of its
    interval which lies toward m, and z is the normal quantile of the level. Q is referred to
    chi-squared with K − 1 degrees of freedom. With symmetric intervals it is Cochran's Q; of two
    estimates p is below 1 - level exactly if the interval of their difference by Zou and Donner
    excludes 0.

    Args:
        values: x, shape (k,).
        lows: Lower ends, each at most its value.
        highs: Upper ends, each at least its value.
        level: Confidence level of the intervals, in (0, 1).

    Returns:
        The test; None for fewer than two estimates, or where an interval has no width.

    Source: Cochran 1954; Zou and Donner 2008 for the two widths of an interval.

    Example:
        >>> test = heterogeneity_of_intervals([0, 1, 2], [-1, 0, 1], [1, 2, 3], 0.95)
        >>> round(test.statistic, 2), round(test.p, 3)
        (7.68, 0.021)
    """
    x = as_floats(values)
    low = as_floats(lows)
    high = as_floats(highs)
    below = x - low
    above = high - x
    has_width = high > low
    if len(x) < 2 or not has_width.all():
        return None
    # An end at the value itself, such as that of a root at 0, is passed by no common number.
    smallest = _SMALLEST_ARM * (high - low)
    below = np.maximum(below, smallest)
    above = np.maximum(above, smallest)
    z = float(ndtri((1 + level) / 2))

    def distance(middle: float) -> float:
        width = np.where(middle < x, below, above)
        steps = (x - middle) / width
        return float((steps**2).sum())

    least_x = float(x.min())
    largest_x = float(x.max())
    spread = max(largest_x - least_x, _TOLERANCE)
    best = scipy.optimize.minimize_scalar(
        distance,
        bounds=(least_x, largest_x),
        method="bounded",
        options={"xatol": _TOLERANCE * spread},
    )
    # A step of the search may lie beside an estimate that is the minimum itself.
    at_estimates = [distance(float(value)) for value in x]
    least = min(float(best.fun), *at_estimates)
    statistic = z**2 * least
    return _chi_squared_test(statistic, degrees=len(x) - 1)


def heterogeneity_of_mean_squares(
    values: npt.ArrayLike,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
    sizes: npt.ArrayLike,
    level: float = 0.95,
) -> Heterogeneity | None:
    """Return a test of whether independent unbiased mean squares are of one number.

    Q = Σ (x_k − x̄)² n_k / c, with x̄ the mean of x weighted by n, and c the mean of n w² / z², where
    w is the longer arm of an interval. Where a mean square happens to be small, so is its interval:
    with the widths of each run, Cochran's Q rejects equal rms leans of .5 in 12 % of cases (five
    runs of eight prompts with ten images). Pooled widths do not depend on which run is the small
    one, and the longer arm is that of the noise where an end was cut.

    Args:
        values: x, shape (k,).
        lows: Lower ends of their intervals.
        highs: Upper ends.
        sizes: n, how many images each is of, positive.
        level: Confidence level of the intervals, in (0, 1).

    Returns:
        The test; None for fewer than two mean squares, or where no interval has a width.

    Source: Cochran 1954; the pooled widths are ours, from simulation (`tools.calibration.several`).

    Example:
        >>> test = heterogeneity_of_mean_squares([0, 0.2], [0, 0], [0.2, 0.4], [80, 80])
        >>> round(test.statistic, 2), round(test.p, 2)
        (1.92, 0.17)
    """
    x = as_floats(values)
    low = as_floats(lows)
    high = as_floats(highs)
    n = as_floats(sizes)
    longer_arm = np.maximum(x - low, high - x)
    z = float(ndtri((1 + level) / 2))
    errors = longer_arm / z
    common = float((n * errors**2).mean())
    if len(x) < 2 or not common > 0 or not (n > 0).all():
        return None
    mean = float(n @ x) / float(n.sum())
    statistic = float(n @ (x - mean) ** 2) / common
    return _chi_squared_test(statistic, degrees=len(x) - 1)


def _chi_squared_test(statistic: float, degrees: int) -> Heterogeneity:
    """Return a statistic with its p-value by chi-squared, which is never 0."""
    p = float(chdtrc(degrees, statistic))
    return Heterogeneity(statistic, max(p, np.finfo(float).tiny))


def weighted_sum_interval(
    weights: npt.ArrayLike,
    values: npt.ArrayLike,
    lows: npt.ArrayLike,
    highs: npt.ArrayLike,
) -> tuple[float, float, float]:
    """Return a weighted sum of independent estimates with its interval, from their intervals.

    L = Σ c x − √Σ (c (x − e))², where e is the lower end of x for a positive weight c and the upper
    end for a negative one; the upper end of the sum likewise.

    Args:
        weights: c, shape (k,).
        values: x, shape (k,).
        lows: Lower ends, shape (k,).
        highs: Upper ends, shape (k,).

    Returns:
        The sum, and the lower and the upper end of its interval, of the level of the intervals.

    Source: Zou and Donner 2008, "Construction of confidence limits about effect measures".

    Example:
        >>> weighted_sum_interval([1, -1], [3, 1], [2, 1], [4, 1])
        (2.0, 1.0, 3.0)
    """
    c = as_floats(weights)
    x = as_floats(values)
    low = as_floats(lows)
    high = as_floats(highs)
    total = float(c @ x)
    toward_low = np.where(c > 0, low, high)
    toward_high = np.where(c > 0, high, low)
    arms_below = c * (x - toward_low)
    arms_above = c * (x - toward_high)
    below = float(np.linalg.norm(arms_below))
    above = float(np.linalg.norm(arms_above))
    return total, total - below, total + above


def slope_weights(positions: npt.ArrayLike, sizes: npt.ArrayLike) -> Float64Array:
    """Return the weights with which estimates add up to the slope of their regression line.

    c_k = n_k (t_k − t̄) / Σ n (t − t̄)², with t̄ the mean of t weighted by n: weighted least squares.
    The weights depend on the design alone, never on the estimates: a variance that was estimated
    from few images is small where a lean happens to be large, and would bias the line toward it.

    Args:
        positions: t, where each estimate lies on the axis, shape (k,); not all the same.
        sizes: n, how many images each estimate has, shape (k,), positive.

    Returns:
        c, shape (k,), which adds up to 0.

    Source: Gauss and Markov's weighted least squares, with the numbers of images as weights.

    Example:
        >>> slope_weights([1, 2, 3], [10, 10, 10]).tolist()
        [-0.5, 0.0, 0.5]
    """
    t = as_floats(positions)
    n = as_floats(sizes)
    mean = float(n @ t) / float(n.sum())
    centred = t - mean
    spread = float(n @ centred**2)
    weights: Float64Array = n * centred / spread
    return weights
