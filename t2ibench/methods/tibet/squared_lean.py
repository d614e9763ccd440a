"""The mean squared lean over prompts and axes, with test, interval and fair band.

The leans of prompts and axes share images, so they are tested together: by one F test of the sum of
their squares over the trace of their covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from t2ibench.methods.core.influence import Influence
from t2ibench.methods.tibet.axis_shares import AxisShares
from t2ibench.methods.tibet.even_shares_test import (
    LEAST_SHARE_OF_TRACE,
    EvenSharesTest,
    even_shares_test,
    influences_of_leans,
)
from t2ibench.methods.tibet.lean_covariance import covariance_of_leans
from t2ibench.stats.squares import MeanSquare, f_square, square_interval


def mean_squared_lean_of_axes(axes: Sequence[AxisShares], level: float) -> MeanSquare:
    """Return the mean squared lean of prompts and axes, which may share images."""
    double_counted = 0.0
    for axis in axes:
        k = len(axis.counterfactuals)
        double_counted += axis.mixture.double_counted * k / (k - 1)
    leans = np.concatenate([axis.leans for axis in axes])
    return mean_squared_lean(
        leans,
        influences_of_leans(axes, "even shares"),
        len(axes),
        level,
        value=float(np.mean([axis.squared_lean for axis in axes])),
        double_counted=double_counted,
        growth_variance=sum(axis.growth_variance for axis in axes),
        test=even_shares_test(axes, double_counted, level),
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
    test: EvenSharesTest | None = None,
) -> MeanSquare:
    """Return the mean squared lean of rows that share images, with test and fair band.

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
        test: The test that all are 0; by default the F test with S.
    """
    lean = np.asarray(leans, dtype=np.float64)
    covariance = covariance_of_leans(influences)
    trace = float(np.trace(covariance.matrix))
    total_variance = max(trace - double_counted, LEAST_SHARE_OF_TRACE * trace)
    sum_of_squares = float((lean**2).sum())
    variance_along_leans = 0.0
    if sum_of_squares * trace:
        along = float(lean @ covariance.matrix @ lean) / sum_of_squares
        variance_along_leans = along * total_variance / trace
    growth = growth_variance / total_variance if total_variance > 0 else 0.0
    squares = sum_of_squares / n_rows
    noise = total_variance / n_rows
    result = f_square(
        squares,
        noise,
        variance_along_leans / n_rows,
        covariance.dfs,
        level,
        value=value,
        growth=growth,
    )
    if test is None or not noise > 0:
        return result
    least = noise / covariance.dfs[0]
    low, high = square_interval(
        squares,
        test.critical,
        noise,
        slopes=(least, variance_along_leans / n_rows or least),
        df=covariance.dfs[1],
        level=level,
        growth=growth,
    )
    return replace(
        result,
        low=low if low > 0 else min(result.value, 0.0),
        high=high,
        p=test.p,
        fair_high=test.critical - noise,
        df=covariance.dfs,
    )
