"""Effect sizes, in all conventions the papers use."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

FloatArray = npt.NDArray[np.float64]


def _pair(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _over(difference: float, spread: float) -> float:
    return difference / spread if spread > 0 else math.nan


def cohens_d(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Difference of means over the pooled within-group SD (T2IAT, eq. 4). nan without spread."""
    a, b = _pair(x, y)
    freedom = len(a) + len(b) - 2
    if freedom < 1:
        return math.nan
    squares = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
    return _over(float(a.mean() - b.mean()), math.sqrt(float(squares) / freedom))


def hedges_g(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Cohen's d without its small-sample bias (Hedges 1981, exact factor)."""
    a, b = _pair(x, y)
    freedom = len(a) + len(b) - 2
    if freedom < 2:
        return math.nan
    factor = math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)) / math.sqrt(
        freedom / 2
    )
    return factor * cohens_d(a, b)


def glass_delta(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Difference of means over the SD of the second group (ddof 1)."""
    a, b = _pair(x, y)
    return _over(float(a.mean() - b.mean()), float(b.std(ddof=1)) if len(b) > 1 else 0.0)


def weat_effect_size(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Difference of means over the SD of both groups together, ddof 1 (Caliskan et al. 2017)."""
    a, b = _pair(x, y)
    return _over(float(a.mean() - b.mean()), float(np.concatenate([a, b]).std(ddof=1)))


def t2iat_code_effect_size(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """As `weat_effect_size` with ddof 0, as T2IAT's public code has it."""
    a, b = _pair(x, y)
    return _over(float(a.mean() - b.mean()), float(np.concatenate([a, b]).std()))


def auc(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """P(X > Y) + P(X = Y) / 2."""
    a, b = _pair(x, y)
    ranks = stats.rankdata(np.concatenate([a, b]))
    wins = ranks[: len(a)].sum() - len(a) * (len(a) + 1) / 2
    return float(wins / (len(a) * len(b)))


def cliffs_delta(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """P(X > Y) - P(X < Y), from -1 to 1 (Cliff 1993)."""
    return 2 * auc(x, y) - 1


def two_p_minus_one(values: npt.ArrayLike) -> float:
    """2 P(value > 0) - 1, a zero counting half."""
    return float(np.sign(np.asarray(values, dtype=np.float64)).mean())


def ks_distance(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Two-sample Kolmogorov-Smirnov distance D."""
    a, b = _pair(x, y)
    return float(stats.ks_2samp(a, b).statistic)
