"""Leans as scores: of each stimulus, and of contrasts over several."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.leans import TOP, Leans
from t2ibench.methods.core.over_stimuli import UNBOUNDED
from t2ibench.stats.student import Ratio


def row_scores(leans: Leans, level: float) -> list[Estimate]:
    """Return the lean of each stimulus as a score with its interval, test and influence."""
    ratios = leans.rows(level)
    null_variances = leans.rows_at_null(level, np.zeros(len(leans.names))).variance
    t = ratios.value
    # The variance of N - t D.
    variances = (
        ratios.variance - 2 * t * ratios.covariance + t**2 * ratios.bottom_variance
    )
    scores = []
    for number, (lean, bottom) in enumerate(zip(t, ratios.bottom, strict=True)):
        weight_of_bottom = lean / bottom * leans.own_share
        influence = leans.influence(number, 1 / bottom, weight_of_bottom)
        floor = 0.0
        null_floor = 0.0
        if np.isfinite(influence.variance):
            floor = float(variances[number] / bottom**2)
            null_floor = float(null_variances[number] / bottom**2)
        score = of_ratio(ratios, (number,), influence.with_floor(floor))
        at_null = influence.with_floor(null_floor)
        scores.append(replace(score, null_influence=at_null))
    return scores


def of_ratio(
    ratios: Ratio, index: tuple[int, ...] = (), influence: Influence | None = None
) -> Estimate:
    """Return the ratio at `index` as a score, without a value if its interval is unbounded."""
    value = float(ratios.value[index])
    low = float(ratios.low[index])
    high = float(ratios.high[index])
    p = float(ratios.p[index])
    is_bounded = bool(np.isfinite([low, high]).all())
    if np.isfinite(p) and not is_bounded:
        return Estimate(None, p=p, test="t", reason=UNBOUNDED)
    interval = (low, high) if is_bounded else None
    return Estimate(value, p=p, test="t", interval=interval, influence=influence)


def contrast_score(
    leans: Leans,
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    level: float,
    less: npt.ArrayLike = 0.0,
) -> Estimate:
    """Return a score: one weighted sum of leans' numerators over another of their denominators.

    It is (Σ w N - Σ l D) / Σ u D over fixed stimuli, with the weights w (`top`), u
    (`bottom`) and l (`less`), corrected for the noise of D.
    """
    w = np.asarray(top, np.float64)
    u = np.asarray(bottom, np.float64)
    subtracted = np.broadcast_to(np.asarray(less, np.float64), w.shape)
    ratios = leans.contrast(w, u, level, subtracted)
    d = float(ratios.bottom)
    t = float(ratios.value)
    moved = subtracted + t * u
    parts = []
    for number in range(len(w)):
        weight_of_top = w[number] / d
        weight_of_bottom = moved[number] / d
        influence = leans.influence(number, weight_of_top, weight_of_bottom)
        parts.append((1.0, influence))
    influence = Influence.combined(parts)
    score = of_ratio(ratios, (), influence)
    if score.value is None:
        return score
    below = float(subtracted @ leans.bottom) / d
    return replace(score, value=(t + below) / noise(leans) - below)


def noise(leans: Leans) -> float:
    """Return the factor by which noise in denominators enlarges a ratio of sums.

    It is 1 + 1 / z², with z the separation of the images with A and with B.
    """
    return 1.0 + 1.0 / leans.separation**2


def positions(leans: Leans) -> list[Float64Array]:
    """Return each neutral image's position, by stimulus: 1 at A's mean image, -1 at B's.

    For each stimulus (2 x - a - b) / D of its images of all wordings.
    """
    # - a - b of each stimulus
    ends = leans.means @ (TOP * np.array([0.0, 1.0, 1.0]))
    places = []
    denominators = leans.denominators
    for number, wordings in enumerate(leans.places):
        along = np.concatenate([neutral.places for neutral, _, _ in wordings])
        with np.errstate(divide="ignore", invalid="ignore"):
            places.append((2 * along + ends[number]) / denominators[number])
    return places
