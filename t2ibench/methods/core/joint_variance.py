"""How several leans vary together, where they share units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array

_SAME = 1.05  # effective number of leans up to which they are one

# Leans that units of a stratum move, how each unit moves each, shape (units, leans), and the
# degrees of freedom of the stratum.
Stratum = tuple[Sequence[int], Float64Array, int]


@dataclass(frozen=True, slots=True)
class Spread:
    """The covariance of several leans.

    Attributes:
        matrix: Shape (p, p).
        dfs: Degrees of freedom of F = (sum of squared leans) / trace: Satterthwaite's over the
            directions, and over the strata.
    """

    matrix: Float64Array
    dfs: tuple[float, float]


def spread_of(count: int, strata: Sequence[Stratum]) -> Spread:
    """The covariance of leans with common units, and the degrees of freedom of its trace.

    With S_s the part of stratum s and f its degrees of freedom:

        h = (tr S)² / tr(S²), h_2 = (tr S)² / sum over s of tr(S_s²) / (f + 2)

    where tr(S_s²) is estimated without bias (Bai and Saranadasa 1996) within tr(S²). Leans that are
    one have the degrees of freedom of Student's t, 1 and (tr S)² / sum over s of tr(S_s²) / f.

    Args:
        count: p, the number of leans.
        strata: The strata.

    Example:
        >>> units = np.array([[0.5], [-0.5], [0.5], [-0.5]])
        >>> spread_of(1, [([0], units, 3)]).dfs
        (1.0, 3.0)
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
