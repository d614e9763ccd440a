"""Influences of single images, wordings or stimuli on an estimate, and its variance.

An influence is what makes runs comparable in pairs. Two models generate from the same prompts and
indices, so the difference of their scores is measured unit by unit, and that of a run and itself
is exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import BoolArray, Float64Array, IntArray
from t2ibench.stats.rounding import sums_by
from t2ibench.stats.student import satterthwaite

# Number of the unit that stands for a lower bound of the variance.
FLOOR = -1


@dataclass(frozen=True, slots=True)
class Influence:
    """The first-order influence of independent units, such as images, on an estimate.

    Units of one stratum (the images of a prompt, the templates of a stimulus, the stimuli of a
    concept) are exchangeable; those of different strata are independent.

    Attributes:
        strata: Names of the strata, the same for two runs of one task.
        stratum: Number of each unit's stratum in `strata`, shape (n,).
        unit: Number of each unit within its stratum, such as the index of an image, shape (n,);
            `FLOOR` for a part of the variance that no unit shows.
        value: Influence of each unit on the estimate, shape (n,), scaled so that the sum of the
            squares is the estimate's variance.
    """

    strata: tuple[str, ...]
    stratum: IntArray
    unit: IntArray
    value: Float64Array

    @classmethod
    def none(cls) -> Influence:
        """Return the influence on a constant, which has no units and no variance."""
        empty = np.zeros(0, np.int64)
        return cls((), empty, empty, np.zeros(0))

    @classmethod
    def of_mean(
        cls, stratum: str, units: npt.ArrayLike, values: npt.ArrayLike
    ) -> Influence:
        """Return each value's influence on the mean of the values; NaN for a single value.

        (x - mean) / sqrt(n (n - 1)): squared and summed, s² / n.

        Examples:
            >>> influence = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
            >>> round(influence.variance, 9), influence.df
            (1.0, 1.0)
        """
        sample = np.asarray(values, dtype=np.float64)
        numbers = np.asarray(units, dtype=np.int64)
        n = len(sample)
        influence = np.full(n, np.nan)
        if n > 1:
            residuals = sample - sample.mean()
            influence = residuals / np.sqrt(n * (n - 1))
        numbers_of_strata = np.zeros(n, np.int64)
        return cls((stratum,), numbers_of_strata, numbers, influence)

    @classmethod
    def of_jackknife(
        cls,
        strata: Sequence[str],
        stratum: IntArray,
        units: IntArray,
        without: Float64Array,
    ) -> Influence:
        """Return the influence of each image (or other unit), from estimates without it.

        sqrt((m - 1) / m) (mean of its stratum - estimate without it), with m units in the stratum:
        squared and summed, the delete-one jackknife's variance.
        """
        sizes = np.bincount(stratum, minlength=len(strata)).astype(np.float64)
        sums = np.bincount(stratum, weights=without, minlength=len(strata))
        with np.errstate(divide="ignore", invalid="ignore"):
            means = sums / sizes
            scales = np.sqrt((sizes - 1) / sizes)
        scales = np.where(sizes > 1, scales, np.nan)
        value = scales[stratum] * (means[stratum] - without)
        return cls(tuple(strata), stratum, units, value)

    @classmethod
    def combined(cls, parts: Iterable[tuple[float, Influence]]) -> Influence:
        """Return the influence on a weighted sum of estimates, given weights and influences.

        The influences of a unit that several estimates share are added.

        Examples:
            >>> part = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
            >>> Influence.combined([(2.0, part), (-2.0, part)]).variance
            0.0
        """
        weighted = [(weight, part) for weight, part in parts if len(part.value)]
        if not weighted:
            return cls.none()
        names: set[str] = set()
        for _, part in weighted:
            names.update(part.strata)
        strata = tuple(sorted(names))
        number_of = {name: number for number, name in enumerate(strata)}
        strata_of_parts = []
        units_of_parts = []
        values_of_parts = []
        for weight, part in weighted:
            strata_of_parts.append(_translated(part, number_of))
            units_of_parts.append(part.unit)
            values_of_parts.append(weight * part.value)
        stratum = np.concatenate(strata_of_parts)
        unit = np.concatenate(units_of_parts)
        value = np.concatenate(values_of_parts)
        distinct_stratum, distinct_unit, inverse = _distinct_units(stratum, unit)
        sums = sums_by(inverse, value, len(distinct_unit))
        return cls(strata, distinct_stratum, distinct_unit, sums)

    def scaled(self, factor: float) -> Influence:
        """Return the influence on the estimate multiplied by `factor`."""
        return replace(self, value=self.value * factor)

    def with_floor(self, variance: float) -> Influence:
        """Return the influence with its variance raised to at least `variance`.

        Ten equal answers show no variance, but are compatible with some.
        """
        missing = variance - self.variance
        if not missing > 0 or not self.strata:
            return self
        return Influence(
            strata=self.strata,
            stratum=np.append(self.stratum, 0),
            unit=np.append(self.unit, FLOOR),
            value=np.append(self.value, np.sqrt(missing)),
        )

    @property
    def variance(self) -> float:
        """Variance of the estimate."""
        return float((self.value**2).sum())

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom of the variance; nan if the variance is 0."""
        count = len(self.strata)
        variances = np.bincount(self.stratum, weights=self.value**2, minlength=count)
        observed = self.unit != FLOOR
        sizes = np.bincount(self.stratum[observed], minlength=count)
        dfs = np.maximum(sizes - 1, 1)
        _, df = satterthwaite(variances, dfs)
        return df

    def covariance(self, other: Influence) -> float:
        """Return the covariance with another estimate, of another run or another row.

        `JointInfluence` says which units two estimates share. The covariance of an estimate with
        itself is its variance to the last digit.
        """
        if self.same(other):
            return self.variance
        return float(JointInfluence([self, other]).covariance[0, 1])

    def same(self, other: Influence) -> bool:
        """Return whether two influences are equal in every value."""
        return (
            self.strata == other.strata
            and np.array_equal(self.stratum, other.stratum)
            and np.array_equal(self.unit, other.unit)
            and np.array_equal(self.value, other.value, equal_nan=True)
        )


class JointInfluence:
    """The influence of every unit, such as an image, on each of several estimates.

    Two units are the same where the names of their strata and their numbers are, whichever run or
    score they belong to. A `FLOOR` unit has no data behind it: two influences share it only where
    they are equal.

    Attributes:
        rows: Influence of each unit on each estimate, sparse, shape (estimates, units).
        stratum: Number of each unit's stratum, shape (units,).
        observed: Whether data stand behind each unit, shape (units,).
    """

    rows: scipy.sparse.csr_matrix
    stratum: IntArray
    observed: BoolArray

    def __init__(self, influences: Sequence[Influence]) -> None:
        strata: dict[str, None] = {}
        for influence in influences:
            strata.update(dict.fromkeys(influence.strata))
        number_of = {name: number for number, name in enumerate(strata)}
        nothing = np.zeros(0, np.int64)
        strata_of_parts = [_translated(part, number_of) for part in influences]
        stratum = np.concatenate([nothing, *strata_of_parts])
        unit = np.concatenate([nothing, *_numbers_with_floors(influences)])
        values = [part.value for part in influences]
        value = np.concatenate([np.zeros(0), *values])
        lengths = [len(part.value) for part in influences]
        numbers = np.arange(len(influences))
        estimate = np.repeat(numbers, lengths)
        self.stratum, distinct_unit, column = _distinct_units(stratum, unit)
        self.observed = distinct_unit >= 0
        shape = (len(influences), len(distinct_unit))
        self.rows = scipy.sparse.csr_matrix((value, (estimate, column)), shape=shape)

    @property
    def covariance(self) -> Float64Array:
        """Covariance matrix of the estimates, shape (estimates, estimates)."""
        matrix: Float64Array = (self.rows @ self.rows.T).toarray()
        return matrix

    def variance(self, weights: Sequence[float]) -> tuple[float, float]:
        """Return the variance of a weighted sum of the estimates, and its degrees of freedom.

        The degrees of freedom are Satterthwaite's over the strata.
        """
        moved = np.asarray(weights, dtype=np.float64) @ self.rows
        variances = np.bincount(self.stratum, weights=moved**2)
        observed = self.stratum[self.observed]
        sizes = np.bincount(observed, minlength=len(variances))
        dfs = np.maximum(sizes - 1, 1)
        return satterthwaite(variances, dfs)

    def spread(self, weights: npt.ArrayLike) -> Spread:
        """Return the covariance of weighted sums of the estimates, with degrees of freedom.

        `weights` has shape (sums, estimates).
        """
        moved = np.asarray(weights, dtype=np.float64) @ self.rows
        strata = []
        for number in np.unique(self.stratum):
            members = self.stratum == number
            is_moved = moved[:, members].any(axis=1)
            columns = np.flatnonzero(is_moved)
            n_observed = int(self.observed[members].sum())
            freedom = max(n_observed - 1, 1)
            if len(columns):
                units = moved[np.ix_(columns, members)].T
                strata.append((columns.tolist(), units, freedom))
        return spread_of(len(moved), strata)


def _translated(influence: Influence, number_of: Mapping[str, int]) -> IntArray:
    """Return the stratum of each unit, such as an image, as its number in a shared list."""
    if not influence.strata:
        return influence.stratum
    numbers = np.array([number_of[name] for name in influence.strata], np.int64)
    return numbers[influence.stratum]


def _numbers_with_floors(influences: Sequence[Influence]) -> list[IntArray]:
    """Return the numbers of each influence's units, such as images, without `FLOOR`.

    In its place are negative numbers, the same for equal influences only.
    """
    numbers = []
    # Each influence with a floor that is not equal to an earlier one.
    floors: list[Influence] = []
    for influence in influences:
        is_floor = influence.unit == FLOOR
        if not is_floor.any():
            numbers.append(influence.unit)
            continue
        equal = [k for k, other in enumerate(floors) if other.same(influence)]
        if not equal:
            floors.append(influence)
        position = equal[0] if equal else len(floors) - 1
        floor_number = position - len(influences)
        numbers.append(np.where(is_floor, floor_number, influence.unit))
    return numbers


def _distinct_units(
    stratum: IntArray, unit: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the distinct units, such as images, in order, and every unit's position among them.

    Returns:
        Stratum and number of each distinct unit, shape (m,), and positions of shape (n,).
    """
    if not len(unit):
        return stratum, unit, np.zeros(0, np.int64)
    # One number stands for both, in their order: sorting pairs takes ten times as long.
    smallest = unit.min()
    span = unit.max() - smallest + 1
    keys_of_units = stratum * span + (unit - smallest)
    keys, positions = np.unique(keys_of_units, return_inverse=True)
    distinct_stratum = keys // span
    distinct_unit = keys % span + smallest
    return distinct_stratum, distinct_unit, positions


# Effective number of leans up to which they are one.
_SAME = 1.05

# Leans that units of a stratum move, how each unit moves each, shape (units, leans), and the
# degrees of freedom of the stratum.
Stratum = tuple[Sequence[int], Float64Array, int]


@dataclass(frozen=True, slots=True)
class Spread:
    """The covariance of several leans, with the degrees of freedom of their F test.

    Attributes:
        matrix: Covariance, shape (p, p).
        dfs: Degrees of freedom of F = (sum of squared leans) / trace: Satterthwaite's over the
            directions, and over the strata.
    """

    matrix: Float64Array
    dfs: tuple[float, float]


def spread_of(count: int, strata: Sequence[Stratum]) -> Spread:
    """Return the covariance of several leans, and the degrees of freedom of their F test.

    The covariance S is the sum of the parts S_s of strata, each with f degrees of
    freedom:

        h = (tr S)² / tr(S²), h_2 = (tr S)² / sum over s of tr(S_s²) / (f + 2)

    where tr(S_s²) is estimated without bias (Bai and Saranadasa 1996) within tr(S²). Leans that are
    one have the degrees of freedom of Student's t, 1 and (tr S)² / sum over s of tr(S_s²) / f.
    """
    matrix: Float64Array = np.zeros((count, count))
    # What unbiased estimates of all tr(S_s²) add to tr(S²).
    correction = 0.0
    # The sums over s of tr(S_s²) / (f + 2) and of tr(S_s²) / f.
    within = 0.0
    exact = 0.0
    for columns, units, freedom in strata:
        part = units.T @ units
        matrix[np.ix_(columns, columns)] += part
        square = float((part**2).sum())
        correction += _unbiased_square(part, freedom) - square
        within += square / (freedom + 2)
        exact += square / freedom
    squared_trace = float(np.trace(matrix)) ** 2
    square = float((matrix**2).sum())
    if not squared_trace > 0:
        return Spread(matrix, (float("nan"), float("nan")))
    if squared_trace < _SAME * square:
        return Spread(matrix, (1.0, squared_trace / exact))
    df_over_directions = squared_trace / (square + correction)
    df_over_strata = squared_trace / within
    return Spread(matrix, (df_over_directions, df_over_strata))


def _unbiased_square(part: Float64Array, freedom: int) -> float:
    """Return an estimate of the sum of a covariance matrix's squared elements.

    It is tr(S²) for an S of which `part` is an estimate with `freedom` degrees of
    freedom.
    """
    square = float((part**2).sum())
    trace = float(np.trace(part))
    unbiased = square * freedom / (freedom + 2)
    if freedom > 1:
        scale = freedom**2 / ((freedom - 1) * (freedom + 2))
        excess_of_square = square - trace**2 / freedom
        unbiased = min(unbiased, scale * excess_of_square)
    square_of_equal_parts = trace**2 / len(part)
    smallest = square_of_equal_parts * freedom / (freedom + 2)
    return max(unbiased, smallest)
