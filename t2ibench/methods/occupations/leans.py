"""The leans of stimuli to the groups of a pair, and the scores of the task that sum them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core import lean_controls
from t2ibench.methods.core.controls import Control
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.lean_scores import (
    UNBOUNDED,
    contrast_score,
    noise,
    of_ratio,
    over_stimuli,
    row_scores,
)
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.occupations.design import GroupPair, group_prompts, neutral_prompts
from t2ibench.methods.occupations.images import StimulusImages
from t2ibench.methods.occupations.labour import share_columns
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.stats.student import t_interval, t_test

_FEWEST_FIXED, _FEWEST_RANDOM = 3, 4  # stimuli for a slope


@dataclass(frozen=True, slots=True)
class PairLeans:
    """The leans of every stimulus with one pair of groups.

    Attributes:
        pair: The groups.
        leans: The leans; a positive one is towards the first group.
        in_text: The leans of the prompts' texts, shape (stimuli,); nan where the texts do not
            differ by group.
        reference: 2 P - 1 of the known share P of the first group, shape (stimuli,); nan where it
            is not known. None without a reference for this pair.
        gate: Whether the encoder tells the groups apart.
        known_group: The group that the reference has the shares of; '' without one.
    """

    pair: GroupPair
    leans: Leans
    in_text: Float64Array
    reference: Float64Array | None
    gate: Control
    known_group: str = ""

    @property
    def known_sign(self) -> float:
        """1 where positive leans are towards the group of the reference, -1 where negative are."""
        return 1.0 if self.known_group == self.pair.first.name else -1.0


def pair_leans(
    task: OccupationsTask, pair: GroupPair, images: Sequence[StimulusImages], evidence: Evidence
) -> PairLeans | str:
    """Measure the leans with one pair of groups."""
    names = [one.name for one in images]
    leans = Leans.of(names, [one.marked(pair) for one in images])
    if isinstance(leans, str):
        return leans
    sides = [
        np.array([evidence.texts(prompts).mean(axis=0) for prompts in lists])
        for lists in (
            [neutral_prompts(task, name) for name in names],
            [group_prompts(task, name, pair.first) for name in names],
            [group_prompts(task, name, pair.second) for name in names],
        )
    ]
    top, bottom = lean_controls.text_leans(*sides)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_text = np.where(bottom > 0, top / bottom, np.nan)
    gate = lean_controls.separation(leans, pair.first.name, pair.second.name)
    known = task.reference.group if task.reference is not None else ""
    return PairLeans(pair, leans, in_text, _known_leans(task, pair, names), gate, known)


def _known_leans(
    task: OccupationsTask, pair: GroupPair, names: Sequence[str]
) -> Float64Array | None:
    reference = task.reference
    if reference is None or len(task.groups) > 2:
        return None  # of three groups, one share does not say what is left of the other two
    shares = np.array([reference.shares.get(name, np.nan) for name in names])
    return (2 * shares - 1) * (1.0 if reference.group == pair.first.name else -1.0)


def pair_rows(found: PairLeans, level: float) -> list[dict[str, Estimate]]:
    """The scores of every stimulus, with the pair's suffix."""
    leans, suffix = found.leans, found.pair.suffix
    columns = {"lean": row_scores(leans, level)}
    if leans.wordings is not None:
        columns["lean_these_wordings"] = row_scores(leans, level, wordings=False)
    columns["amplification"] = _beyond(leans, found.in_text, level)
    if found.reference is not None:
        columns["beyond_reference"] = _beyond(leans, found.reference, level)
        columns |= share_columns(leans, found.known_group, found.known_sign, found.reference, level)
    if found.gate.contradicts is not None:
        columns = {
            name: [_undecided(estimate, found.gate.contradicts) for estimate in column]
            for name, column in columns.items()
        }
    columns["lean_text"] = [
        Estimate(float(value), reason="the texts of the groups do not differ")
        for value in found.in_text
    ]
    return [
        {f"{name}{suffix}": column[number] for name, column in columns.items()}
        for number in range(len(leans.names))
    ]


def _undecided(estimate: Estimate, reason: str) -> Estimate:
    return Estimate(None, p=estimate.p, test=estimate.test, reason=reason)


def _beyond(leans: Leans, points: Float64Array, level: float) -> list[Estimate]:
    """How much further than a point each stimulus leans, in the point's own direction."""
    known = np.nan_to_num(points)
    found = leans.rows(level, known)
    scores = []
    for number, point in enumerate(points):
        if not np.isfinite(point) or point == 0:
            reason = "there is no direction to go further in"
            scores.append(Estimate.undefined(reason))
            continue
        scores.append(_signed(of_ratio(found, (number,)), float(np.sign(point))))
    return scores


def _signed(estimate: Estimate, sign: float) -> Estimate:
    if sign > 0 or estimate.value is None:
        return estimate
    low, high = estimate.interval or (None, None)
    interval = None if low is None or high is None else (-high, -low)
    return replace(estimate, value=-estimate.value, interval=interval)


def pair_scores(found: PairLeans, level: float) -> dict[str, Estimate]:
    """The scores of the task, with the pair's suffix."""
    leans = found.leans
    each = np.full(len(leans.names), 1.0 / len(leans.names))
    scores = {
        "lean_mean": contrast_score(leans, each, each, level),
        "lean_mean_like_these": _mean_over_stimuli(leans, level),
        "amplification_mean": _mean_beyond(leans, found.in_text, level),
    }
    if found.reference is not None:
        scores["beyond_reference_mean"] = _mean_beyond(leans, found.reference, level)
        scores |= _slopes(leans, found.reference, level)
    if found.gate.contradicts is not None:
        scores = {
            name: _undecided(estimate, found.gate.contradicts) for name, estimate in scores.items()
        }
    return {f"{name}{found.pair.suffix}": estimate for name, estimate in scores.items()}


def _mean_over_stimuli(leans: Leans, level: float) -> Estimate:
    numbers = np.arange(len(leans.names))
    found = over_stimuli(leans.top, leans.bottom, [("stimuli", numbers, numbers)], level)
    return Estimate(
        found.value / noise(leans),
        p=found.inference.p,
        test="t",
        interval=found.inference.interval,
        influence=found.influence,
    )


def _mean_beyond(leans: Leans, points: Float64Array, level: float) -> Estimate:
    """Mean over stimuli of how much further than a point they lean, in its direction."""
    known = np.isfinite(points) & (points != 0)
    count = int(known.sum())
    if count == 0:
        return Estimate.undefined("there is no direction to go further in")
    signs = np.where(known, np.sign(np.nan_to_num(points)), 0.0)
    less = signs * np.nan_to_num(points) / count
    return contrast_score(leans, signs / count, known / count, level, less)


def _slopes(leans: Leans, reference: Float64Array, level: float) -> dict[str, Estimate]:
    """Slope of the leans on the reference's, for these stimuli and for others like them.

    Where lean_j = α + β x_j, N_j = α D_j + β x_j D_j. Centred at the mean of x with the weights D,
    Σ c N / Σ c x D is β whatever the D_j are: least squares with these weights.
    """
    known = np.isfinite(reference)
    x, d, n = reference[known], leans.bottom[known], leans.top[known]
    count = len(x)
    if count < _FEWEST_FIXED or not np.ptp(x) > 0 or not d.sum() > 0:
        nothing = Estimate.undefined("fewer than three stimuli have different reference shares")
        return {"slope": nothing, "slope_like_these": nothing}
    centred = x - (x @ d) / d.sum()
    scale = float(centred @ (x * d))
    if not scale > 0:
        nothing = Estimate.undefined(UNBOUNDED)
        return {"slope": nothing, "slope_like_these": nothing}
    value = float(centred @ n) / scale
    intercept = float(n.sum() - value * (x @ d)) / float(d.sum())
    weights, below = np.zeros(len(reference)), np.zeros(len(reference))
    weights[known], below[known] = centred, centred * x
    fixed = contrast_score(leans, weights, below, level, intercept * weights)
    random = Estimate.undefined("fewer than four stimuli have a reference share")
    if count >= _FEWEST_RANDOM:
        residuals = n - intercept * d - value * x * d
        leverage = d / d.sum() + centred**2 * d / scale
        random = _robust_slope(
            value / noise(leans), centred / scale * residuals / (1 - leverage), level
        )
    return {"slope": fixed, "slope_like_these": random}


def _robust_slope(value: float, moved: Float64Array, level: float) -> Estimate:
    """A slope with the variance HC3 (MacKinnon and White 1985) and t(k - 2)."""
    df, variance = len(moved) - 2, float(moved @ moved)
    if not (np.isfinite(variance) and variance > 0):
        return Estimate(value)
    interval = t_interval(value, variance, df, level)
    return Estimate(value, p=t_test(value, variance, df), test="t", interval=interval)
