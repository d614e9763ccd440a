"""Two-sample statistics written out, beside which the package's fast ones stand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from t2ibench.stats.moments import safe_ratio


def two_sample_statistic(x: npt.ArrayLike, y: npt.ArrayLike, name: str) -> float:
    """One statistic of two observed samples."""
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    union, difference = np.concatenate([a, b]), a.mean() - b.mean()
    within = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
    apart = ((union - union.mean()) ** 2).sum()
    found = {
        "mean_difference": difference,
        "mean_x": a.mean(),
        "mean_y": b.mean(),
        "cohens_d": safe_ratio(difference, np.sqrt(safe_ratio(within, len(union) - 2))),
        "union_d": safe_ratio(difference, np.sqrt(safe_ratio(apart, len(union) - 1))),
        "union_d_ddof0": safe_ratio(difference, np.sqrt(apart / len(union))),
    }
    return float(found[name])
