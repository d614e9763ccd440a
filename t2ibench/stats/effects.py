"""Dominance of one sample over another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array
from t2ibench.stats.moments import rank_dominance


def cliffs_delta(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Cliff's delta: how much more often X exceeds Y than the reverse.

    δ = (#{x > y} − #{x < y}) / (n m) over all pairs. (δ + 1) / 2 is the area under the ROC curve.

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.

    Returns:
        δ, from −1 (all of X below all of Y) to 1.

    Source: Cliff 1993, Psychological Bulletin 114:494.

    Example:
        Pairs: 2 > 1, 2 < 3, 4 > 1, 4 > 3: three wins and one loss of four.

        >>> cliffs_delta([2, 4], [1, 3])
        0.5
    """
    n, m = len(np.asarray(x)), len(np.asarray(y))
    ranks = scipy.stats.rankdata(np.concatenate([np.asarray(x, float), np.asarray(y, float)]))
    return float(rank_dominance(ranks[:n].sum(), n, m))


def placements(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Float64Array, Float64Array]:
    """How each value of one sample dominates the other sample.

    V_i = mean over j of sign(x_i − y_j), W_j = mean over i of sign(x_i − y_j)

    Both have mean δ, and Var(δ) is about s²(V) / n + s²(W) / m.

    Args:
        x: Shape (n,), n ≥ 1.
        y: Shape (m,), m ≥ 1.

    Returns:
        V of shape (n,) and W of shape (m,), in [−1, 1].

    Source: DeLong, DeLong & Clarke-Pearson 1988, Biometrics 44:837; Cliff 1993.

    Example:
        4 is above 1 and 3; 2 is above 1 and below 3.

        >>> v, w = placements([2, 4], [1, 3])
        >>> v.tolist(), w.tolist()
        ([0.0, 1.0], [1.0, 0.0])
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    signs = np.sign(a[:, None] - b[None, :])
    return signs.mean(axis=1), signs.mean(axis=0)
