"""The ranks of values, of which equal ones share a rank."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, as_floats


def mean_ranks(values: npt.ArrayLike) -> Float64Array:
    """Return the ranks of values from 1, where equal values get the mean of their ranks.

    `scipy.stats.rankdata` returns the same, but importing `scipy.stats` takes half a second, and
    the scores of association tests need nothing of it.

    Args:
        values: Shape (n,).

    Returns:
        Shape (n,); nan throughout where a value is nan.

    Example:
        >>> mean_ranks([7, 5, 7]).tolist()
        [2.5, 1.0, 2.5]
    """
    numbers = as_floats(values)
    if np.isnan(numbers).any():
        return np.full(len(numbers), np.nan)
    _, number_of_value, counts = np.unique(
        numbers, return_inverse=True, return_counts=True
    )
    last_ranks = np.cumsum(counts)
    ranks: Float64Array = last_ranks - (counts - 1) / 2
    return ranks[number_of_value]
