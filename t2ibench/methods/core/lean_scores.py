"""Leans as scores: with intervals, p-values and influences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.leans import BOTTOM, TOP, Leans
from t2ibench.stats.student import Ratio, fieller

UNBOUNDED = "the images with either attribute are too alike for an interval"


def bounded(low: float, high: float, p: float, df: float | None = None) -> Inference:
    """An inference from Fieller's set.

    Examples:
        >>> bounded(-np.inf, np.inf, 0.5).reason
        'the images with either attribute are too alike for an interval'
    """
    known = float(p) if np.isfinite(p) else None
    if known is None:
        return Inference(reason="a single unit has no variance")
    if not np.isfinite([low, high]).all():
        return Inference(p=known, df=df, reason=UNBOUNDED)
    return Inference(float(low), float(high), known, df)


@dataclass(frozen=True, slots=True)
class OverStimuli:
    """A ratio of means over stimuli, where other stimuli are possible.

    Attributes:
        value: The ratio.
        inference: Its interval and p-value.
        influence: How each stimulus moves it.
        half_width: Of the interval that a ratio of 0 would have.
    """

    value: float
    inference: Inference
    influence: Influence
    half_width: float


def over_stimuli(
    top: Float64Array,
    bottom: Float64Array,
    groups: Sequence[tuple[str, IntArray, IntArray]],
    level: float,
) -> OverStimuli:
    """The sum over groups of the mean of N, over that of D; stimuli are exchangeable in a group.

    With W_i(t) = N_i - t D_i, Fieller's set holds every t where the sum of W's means is within
    Student's t times its standard error, from W's variance in each group; the degrees of freedom
    are the number of stimuli less that of groups.

    Args:
        top: N, with its sign, shape (stimuli,).
        bottom: D, shape (stimuli,).
        groups: Name, positions in `top`, and numbers of the stimuli of each group.
        level: Confidence level, in (0, 1).

    Returns:
        The ratio.

    Examples:
        Two groups of two, all of the same D:

        >>> n, d = np.array([3.0, 5.0, 1.0, 3.0]), np.full(4, 4.0)
        >>> two = [("X", np.arange(2), np.arange(2)), ("Y", np.arange(2, 4), np.arange(2))]
        >>> found = over_stimuli(n, d, two, 0.95)
        >>> found.value, found.inference.df
        (0.75, 2.0)
    """
    sums = np.array([sum(x[at].mean() for _, at, _ in groups) for x in (top, bottom)])
    df = float(len(top) - len(groups))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(sums[0] / sums[1])
    if min(len(at) for _, at, _ in groups) < 2:
        reason = "a single stimulus does not show how others would differ"
        return OverStimuli(value, Inference(reason=reason), Influence.none(), float("nan"))
    covariance = np.sum([np.cov(top[at], bottom[at]) / len(at) for _, at, _ in groups], axis=0)
    low, high, p = fieller(float(sums[0]), float(sums[1]), covariance, df, level)
    moved = top - value * bottom
    influence = Influence.combined(
        [(1.0 / sums[1], Influence.of_mean(name, units, moved[at])) for name, at, units in groups]
    )
    half = float(stdtrit(df, (1 + level) / 2) * np.sqrt(covariance[0, 0]) / abs(sums[1]))
    return OverStimuli(value, bounded(low, high, p, df), influence, half)


def of_ratio(
    found: Ratio, index: tuple[int, ...] = (), influence: Influence | None = None
) -> Estimate:
    """One of a batch of ratios as a score."""
    value, low, high, p = (
        float(array[index]) for array in (found.value, found.low, found.high, found.p)
    )
    if np.isfinite(p) and not np.isfinite([low, high]).all():
        return Estimate(None, p=p, test="t", reason=UNBOUNDED)
    interval = (low, high) if np.isfinite([low, high]).all() else None
    return Estimate(value, p=p, test="t", interval=interval, influence=influence)


def row_scores(leans: Leans, level: float, *, wordings: bool = True) -> list[Estimate]:
    """The lean of each stimulus as a score."""
    found = leans.rows(level, wordings=wordings)
    scores = []
    for number, (lean, d) in enumerate(zip(found.value, found.bottom, strict=True)):
        influence = leans.influence(number, 1 / d, lean / d, wordings=wordings)
        floor = found.variance[number] / d**2 if np.isfinite(influence.variance) else 0.0
        scores.append(of_ratio(found, (number,), influence.with_floor(float(floor))))
    return scores


def contrast_score(
    leans: Leans,
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    level: float,
    less: npt.ArrayLike = 0.0,
) -> Estimate:
    """(Σ w N - Σ l D) / Σ u D over fixed stimuli as a score; see `Leans.contrast`.

    Args:
        leans: The leans.
        top: Weights w of N, shape (stimuli,).
        bottom: Weights u of D, shape (stimuli,).
        level: Confidence level, in (0, 1).
        less: Weights l of what is subtracted, shape () or (stimuli,).

    Returns:
        The score, with the influence of every image; Σ w N / Σ u D is corrected for the noise of D.
    """
    w, u = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    subtracted = np.broadcast_to(np.asarray(less, np.float64), w.shape)
    found = leans.contrast(w, u, level, subtracted)
    d, t = float(found.bottom), float(found.value)
    moved = subtracted + t * u
    influence = Influence.combined(
        [(1.0, leans.influence(j, w[j] / d, moved[j] / d)) for j in range(len(w))]
    )
    score = of_ratio(found, (), influence)
    if score.value is None:
        return score
    below = float(subtracted @ leans.bottom) / d
    return replace(score, value=(t + below) / noise(leans) - below)


def noise(leans: Leans) -> float:
    """The factor by which the noise of D enlarges a ratio of sums: 1 + 1 / z²."""
    return 1.0 + 1.0 / leans.separation**2


def positions(leans: Leans) -> list[list[Float64Array]]:
    """Where each image without an attribute lies: 1 at the mean of A's images, -1 at B's.

    Args:
        leans: The leans.

    Returns:
        For each stimulus and wording an array of shape (its images,), (2 x - a - b) / D.
    """
    middle = leans.means @ (TOP * np.array([0.0, 1.0, 1.0]))
    bottom = leans.means @ BOTTOM
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            [(2 * (one.neutral.embeddings @ direction) + mid) / d for one in wordings]
            for wordings, direction, mid, d in zip(
                leans.images, leans.directions, middle, bottom, strict=True
            )
        ]
