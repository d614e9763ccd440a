"""The Kolmogorov-Smirnov distance between groups, for many measures of the same items at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_BLOCK_CELLS = 4_000_000


def group_distance(values: npt.ArrayLike, labels: npt.ArrayLike) -> FloatArray:
    """The largest KS distance between any two groups.

    Args:
        values: Shape (m, n), m measures of n items.
        labels: Shape (n,), group of each item, from 0; or (draws, n) for many groupings.

    Returns:
        Shape (m,), or (draws, m).
    """
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    groups = np.asarray(labels, dtype=np.int64)
    many = np.atleast_2d(groups)
    found = np.stack([_distances(row, many) for row in rows], axis=1)
    return found if groups.ndim == 2 else found[0]


def _distances(values: FloatArray, labels: IntArray) -> FloatArray:
    """Shape (draws,)."""
    order = np.argsort(values, kind="stable")
    ends = np.append(np.diff(values[order]) > 0, True)  # equal values step together
    counts = np.bincount(labels[0])
    present = [group for group in range(len(counts)) if counts[group]]
    out = np.zeros(len(labels))
    block = max(1, _BLOCK_CELLS // max(1, len(values) * len(present)))
    for start in range(0, len(labels), block):
        sorted_labels = labels[start : start + block][:, order]
        steps = {
            group: np.cumsum(sorted_labels == group, axis=1)[:, ends] / counts[group]
            for group in present
        }
        for a, b in combinations(present, 2):
            gap = np.abs(steps[a] - steps[b]).max(axis=1)
            out[start : start + block] = np.maximum(out[start : start + block], gap)
    return out


def shuffled_labels(labels: IntArray, n_draws: int, rng: np.random.Generator) -> IntArray:
    """Groupings with the same sizes, shape (n_draws, n)."""
    found: IntArray = rng.permuted(np.tile(labels, (n_draws, 1)), axis=1)
    return found
