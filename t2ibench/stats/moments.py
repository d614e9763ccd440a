"""Statistics of two samples, for effect sizes, bootstrap and permutation tests.

A statistic is a function of the moments of two samples, X and Y. The moments are arrays of shape
(draws,) where many resamples or partitions are evaluated at once, and plain numbers for one pair
of samples. To add a statistic, add one entry to `STATISTICS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, as_floats
from t2ibench.stats.ranks import mean_ranks

Values: TypeAlias = Float64Array | float  # shape (draws,), or one number


@dataclass(frozen=True, slots=True)
class Moments:
    """Size, mean and sum of squared deviations of one sample."""

    n: Values
    mean: Values
    squares: Values  # sum of squared deviations from that mean


@dataclass(frozen=True, slots=True)
class Pair:
    """Moments of two samples, X and Y, from which every statistic is computed."""

    x: Moments
    y: Moments
    # of all values about their common mean; None derives it from the two sides
    union_squares: Values | None = None
    shift: float = 0.0  # was added to every value before the moments were taken
    # pooled variances up to this one are rounding error and count as 0
    rounding: float = 0.0

    @property
    def difference(self) -> Values:
        """Difference of the means, X less Y."""
        return self.x.mean - self.y.mean

    @property
    def pooled_sd(self) -> Values:
        """Pooled standard deviation within the samples: √((SS_x + SS_y) / (n_x + n_y − 2))."""
        squares = np.maximum(self.x.squares + self.y.squares, 0.0)
        degrees = self.x.n + self.y.n - 2
        variance = safe_ratio(squares, degrees)
        return np.sqrt(np.where(variance <= self.rounding, 0.0, variance))

    def union_sd(self, ddof: int) -> Values:
        """Return the standard deviation of both samples together; nan where n less `ddof` is 0."""
        n = self.x.n + self.y.n
        squares = self.union_squares
        if squares is None:
            between = self.x.n * self.y.n / n * self.difference**2
            squares = self.x.squares + self.y.squares + between
        return np.sqrt(safe_ratio(squares, n - ddof))


def _mean_difference(pair: Pair) -> Values:
    return pair.difference


def _mean_x(pair: Pair) -> Values:
    return pair.x.mean - pair.shift


def _mean_y(pair: Pair) -> Values:
    return pair.y.mean - pair.shift


def _cohens_d(pair: Pair) -> Values:
    """Return Cohen's d: the difference of means over the pooled SD within the samples."""
    return safe_ratio(pair.difference, pair.pooled_sd)


def _union_d(pair: Pair) -> Values:
    """Return the difference of means over the SD of all values, with ddof 1."""
    return safe_ratio(pair.difference, pair.union_sd(ddof=1))


def _union_d_ddof0(pair: Pair) -> Values:
    """Return the difference of means over the SD of all values, with ddof 0."""
    return safe_ratio(pair.difference, pair.union_sd(ddof=0))


STATISTICS: dict[str, Callable[[Pair], Values]] = {
    "mean_difference": _mean_difference,
    "mean_x": _mean_x,
    "mean_y": _mean_y,
    "cohens_d": _cohens_d,
    "union_d": _union_d,
    "union_d_ddof0": _union_d_ddof0,
}


def safe_ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Float64Array:
    """Return a ratio without warnings: nan wherever it is not finite.

    Args:
        numerator: Any shape.
        denominator: A shape that broadcasts with it.

    Returns:
        The ratio, of the common shape.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float64Array = np.divide(numerator, denominator)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def cliffs_delta(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return Cliff's delta: how much more often X exceeds Y than the reverse.

    δ = (#{x > y} − #{x < y}) / (n m) over all pairs, from the midranks of X among all values:
    δ = 2 U / (n m) − 1 with the Mann-Whitney statistic U = R_x − n (n + 1) / 2. (δ + 1) / 2 is the
    area under the ROC curve.

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.

    Returns:
        δ, from −1 (all of X below all of Y) to 1.

    Source: Mann & Whitney 1947; Cliff 1993, Psychological Bulletin 114:494.

    Example:
        >>> cliffs_delta([2, 4], [1, 3])  # three wins and one loss of four pairs
        0.5
    """
    values_x = as_floats(x)
    values_y = as_floats(y)
    n = len(values_x)
    m = len(values_y)
    all_values = np.concatenate([values_x, values_y])
    ranks = mean_ranks(all_values)
    # The Mann-Whitney statistic; ties count half.
    rank_sum = ranks[:n].sum()
    wins = rank_sum - n * (n + 1) / 2
    pairs = n * m
    return float(2 * wins / pairs - 1)


def placements(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Float64Array, Float64Array]:
    """Return how far each value of two samples lies above or below the other sample.

    V_i = mean over j of sign(x_i − y_j), W_j = mean over i of sign(x_i − y_j). Both have mean δ,
    and Var(δ) is about s²(V) / n + s²(W) / m.

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.

    Returns:
        V of shape (n,) and W of shape (m,), in [−1, 1].

    Source: DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44:837; Cliff 1993.

    Example:
        >>> v, w = placements([2, 4], [1, 3])  # 4 is above 1 and 3; 2 is above 1 and below 3
        >>> v.tolist(), w.tolist()
        ([0.0, 1.0], [1.0, 0.0])
    """
    values_x = as_floats(x)
    values_y = as_floats(y)
    signs = np.sign(values_x[:, None] - values_y[None, :])
    return signs.mean(axis=1), signs.mean(axis=0)
