"""Agreement of scores with people's ratings (Wang et al. 2023, section 5.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats


@dataclass(frozen=True, slots=True)
class Agreement:
    """Kendall's rank correlation.

    Attributes:
        tau: tau-b, from -1 to 1; nan where one column does not vary.
        p: Two-sided p-value.
        n: Pairs of values used.
    """

    tau: float
    p: float
    n: int


def kendall_tau(scores: npt.ArrayLike, ratings: npt.ArrayLike) -> Agreement:
    """Kendall's tau-b between a column of scores and one of ratings; pairs with nan are left out.

    Raises:
        ValueError: the columns differ in length, or fewer than two pairs are left.
    """
    a, b = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two columns of one length are needed, not {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 2:
        raise ValueError("at least two pairs of numbers are needed")
    found = stats.kendalltau(a[both], b[both])
    return Agreement(float(found.statistic), float(found.pvalue), int(both.sum()))
