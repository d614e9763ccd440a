"""How an estimate moves with each of its units: variances, and covariances between estimates.

An influence is what makes runs comparable in pairs. Two models generate from the same prompts and
indices, so the difference of their scores is measured unit by unit, and that of a run and itself
is exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.rounding import sums_by
from t2ibench.stats.student import satterthwaite

FLOOR = -1  # number of the unit that stands for a lower bound of the variance


@dataclass(frozen=True, slots=True)
class Influence:
    """First-order influence of independent units on an estimate.

    Units of one stratum (the images of a prompt, the templates of a stimulus, the stimuli of a
    concept) are exchangeable; those of different strata are independent.
    """

    strata: tuple[str, ...]  # names of the strata, the same for two runs of one task
    stratum: IntArray  # which stratum each unit is of, shape (n,)
    # the number of each unit within its stratum, such as the index of an image, shape (n,);
    # `FLOOR` for a part of the variance that no unit shows
    unit: IntArray
    # scaled so that the variance of the estimate is the sum of the squares, shape (n,)
    value: Float64Array

    @classmethod
    def none(cls) -> Influence:
        """The influence on a constant."""
        empty = np.zeros(0, np.int64)
        return cls((), empty, empty, np.zeros(0))

    @classmethod
    def of_mean(
        cls, stratum: str, units: npt.ArrayLike, values: npt.ArrayLike
    ) -> Influence:
        """The influence of exchangeable values on their mean; NaN for a single value.

        (x - mean) / sqrt(n (n - 1)): squared and summed, s² / n.

        Examples:
            >>> influence = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
            >>> round(influence.variance, 9), influence.df
            (1.0, 1.0)
        """
        x = np.asarray(values, dtype=np.float64)
        n = len(x)
        scaled = (x - x.mean()) / np.sqrt(n * (n - 1)) if n > 1 else np.full(n, np.nan)
        numbers = np.asarray(units, dtype=np.int64)
        return cls((stratum,), np.zeros(n, np.int64), numbers, scaled)

    @classmethod
    def of_jackknife(
        cls,
        strata: Sequence[str],
        stratum: IntArray,
        units: IntArray,
        without: Float64Array,
    ) -> Influence:
        """The influence of units from the estimates without each of them.

        sqrt((m - 1) / m) (mean of its stratum - estimate without it), with m units in the stratum:
        squared and summed, the delete-one jackknife's variance.
        """
        sizes = np.bincount(stratum, minlength=len(strata)).astype(np.float64)
        sums = np.bincount(stratum, weights=without, minlength=len(strata))
        with np.errstate(divide="ignore", invalid="ignore"):
            means, scales = sums / sizes, np.sqrt((sizes - 1) / sizes)
        scales = np.where(sizes > 1, scales, np.nan)
        value = scales[stratum] * (means[stratum] - without)
        return cls(tuple(strata), stratum, units, value)

    @classmethod
    def combined(cls, parts: Iterable[tuple[float, Influence]]) -> Influence:
        """The influence on a linear combination of estimates; units that they share add up.

        Examples:
            >>> part = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
            >>> Influence.combined([(2.0, part), (-2.0, part)]).variance
            0.0
        """
        chosen = [(weight, part) for weight, part in parts if len(part.value)]
        if not chosen:
            return cls.none()
        strata = tuple(sorted({name for _, part in chosen for name in part.strata}))
        number = {name: k for k, name in enumerate(strata)}
        stratum = np.concatenate(
            [
                np.array([number[name] for name in part.strata])[part.stratum]
                for _, part in chosen
            ]
        )
        unit = np.concatenate([part.unit for _, part in chosen])
        value = np.concatenate([weight * part.value for weight, part in chosen])
        # One number stands for both, in their order: sorting pairs takes ten times as long.
        least = unit.min()
        span = unit.max() - least + 1
        keys, inverse = np.unique(stratum * span + (unit - least), return_inverse=True)
        return cls(
            strata,
            keys // span,
            keys % span + least,
            sums_by(inverse, value, len(keys)),
        )

    def scaled(self, factor: float) -> Influence:
        """The influence on a multiple of the estimate."""
        return replace(self, value=self.value * factor)

    def with_floor(self, variance: float) -> Influence:
        """The influence with a variance of at least so much.

        Ten equal answers show no variance, but are compatible with some.
        """
        missing = variance - self.variance
        if not missing > 0 or not self.strata:
            return self
        return Influence(
            self.strata,
            np.append(self.stratum, 0),
            np.append(self.unit, FLOOR),
            np.append(self.value, np.sqrt(missing)),
        )

    @property
    def variance(self) -> float:
        """Variance of the estimate."""
        return float((self.value**2).sum())

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom of the variance; nan where it is 0."""
        k = len(self.strata)
        shares = np.bincount(self.stratum, weights=self.value**2, minlength=k)
        sizes = np.bincount(self.stratum[self.unit != FLOOR], minlength=k)
        return satterthwaite(shares, np.maximum(sizes - 1, 1))[1]

    def covariance(self, other: Influence) -> float:
        """Covariance with another estimate, of another run or another row."""
        if self.same(other):
            return self.variance
        number = {name: k for k, name in enumerate(other.strata)}
        translated = np.array(
            [number.get(name, -1) for name in self.strata], dtype=np.int64
        )
        mine = {
            (int(s), int(u)): v
            for s, u, v in zip(
                translated[self.stratum], self.unit, self.value, strict=True
            )
            if s >= 0 and u != FLOOR
        }
        keys = zip(other.stratum.tolist(), other.unit.tolist(), strict=True)
        return float(
            sum(
                mine.get(key, 0.0) * v for key, v in zip(keys, other.value, strict=True)
            )
        )

    def same(self, other: Influence) -> bool:
        """Whether two influences are equal, unit by unit."""
        return self.strata == other.strata and all(
            np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
            for mine, theirs in (
                (self.stratum, other.stratum),
                (self.unit, other.unit),
                (self.value, other.value),
            )
        )


_SAME = 1.05  # effective number of leans up to which they are one

# Leans that units of a stratum move, how each unit moves each, shape (units, leans), and the
# degrees of freedom of the stratum.
Stratum = tuple[Sequence[int], Float64Array, int]


@dataclass(frozen=True, slots=True)
class Spread:
    """The covariance of several leans."""

    matrix: Float64Array  # shape (p, p)
    # degrees of freedom of F = (sum of squared leans) / trace: Satterthwaite's over the
    # directions, and over the strata
    dfs: tuple[float, float]


def spread_of(count: int, strata: Sequence[Stratum]) -> Spread:
    """The covariance of leans with common units, and the degrees of freedom of its trace.

    With S_s the part of stratum s and f its degrees of freedom:

        h = (tr S)² / tr(S²), h_2 = (tr S)² / sum over s of tr(S_s²) / (f + 2)

    where tr(S_s²) is estimated without bias (Bai and Saranadasa 1996) within tr(S²). Leans that are
    one have the degrees of freedom of Student's t, 1 and (tr S)² / sum over s of tr(S_s²) / f.
    """
    matrix: Float64Array = np.zeros((count, count))
    correction = within = exact = 0.0
    for columns, units, freedom in strata:
        part = units.T @ units
        matrix[np.ix_(columns, columns)] += part
        square, trace = float((part**2).sum()), float(np.trace(part))
        unbiased = square * freedom / (freedom + 2)
        if freedom > 1:
            scale = freedom**2 / ((freedom - 1) * (freedom + 2))
            unbiased = min(unbiased, scale * (square - trace**2 / freedom))
        unbiased = max(unbiased, trace**2 / len(columns) * freedom / (freedom + 2))
        correction += unbiased - square
        within += square / (freedom + 2)
        exact += square / freedom
    total, square = float(np.trace(matrix)) ** 2, float((matrix**2).sum())
    if not total > 0:
        return Spread(matrix, (float("nan"), float("nan")))
    if total < _SAME * square:
        return Spread(matrix, (1.0, total / exact))
    return Spread(matrix, (total / (square + correction), total / within))
