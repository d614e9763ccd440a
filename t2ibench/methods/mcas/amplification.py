"""Bias amplification that survives a text association near 0: Fieller sets, and a pooled slope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtr, stdtrit

from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.ratio import ratio_set

_FEWEST_TARGETS = 6  # for a slope with a standard error
_UNBOUNDED = "its set is unbounded: TT does not differ clearly from 0"


def alpha_set(terms: Mapping[str, Estimate], level: float) -> Estimate:
    """The signed (ITP + IT) / (2 TT) of one target with its Fieller set.

    Alpha as published is its absolute value. Positive: images and text lean the same way.
    """
    itp, it, tt = (terms[name] for name in ("itp", "it", "tt"))
    if itp.influence is None or it.influence is None or tt.influence is None or not tt.value:
        return Estimate.undefined(_UNBOUNDED)
    top = ((itp.value or 0.0) + (it.value or 0.0)) / 2.0
    of_top = Influence.combined([(0.5, itp.influence), (0.5, it.influence)])
    found = ratio_set(top, tt.value, of_top, tt.influence, level)
    if np.isnan(found.low):
        return Estimate.undefined("one unit has no variance")
    if not found.bounded:
        return Estimate.undefined(_UNBOUNDED)
    return Estimate(top / tt.value, interval=(found.low, found.high))


def alpha_slope(by: Sequence[Item], level: float) -> Estimate:
    """Amplification over all targets: the slope of (ITP + IT) / 2 on TT.

    Least squares with an intercept, which takes up the distance between images and texts that all
    targets share; HC3 standard errors and Student's t with k - 2 degrees of freedom for k targets.
    Unlike a mean of ratios it does not explode where a TT is near 0.
    """
    names = ("itp", "it", "tt")
    rows = [[item.scores[name].value for name in names] for item in by]
    itp, it, x = np.array(
        [row for row in rows if None not in row], dtype=np.float64
    ).reshape(-1, 3).T  # fmt: skip
    y, k = (itp + it) / 2.0, len(x)
    centred = x - x.mean() if k else x
    square = float((centred**2).sum())
    if k < _FEWEST_TARGETS or not square > 0:
        return Estimate.undefined(f"a slope needs {_FEWEST_TARGETS} targets of different TT")
    slope = float(centred @ y / square)
    residuals = y - y.mean() - slope * centred
    leverage = 1.0 / k + centred**2 / square
    if not (leverage < 1.0).all():
        return Estimate.undefined("one target alone decides the slope")
    moves = centred * residuals / (1.0 - leverage) / square
    deviation, df = float(np.sqrt((moves**2).sum())), k - 2
    half = float(stdtrit(df, (1 + level) / 2)) * deviation
    p = float(2.0 * stdtr(df, -abs(slope) / deviation)) if deviation else None
    return Estimate(slope, p=p, test="t", interval=(slope - half, slope + half))
