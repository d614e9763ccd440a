"""Rounding and summation with the same results on every processor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array, IntArray, as_floats

# Sums in another order, or by another library, differ by some 1e-13 (leaderboard/README.md).
_DIGITS = 9
_NOTHING = 1e-12


def settled(values: npt.ArrayLike) -> Float64Array:
    """Return numbers rounded to nine significant digits, so that rounding errors decide nothing.

    Equal numbers that were summed in different orders differ in their last bits. Which of them is
    the least, whether one is above a gate, and how it is written must not depend on that.

    Args:
        values: Any shape.

    Returns:
        The same shape, at nine significant digits; 0 for what is nearer to 0 than 1e-12. What is
        not finite stays.

    Examples:
        >>> int(np.argmin([0.3, 0.3 - 1e-16])), int(np.argmin(settled([0.3, 0.3 - 1e-16])))
        (1, 0)
        >>> settled([0.1 + 0.2, 1e-17, 1234.5678901234, np.inf]).tolist()
        [0.3, 0.0, 1234.56789, inf]
    """
    numbers = as_floats(values)
    size = np.abs(numbers)
    rounds = np.isfinite(numbers) & (size >= _NOTHING)
    magnitudes = np.log10(size, where=rounds, out=np.zeros_like(size))
    decimals = _DIGITS - 1 - np.floor(magnitudes)
    # A power of ten below 1 is not exact: divide by what is.
    up = 10.0 ** np.maximum(decimals, 0.0)
    down = 10.0 ** np.maximum(-decimals, 0.0)
    whole_numbers = np.round(numbers * up / down)
    rounded = whole_numbers * down / up
    others = np.where(size < _NOTHING, 0.0, numbers)
    return np.where(rounds, rounded, others)


def sums_by(groups: IntArray, values: Float64Array, count: int) -> Float64Array:
    """Return the sum of the values in each group.

    One value after the other is added to its group's sum, as `np.add.at` does, so that sums do not
    depend on how they are taken: of one column by `bincount`, of more group by group where each
    group's rows follow one another, otherwise as a product with the table of who is in which group.

    Args:
        groups: Group of each row, from 0, shape (n,).
        values: Shape (n,) or (n, d).
        count: Number of groups.

    Returns:
        Shape (count,) or (count, d); 0 for a group without rows.
    """
    if values.ndim == 1:
        of_column = np.bincount(groups, weights=values, minlength=count)
        return of_column.astype(np.float64)
    if values.shape[1] == 1:
        of_only_column = sums_by(groups, values[:, 0], count)
        return of_only_column[:, None]
    rows = len(groups)
    if (groups[1:] >= groups[:-1]).all():
        return _sums_of_runs(groups, np.ascontiguousarray(values), count)
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=count)
    ends = np.cumsum(sizes)
    bounds = np.concatenate([[0], ends])
    ones = np.ones(rows)
    membership = scipy.sparse.csr_matrix((ones, order, bounds), shape=(count, rows))
    sums: Float64Array = membership @ values
    return sums


def _sums_of_runs(groups: IntArray, values: Float64Array, count: int) -> Float64Array:
    """Return the sums of groups whose rows follow one another, shape (count, d).

    Numpy adds up the first axis of a contiguous array row by row.
    """
    sums = np.zeros((count, values.shape[1]))
    starts = np.searchsorted(groups, np.arange(count + 1))
    for group in np.flatnonzero(np.diff(starts)):
        sums[group] += values[starts[group] : starts[group + 1]].sum(axis=0)
    return sums
