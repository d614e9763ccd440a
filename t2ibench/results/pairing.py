"""Contrasts between two runs whose images are paired by prompt and index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.stats.student import satterthwaite, t_interval, t_test

_LARGE = 1e9  # degrees of freedom of a variance that is as good as known
_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference with its uncertainty.

    Attributes:
        value: The difference.
        low: Lower end of its interval; None where the variance is unknown.
        high: Upper end.
        p: p-value that it is 0.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Aligned:
    """Influences over the units that at least one of them has.

    Units are the same where stratum and number are, whichever run or score they are of. A `FLOOR`
    unit has no data behind it and is shared with an equal influence only.

    Args:
        influences: One or more.

    Attributes:
        rows: Sparse matrix of influences by units.
        stratum: Stratum of each unit, shape (units,).
        known: Whether data stand behind a unit, shape (units,).
    """

    def __init__(self, influences: Sequence[Influence]) -> None:
        strata: dict[str, int] = {}
        keys, values, lengths = [], [], []
        twins: list[Influence] = []
        for influence in influences:
            twin = next((k for k, one in enumerate(twins) if one.same(influence)), None)
            if twin is None and (influence.unit == FLOOR).any():
                twins.append(influence)
                twin = len(twins) - 1
            numbers = np.array(
                [strata.setdefault(name, len(strata)) for name in influence.strata], np.int64
            )
            floor = np.where(influence.unit == FLOOR, -1 if twin is None else twin, -1)
            stratum = numbers[influence.stratum] if len(numbers) else influence.stratum
            keys.append(np.stack([stratum, influence.unit, floor]))
            values.append(influence.value)
            lengths.append(len(influence.value))
        unique, column = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
        row = np.repeat(np.arange(len(lengths)), lengths)
        shape = (len(lengths), unique.shape[1])
        self.rows = sparse.csr_matrix((np.concatenate(values), (row, column.ravel())), shape=shape)
        self.stratum, self.known = unique[0], unique[1] != FLOOR

    def variance(self, weights: Sequence[float]) -> tuple[float, float]:
        """Variance of a linear combination of the estimates."""
        influence = np.asarray(weights, dtype=np.float64) @ self.rows
        shares = np.bincount(self.stratum, weights=influence**2)
        sizes = np.bincount(self.stratum[self.known], minlength=len(shares))
        return satterthwaite(shares, np.maximum(sizes - 1, 1))

    def covariances(self) -> Float64Array:
        """Covariances of the estimates."""
        matrix: Float64Array = np.asarray((self.rows @ self.rows.T).todense(), dtype=np.float64)
        return matrix


def linear(
    value: float, first: Influence, second: Influence, level: float, sign: float = -1.0
) -> Contrast:
    """The difference of two estimates, or their sum.

    V = V₁ + V₂ − 2 C, with C over the units that both have, and Student's t with Satterthwaite's
    degrees of freedom over the strata of the difference.

    Examples:
        >>> influence = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
        >>> linear(0.0, influence, influence, 0.95)
        Contrast(value=0.0, low=0.0, high=0.0, p=1.0)
    """
    return _contrast(value, *Aligned([first, second]).variance([1.0, sign]), level)


class MeanSquares:
    """Two unbiased mean squares of the same leans in two runs.

    With l the leans of one row in both runs, V their variances, C their covariance:

    Var((l₁² − V₁) − (l₂² − V₂)) = 4 (l₁² V₁ + l₂² V₂ − 2 l₁ l₂ C) − 2 (V₁² + V₂² − 2 C²)

    is an unbiased estimate of the variance, summed over rows with the covariances between them,
    and at least 2 (V₁² + V₂² − 2 C²), its value where no row leans.

    Args:
        first: The leans of the first run.
        second: The same leans of the second, in the same order.
    """

    def __init__(self, first: Sequence[Part], second: Sequence[Part]) -> None:
        self._aligned = Aligned([part.influence for part in (*first, *second)])
        self._covariances = self._aligned.covariances()
        self._leans = np.array([part.value for part in (*first, *second)])
        self._alike = all(a.influence.same(b.influence) for a, b in zip(first, second, strict=True))

    def _variance(self, first: float, second: float) -> tuple[float, float]:
        """Variance and degrees of freedom of a combination of both mean squares."""
        count = len(self._leans) // 2
        weights = np.repeat([first, second], count) / count
        linear_variance, df = self._aligned.variance((2 * weights * self._leans).tolist())
        pairs = self._covariances * weights  # Σ A, with A the weights on the diagonal
        curvature = 2.0 * float((pairs * pairs.T).sum())
        if self._alike and first + second == 0:
            curvature = 0.0  # rounding aside
        variance = max(linear_variance - curvature, curvature, 0.0)
        return variance, df if math.isfinite(df) else _LARGE

    def difference(self, value: float, level: float) -> Contrast:
        """First minus second."""
        return _contrast(value, *self._variance(1.0, -1.0), level)

    def change(self, first: float, second: float, level: float) -> Contrast:
        """How much larger the root of the second is; see `change_of_roots`."""
        alone = self._variance(1.0, 0.0)[0], self._variance(0.0, 1.0)[0]
        return change_of_roots((first, second), alone, *self._variance(1.0, -1.0), level)


def change_of_leans(difference: Contrast, total: Contrast) -> Contrast:
    """How much more the second leans than the first, whichever way either does.

    |l₂| − |l₁| = (|t − d| − |t + d|) / 2 with d = l₁ − l₂ and t = l₁ + l₂ rises or falls with each,
    so that its ends are at the ends of their intervals. It leaves out 0 where both do.

    Examples:
        >>> change_of_leans(Contrast(0.5, 0.25, 0.75), Contrast(-1.0, -1.5, -0.5))
        Contrast(value=0.5, low=0.25, high=0.75, p=None)
    """

    def change(d: float, t: float) -> float:
        return (abs(t - d) - abs(t + d)) / 2

    value = change(difference.value, total.value)
    if None in (difference.low, difference.high, total.low, total.high):
        return Contrast(value)
    ends = [
        change(float(d or 0.0), float(t or 0.0))
        for d in (difference.low, difference.high)
        for t in (total.low, total.high)
    ]
    return Contrast(value, min(ends), max(ends))


def change_of_roots(
    squares: tuple[float, float],
    variances: tuple[float, float],
    of_difference: float,
    df: float,
    level: float,
) -> Contrast:
    """How much larger the root of a second mean square is than that of a first.

    A root has no variance where the square is about 0. So both squares are drawn from their joint t
    distribution around the estimates, and the ends are quantiles of the difference of the roots, as
    those of one root are the roots of the ends of its square.
    """
    first, second = (math.sqrt(max(square, 0.0)) for square in squares)
    value = second - first
    if not all(math.isfinite(one) for one in (*variances, of_difference)):
        return Contrast(value)
    if of_difference == 0:
        return Contrast(value, value, value) if value == 0 else Contrast(value)
    largest = math.sqrt(variances[0] * variances[1])
    shared = min(max((sum(variances) - of_difference) / 2, -largest), largest)
    rng = np.random.default_rng(0)
    half = rng.standard_normal((2, _DRAWS)) / np.sqrt(rng.chisquare(df, _DRAWS) / df)
    draws = np.concatenate([half, -half], axis=1)
    spread = math.sqrt(variances[0])
    slope = shared / spread if spread else 0.0
    rest = math.sqrt(max(variances[1] - slope**2, 0.0))
    moved = squares[0] + spread * draws[0], squares[1] + slope * draws[0] + rest * draws[1]
    roots = [np.sqrt(np.maximum(one, 0.0)) for one in moved]
    low, high = np.quantile(roots[1] - roots[0], [(1 - level) / 2, (1 + level) / 2])
    return Contrast(value, float(low), float(high))


def _contrast(value: float, variance: float, df: float, level: float) -> Contrast:
    if not math.isfinite(variance) or (variance == 0 and value != 0):
        return Contrast(value)  # one unit, or units that do not vary, show no variance
    low, high = t_interval(value, variance, df, level)
    return Contrast(value, low, high, t_test(value, variance, df))
