"""Dominance of one sample over another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import stdtrit

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


def delta_interval(
    delta: float, variance: float, n: int, m: int, *, level: float = 0.95, rejected: bool
) -> tuple[float, float]:
    """Interval of Cliff's delta on the scale of its inverse hyperbolic tangent.

    tanh(atanh δ ± t √V / (1 − δ²)), with n + m − 2 degrees of freedom. Where all of one sample
    lies above the other, δ counts as one pair short of that, with the variance it then has. Whether
    0 belongs to the interval is decided by the permutation test: an end on the wrong side of 0 is
    moved to 0, or to half of the step 2 / (n m) in which δ moves.

    Args:
        delta: Cliff's delta, or a mean of several.
        variance: Its variance, from `placements`.
        n: Size of one sample, at least 2.
        m: Size of the other.
        level: Confidence level, in (0, 1).
        rejected: Whether a two-sided test at 1 − level rejects δ = 0.

    Returns:
        Lower and upper end, in [−1, 1].

    Source: Newcombe 2006, Statistics in Medicine 25:559 (the scale).

    Example:
        atanh .5 ± 2.101 √.04 / .75 = .549 ± .560; the test rejects, so the lower end, −.011, is
        moved to half a step.

        >>> low, high = delta_interval(0.5, 0.04, 10, 10, rejected=True)
        >>> round(low, 3), round(high, 3)
        (0.01, 0.804)
        >>> delta_interval(0.5, 0.09, 10, 10, rejected=False)[0] < 0
        True
    """
    step = 2.0 / (n * m)
    inside = float(np.clip(delta, step - 1.0, 1.0 - step))
    # One pair the other way round: the placements of one value on either side differ by a step.
    spread = np.sqrt(max(variance, 2.0 * step**2)) / (1.0 - inside**2)
    half = float(stdtrit(n + m - 2, (1.0 + level) / 2) * spread)
    low, high = np.tanh(np.arctanh(inside) - half), np.tanh(np.arctanh(inside) + half)
    low = -1.0 if delta <= step - 1.0 else float(low)
    high = 1.0 if delta >= 1.0 - step else float(high)
    if not rejected:
        return min(low, 0.0), max(high, 0.0)
    return (max(low, step / 2), high) if delta > 0 else (low, min(high, -step / 2))
