"""Sums over groups of rows, each taken in the order of the rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from t2ibench.arrays import Float64Array, IntArray


def sums_by(groups: IntArray, values: Float64Array, count: int) -> Float64Array:
    """Sum of the values of each group.

    One value after the other is added to its group's sum, as `np.add.at` does, so that sums do not
    depend on how they are taken: of one column by `bincount`, of more as a product with the table
    of who is in which group.

    Args:
        groups: Group of each row, from 0, shape (n,).
        values: Shape (n,) or (n, d).
        count: Number of groups.

    Returns:
        Shape (count,) or (count, d); 0 for a group without rows.

    Example:
        >>> sums_by(np.array([1, 0, 1]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), 3).tolist()
        [[3.0, 4.0], [6.0, 8.0], [0.0, 0.0]]
    """
    if values.ndim == 1:
        return np.bincount(groups, weights=values, minlength=count).astype(np.float64)
    if values.shape[1] == 1:
        return sums_by(groups, values[:, 0], count)[:, None]
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=count))
    inside = sparse.csr_matrix(
        (np.ones(len(order)), order, np.concatenate([[0], ends])), shape=(count, len(order))
    )
    sums: Float64Array = inside @ values
    return sums
