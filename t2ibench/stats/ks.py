"""The Kolmogorov-Smirnov distance between groups, for many measures of the same items at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray

_BLOCK_CELLS = 4_000_000


def group_distance(values: npt.ArrayLike, labels: npt.ArrayLike) -> Float64Array:
    """The largest two-sample Kolmogorov-Smirnov distance between any two groups.

    D = max over groups g, h and values t of |F_g(t) − F_h(t)|, with F the empirical distribution
    functions.

    Args:
        values: Shape (m, n), m measures of n items; (n,) is one measure.
        labels: Shape (n,), group of each item, integers from 0; or (draws, n) for many groupings
            with the same group sizes.

    Returns:
        D, from 0 to 1, shape (m,), or (draws, m).

    Source: Smirnov 1939; the maximum over pairs of groups is ours.

    Example:
        At t = 1 the first group {1, 3} has reached 1/2, the second {2, 4} 0.

        >>> group_distance([[1, 3, 2, 4]], [0, 0, 1, 1]).tolist()
        [0.5]
    """
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    groups = np.asarray(labels, dtype=np.int64)
    groupings = np.atleast_2d(groups)
    distances = np.stack([_distances(row, groupings) for row in rows], axis=1)
    return distances if groups.ndim == 2 else distances[0]


def _distances(values: Float64Array, labels: IntArray) -> Float64Array:
    """Shape (draws,)."""
    order = np.argsort(values, kind="stable")
    ends = np.append(np.diff(values[order]) > 0, True)  # equal values step together
    counts = np.bincount(labels[0])
    present = [group for group in range(len(counts)) if counts[group]]
    distances = np.zeros(len(labels))
    block = max(1, _BLOCK_CELLS // max(1, len(values) * len(present)))
    for start in range(0, len(labels), block):
        rows = slice(start, start + block)
        sorted_labels = labels[rows][:, order]
        steps = {
            group: np.cumsum(sorted_labels == group, axis=1)[:, ends] / counts[group]
            for group in present
        }
        for a, b in combinations(present, 2):
            gap = np.abs(steps[a] - steps[b]).max(axis=1)
            distances[rows] = np.maximum(distances[rows], gap)
    return distances


def shuffled_labels(labels: IntArray, n_draws: int, rng: np.random.Generator) -> IntArray:
    """Random groupings with the same group sizes: each row is a uniform permutation.

    Args:
        labels: Shape (n,), group of each item.
        n_draws: Number of groupings.
        rng: Source of the draws.

    Returns:
        Shape (n_draws, n).

    Source: Fisher-Yates shuffle of each row (numpy.random.Generator.permuted).

    Example:
        >>> groupings = shuffled_labels(np.array([0, 0, 1]), 2, np.random.default_rng(0))
        >>> np.sort(groupings, axis=1).tolist()
        [[0, 0, 1], [0, 0, 1]]
    """
    shuffled: IntArray = rng.permuted(np.tile(labels, (n_draws, 1)), axis=1)
    return shuffled
