"""The two-sample statistics: one table, read by effect sizes, bootstrap and permutation tests.

A statistic is a function of the moments of two samples, X and Y. The moments are arrays of shape
(draws,) where many resamples or partitions are evaluated at once, and plain numbers for one pair
of samples. To add a statistic, add one entry to `STATISTICS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Flag, auto
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array

Values: TypeAlias = Float64Array | float  # shape (draws,), or one number

# A moment that no statistic declared in `needs` is None: arithmetic on it fails at once.
NOT_COMPUTED: Any = None


class Need(Flag):
    """Moments that cost something, and so are computed only for a statistic that declares them."""

    MEANS = 0  # n and mean: always there
    SQUARES = auto()  # Moments.squares
    ORDER = auto()  # Pair.dominance; the bootstrap needs individual values for it


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of one sample.

    Attributes:
        n: Number of values.
        mean: Their mean.
        squares: Sum of squared deviations from that mean.
    """

    n: Values
    mean: Values
    squares: Values = NOT_COMPUTED


@dataclass(frozen=True, slots=True)
class Pair:
    """Moments of two samples, and what depends on both.

    Attributes:
        x: Moments of X.
        y: Moments of Y.
        dominance: P(X > Y) − P(X < Y) over all pairs of values.
        union_squares: Sum of squared deviations of all values from their common mean; None
            derives it from the moments of the two sides.
        shift: Number that was added to every value before the moments were taken.
        rounding: Pooled variances up to this one are rounding error and count as 0.
    """

    x: Moments
    y: Moments
    dominance: Values = NOT_COMPUTED
    union_squares: Values | None = None
    shift: float = 0.0
    rounding: float = 0.0

    @property
    def difference(self) -> Values:
        """Difference of the means, X less Y."""
        return self.x.mean - self.y.mean

    @property
    def pooled_sd(self) -> Values:
        """SD within the samples: √((SS_x + SS_y) / (n_x + n_y − 2))."""
        x, y = self.x, self.y
        variance = safe_ratio(np.maximum(x.squares + y.squares, 0.0), x.n + y.n - 2)
        return np.sqrt(np.where(variance <= self.rounding, 0.0, variance))

    def union_sd(self, ddof: int) -> Values:
        """Standard deviation of both samples taken together.

        Args:
            ddof: Subtracted from n_x + n_y in the denominator.

        Returns:
            Shape (draws,) or a number, at least 0; nan where the denominator is 0.
        """
        x, y = self.x, self.y
        n = x.n + y.n
        squares = self.union_squares
        if squares is None:
            between = x.n * y.n / n * (x.mean - y.mean) ** 2
            squares = x.squares + y.squares + between
        return np.sqrt(safe_ratio(squares, n - ddof))


@dataclass(frozen=True, slots=True)
class Statistic:
    """One two-sample statistic.

    Attributes:
        of: The formula.
        needs: The moments that the formula reads besides n and mean.
    """

    of: Callable[[Pair], Values]
    needs: Need


STATISTICS: dict[str, Statistic] = {
    "mean_difference": Statistic(lambda pair: pair.difference, Need.MEANS),
    "mean_x": Statistic(lambda pair: pair.x.mean - pair.shift, Need.MEANS),
    "mean_y": Statistic(lambda pair: pair.y.mean - pair.shift, Need.MEANS),
    # over the pooled SD within the samples
    "cohens_d": Statistic(lambda pair: safe_ratio(pair.difference, pair.pooled_sd), Need.SQUARES),
    # over the SD of all values, with ddof 1 and 0
    "union_d": Statistic(lambda pair: safe_ratio(pair.difference, pair.union_sd(1)), Need.SQUARES),
    "union_d_ddof0": Statistic(
        lambda pair: safe_ratio(pair.difference, pair.union_sd(0)), Need.SQUARES
    ),
    # P(X > Y) − P(X < Y), from −1 to 1
    "cliffs_delta": Statistic(lambda pair: pair.dominance, Need.ORDER),
}


def select(names: Iterable[str]) -> dict[str, Statistic]:
    """Entries of the table by name.

    Args:
        names: Keys of `STATISTICS`, in the order wanted.

    Returns:
        Name to statistic; a name given twice counts once.

    Raises:
        ValueError: a name is not in the table.

    Example:
        >>> select(["union_d"])["union_d"].needs == Need.SQUARES
        True
    """
    wanted = list(names)
    for name in wanted:
        if name not in STATISTICS:
            raise ValueError(f"unknown statistic '{name}'; known: {', '.join(STATISTICS)}")
    return {name: STATISTICS[name] for name in wanted}


def combined_needs(statistics: Iterable[Statistic]) -> Need:
    """Every moment that at least one of the statistics reads.

    Args:
        statistics: Entries of the table.

    Returns:
        The union of their `needs`.

    Example:
        >>> combined_needs(select(["mean_x", "union_d"]).values()) == Need.SQUARES
        True
    """
    return reduce(lambda needs, one: needs | one.needs, statistics, Need.MEANS)


def safe_ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Float64Array:
    """Division without warnings: nan wherever the ratio is not finite.

    Args:
        numerator: Any shape.
        denominator: A shape that broadcasts with it.

    Returns:
        The ratio, of the common shape.

    Example:
        >>> safe_ratio([1.0, 1.0, 0.0], [4.0, 0.0, 0.0]).tolist()
        [0.25, nan, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float64Array = np.divide(numerator, denominator)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def rank_dominance(rank_sum_x: Values, n_x: Values, n_y: Values) -> Values:
    """P(X > Y) − P(X < Y) from the midranks of X among all values.

    δ = 2 U / (n_x n_y) − 1, where U = R_x − n_x (n_x + 1) / 2 is the Mann-Whitney statistic:
    the number of pairs with x > y, ties counting half.

    Args:
        rank_sum_x: R_x, the sum of the midranks of X, counted from 1.
        n_x: Size of X, at least 1.
        n_y: Size of Y, at least 1.

    Returns:
        δ, from −1 to 1.

    Source: Mann & Whitney 1947; Cliff 1993.

    Example:
        X = {2, 4} and Y = {1, 3} have midranks 2 and 4 for X; 3 of 4 pairs are won.

        >>> rank_dominance(6.0, 2, 2)
        0.5
    """
    wins = rank_sum_x - n_x * (n_x + 1) / 2
    return 2 * wins / (n_x * n_y) - 1
