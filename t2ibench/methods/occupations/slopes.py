"""The slope of stimuli's leans on the leans that correspond to their known shares."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.lean_scores import contrast_score, noise
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.over_stimuli import UNBOUNDED

# Stimuli that a slope takes: for these stimuli, and for others like them.
_FEWEST_FIXED = 3
_FEWEST_RANDOM = 4


def slopes(leans: Leans, reference: Float64Array, level: float) -> dict[str, Estimate]:
    """Return the slopes of leans on known shares: for these stimuli, and for others like these.

    Where lean_j = α + β x_j, N_j = α D_j + β x_j D_j. Centred at the mean of x with the weights D,
    Σ c N / Σ c x D is β whatever the D_j are: least squares with these weights.
    """
    has_share = np.isfinite(reference)
    x = reference[has_share]
    d = leans.bottom[has_share]
    n = leans.top[has_share]
    count = len(x)
    if count < _FEWEST_FIXED or not np.ptp(x) > 0 or not d.sum() > 0:
        return _undefined("fewer than three stimuli have different reference shares")
    weighted_mean = (x @ d) / d.sum()
    centred = x - weighted_mean
    scale = float(centred @ (x * d))
    if not scale > 0:
        return _undefined(UNBOUNDED)
    slope = float(centred @ n) / scale
    intercept = float(n.sum() - slope * (x @ d)) / float(d.sum())
    weights = np.zeros(len(reference))
    weights[has_share] = centred
    below = np.zeros(len(reference))
    below[has_share] = centred * x
    fixed = contrast_score(leans, weights, below, level, less=intercept * weights)
    random = Estimate.undefined("fewer than four stimuli have a reference share")
    if count >= _FEWEST_RANDOM:
        residuals = n - intercept * d - slope * x * d
        leverage = d / d.sum() + centred**2 * d / scale
        # The variance HC3 (MacKinnon and White 1985), and t(k - 2).
        moved = centred / scale * residuals / (1 - leverage)
        variance = float(moved @ moved)
        value = slope / noise(leans)
        random = Estimate(value)
        if np.isfinite(variance) and variance > 0:
            random = Estimate.from_t(value, variance, count - 2, level)
    return {"slope": fixed, "slope_prompt_population": random}


def _undefined(reason: str) -> dict[str, Estimate]:
    undefined = Estimate.undefined(reason)
    return {"slope": undefined, "slope_prompt_population": undefined}
