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
        """Variance of a linear combination of the estimates.

        Args:
            weights: One coefficient an influence.

        Returns:
            The variance, which is 0 exactly where equal influences cancel, and Satterthwaite's
            degrees of freedom over the strata.
        """
        influence = np.asarray(weights, dtype=np.float64) @ self.rows
        shares = np.bincount(self.stratum, weights=influence**2)
        sizes = np.bincount(self.stratum[self.known], minlength=len(shares))
        return satterthwaite(shares, np.maximum(sizes - 1, 1))

    def covariances(self) -> Float64Array:
        """Covariances of the estimates.

        Returns:
            Shape (influences, influences).
        """
        matrix: Float64Array = np.asarray((self.rows @ self.rows.T).todense(), dtype=np.float64)
        return matrix


def linear(
    value: float, first: Influence, second: Influence, level: float, sign: float = -1.0
) -> Contrast:
    """The difference of two estimates, or their sum.

    V = V₁ + V₂ − 2 C, with C over the units that both have, and Student's t with Satterthwaite's
    degrees of freedom over the strata of the difference.

    Args:
        value: The difference (or the sum).
        first: Influence on the first.
        second: Influence on the second.
        level: Confidence level, in (0, 1).
        sign: -1 for the difference, 1 for the sum.

    Returns:
        The contrast. That of an estimate and itself is 0 [0, 0], with p = 1.

    Examples:
        >>> influence = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
        >>> linear(0.0, influence, influence, 0.95)
        Contrast(value=0.0, low=0.0, high=0.0, p=1.0)
    """
    return _contrast(value, *Aligned([first, second]).variance([1.0, sign]), level)


def mean_squares(
    value: float, first: Sequence[Part], second: Sequence[Part], level: float
) -> Contrast:
    """The difference of two unbiased mean squares of the same leans in two runs.

    With l the leans of one row in both runs, V their variances, C their covariance:

    Var((l₁² − V₁) − (l₂² − V₂)) = 4 (l₁² V₁ + l₂² V₂ − 2 l₁ l₂ C) − 2 (V₁² + V₂² − 2 C²)

    is an unbiased estimate of the variance, summed over rows with the covariances between them,
    and at least 2 (V₁² + V₂² − 2 C²), its value where no row leans.

    Args:
        value: The difference.
        first: The leans of the first run.
        second: The same leans of the second, in the same order.
        level: Confidence level, in (0, 1).

    Returns:
        The contrast. That of a run and itself is 0 [0, 0].
    """
    aligned = Aligned([part.influence for part in (*first, *second)])
    count = len(first)
    signs = np.repeat([1.0, -1.0], count) / count
    leans = np.array([part.value for part in (*first, *second)])
    linear_variance, df = aligned.variance((2 * signs * leans).tolist())
    pairs = aligned.covariances() * signs  # A Σ, with A the signs on the diagonal
    curvature = 2.0 * float((pairs * pairs.T).sum())
    if all(a.influence.same(b.influence) for a, b in zip(first, second, strict=True)):
        curvature = 0.0  # rounding aside
    variance = max(linear_variance - curvature, curvature, 0.0)
    return _contrast(value, variance, df if math.isfinite(df) else _LARGE, level)


def _contrast(value: float, variance: float, df: float, level: float) -> Contrast:
    if not math.isfinite(variance) or (variance == 0 and value != 0):
        return Contrast(value)  # one unit, or units that do not vary, show no variance
    low, high = t_interval(value, variance, df, level)
    return Contrast(value, low, high, t_test(value, variance, df))
