"""The mean squared lean over prompts and axes: its test, its interval and its fair band.

The leans of prompts and axes share images, so they are tested together: by one F test of the sum of
their squares over the trace of their covariance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import FLOOR, Influence, Spread, Stratum, spread_of
from t2ibench.methods.tibet.axis_shares import AxisShares
from t2ibench.stats.squares import MeanSquare, f_square

# The least share of the trace that remains, however much of it is counted twice.
_LEAST_SHARE_OF_TRACE = 0.5


def mean_squared_lean_of_axes(axes: Sequence[AxisShares], level: float) -> MeanSquare:
    """The mean squared lean of several prompts and axes, which may share images."""
    influences = [
        axis.influence(scale, even=True)
        for axis in axes
        for scale in np.ascontiguousarray(axis.scales.T)
    ]
    double_counted = 0.0
    for axis in axes:
        k = len(axis.counterfactuals)
        double_counted += axis.mixture.double_counted * k / (k - 1)
    return mean_squared_lean(
        np.concatenate([axis.leans for axis in axes]),
        influences,
        len(axes),
        level,
        value=float(np.mean([axis.squared_lean for axis in axes])),
        double_counted=double_counted,
        growth_variance=sum(axis.growth_variance for axis in axes),
    )


def mean_squared_lean(
    leans: npt.ArrayLike,
    influences: Sequence[Influence],
    n_rows: int,
    level: float,
    *,
    value: float | None = None,
    double_counted: float = 0.0,
    growth_variance: float = 0.0,
) -> MeanSquare:
    """Test, interval and fair band of a mean squared lean over rows that share images.

    With l the leans, m the number of rows and S the covariance of the leans where all are 0:

        squares           = l'l / m
        total variance    = tr S less what is counted twice, at least half of tr S
        variance along l  = l'Sl / l'l, in proportion to the total variance
        growth            = growth variance / total variance

    Args:
        leans: l.
        influences: How each image moves each of them.
        n_rows: m.
        level: Confidence level, in (0, 1).
        value: The unbiased mean squared lean; by default the squares less the variance.
        double_counted: What S counts twice, as a sum over leans.
        growth_variance: By how much tr S grows with the squared lean.
    """
    lean = np.asarray(leans, dtype=np.float64)
    covariance = covariance_of_leans(influences)
    trace = float(np.trace(covariance.matrix))
    total_variance = max(trace - double_counted, _LEAST_SHARE_OF_TRACE * trace)
    sum_of_squares = float((lean**2).sum())
    variance_along_leans = 0.0
    if sum_of_squares * trace:
        along = float(lean @ covariance.matrix @ lean) / sum_of_squares
        variance_along_leans = along * total_variance / trace
    growth = growth_variance / total_variance if total_variance > 0 else 0.0
    return f_square(
        sum_of_squares / n_rows,
        total_variance / n_rows,
        variance_along_leans / n_rows,
        covariance.dfs,
        level,
        value=value,
        growth=growth,
    )


def covariance_of_leans(influences: Sequence[Influence]) -> Spread:
    """The covariance of leans with common units, and the degrees of freedom of its trace.

    Examples:
        Two axes with the same answers about the same images are one:

        >>> lean = Influence.of_mean("a chef", range(1000), [0.0, 1.0] * 500)
        >>> round(covariance_of_leans([lean, lean]).dfs[0], 1)
        1.0
        >>> round(covariance_of_leans([lean]).dfs[1], -1)
        1000.0
    """
    columns_of_prompts: dict[str, list[int]] = {}
    for column, influence in enumerate(influences):
        for prompt in influence.strata:
            columns_of_prompts.setdefault(prompt, []).append(column)
    strata = [
        _stratum(prompt, columns, influences)
        for prompt, columns in columns_of_prompts.items()
    ]
    return spread_of(len(influences), strata)


def _stratum(
    prompt: str, columns: Sequence[int], influences: Sequence[Influence]
) -> Stratum:
    """How each image of a prompt moves each of the leans that have images of it."""
    units_and_moves = []
    for column in columns:
        influence = influences[column]
        of_prompt = influence.stratum == influence.strata.index(prompt)
        units_and_moves.append((influence.unit[of_prompt], influence.value[of_prompt]))
    images = np.unique(np.concatenate([units for units, _ in units_and_moves]))
    table: Float64Array = np.zeros((len(images), len(columns)))
    for place, (units, moves) in enumerate(units_and_moves):
        table[np.searchsorted(images, units), place] += moves
    freedom = max(int((images != FLOOR).sum()) - 1, 1)
    return columns, table, freedom
