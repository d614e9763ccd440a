"""A row of the result: the scores of one prompt along one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.answer_counts import CountedAttribute, CountedPrompt
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import UNSEEN
from t2ibench.methods.core.obedience import breakdown
from t2ibench.methods.tibet.axis_shares import AxisShares, axis_shares, nearest_to_even
from t2ibench.methods.tibet.headline import headline_of_axes
from t2ibench.methods.tibet.image_sets import PromptSets
from t2ibench.methods.tibet.obedience import Obedience, obedience
from t2ibench.methods.tibet.published import MAD, published_scores
from t2ibench.methods.tibet.schema import Axis, TibetPrompt, TibetTask, questions_of
from t2ibench.settings import Settings
from t2ibench.stats.rounding import settled

_SHARE = "share:"
# Rows that a warning names.
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class AxisRow:
    """One prompt along one axis.

    Attributes:
        prompt: The prompt.
        axis: The axis.
        item: The row of the result.
        shares: The mixture, or why there is none.
        obeyed: What the answers about the counterfactuals' images name.
    """

    prompt: str
    axis: Axis
    item: Item
    shares: AxisShares | str
    obeyed: Sequence[Obedience]


def row_of(
    task: TibetTask,
    target: TibetPrompt,
    axis: Axis,
    sets: PromptSets,
    settings: Settings,
) -> AxisRow:
    """The scores of one prompt along one axis: its shares, and the paper's beside them."""
    start = sets.sets[target.prompt]
    changed = [sets.sets[other.prompt] for other in axis.counterfactuals]
    names = [counterfactual.name for counterfactual in axis.counterfactuals]
    row_name = f"{target.prompt} | {axis.name}"
    features = [
        sets.features(image_set, questions_of(axis)) for image_set in (start, *changed)
    ]
    obeyed = obedience(axis, sets.names, features[1:])
    n_unseen = sum(start.excluded[reason] for reason in UNSEEN)
    n_unanswered = len(start) - len(features[0].units) + n_unseen
    shares = axis_shares(
        row_name,
        names,
        features,
        [answers.off_target for answers in obeyed],
        n_unanswered,
    )
    scores = share_estimates(shares, names, settings.level)
    without_answers = [part.prompt for part in (start, *changed) if not len(part)]
    if without_answers:
        reason = f"no answered image of: {', '.join(without_answers)}"
        scores[MAD] = Estimate.undefined(reason)
    else:
        rng = settings.rng(task.id, f"null {target.prompt} {axis.name}")
        scores |= published_scores(start, changed, names, settings.n_permutations, rng)
    n_images = len(start) + sum(map(len, changed))
    item = Item(row_name, scores, axis.name, n_images)
    return AxisRow(target.prompt, axis, item, shares, obeyed)


def share_estimates(
    axis: AxisShares | str, names: Sequence[str], level: float
) -> dict[str, Estimate]:
    """The scores of a row that come from its shares.

    Args:
        axis: The mixture, or why there is none.
        names: The counterfactuals' names.
        level: Confidence level, in (0, 1).
    """
    if isinstance(axis, str):
        return _undefined_scores(names, axis)
    if axis.reason:
        return _undefined_scores(names, axis.reason)
    scores = {"squared_lean": _squared_lean(axis, level)}
    for name, weights in zip(names, np.eye(len(names)), strict=True):
        scores[f"{_SHARE}{name}"] = _share(axis, weights, level)
    if len(names) == 2:
        scores["lean"] = _lean(axis, level)
        scores["lean_breakdown"] = breakdown(scores["lean"])
    return scores


def _undefined_scores(names: Sequence[str], reason: str) -> dict[str, Estimate]:
    scores = ["squared_lean", *(f"{_SHARE}{name}" for name in names)]
    if len(names) == 2:
        scores.append("lean")
    return dict.fromkeys(scores, Estimate.undefined(reason))


def _squared_lean(axis: AxisShares, level: float) -> Estimate:
    headline = headline_of_axes([axis], level)
    return Estimate(
        headline.value,
        p=headline.p,
        test="f",
        alternative="greater",
        interval=headline.chosen.interval,
    )


def _share(axis: AxisShares, weights: Float64Array, level: float) -> Estimate:
    """One counterfactual's share; its interval reaches over all mixtures that answers allow."""
    estimates = [
        Estimate.from_influence(
            float(version.mixture.shares @ weights), version.influence(weights), level
        )
        for version in (axis, *axis.alternatives)
    ]
    return replace(estimates[0], p=None, test=None, interval=_hull(estimates))


def _lean(axis: AxisShares, level: float) -> Estimate:
    """The lean to the first of two counterfactuals.

    Its test is that of the mixture nearest to an even one, and its interval reaches over all
    mixtures that the answers allow; it is beside 0 where that of the nearest is.
    """
    versions = [axis, *axis.alternatives]
    if axis.alternatives:
        versions.append(nearest_to_even(axis))
    weights = np.array([1.0, -1.0])
    estimates = [
        Estimate.from_influence(
            float(version.leans[0]), version.influence(weights), level
        )
        for version in versions
    ]
    nearest = estimates[-1]
    low, high = _hull(estimates) or (np.nan, np.nan)
    nearest_low, nearest_high = nearest.interval or (low, high)
    if nearest_low > 0:
        low = nearest_low
    elif nearest_high < 0:
        high = nearest_high
    return replace(estimates[0], p=nearest.p, interval=(low, high))


def _hull(estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """From the least of the lower ends to the largest of the upper ones; None without intervals."""
    intervals = [part.interval for part in estimates if part.interval is not None]
    if not intervals:
        return None
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def counted_shares(rows: Sequence[AxisRow]) -> Iterator[CountedAttribute]:
    """What the images of each prompt look like when nothing is asked for, axis by axis."""
    for axis in dict.fromkeys(row.axis.name for row in rows):
        counted = []
        for row in rows:
            shares = _shares_of_sum_1(row.item)
            if row.axis.name == axis and shares:
                counted.append(CountedPrompt(row.prompt, shares))
        if counted:
            names = [name for prompt in counted for name in prompt.counts]
            classes = tuple(dict.fromkeys(names))
            yield CountedAttribute(axis, classes, tuple(counted), estimated=True)


def _shares_of_sum_1(item: Item) -> dict[str, float]:
    """A row's shares within 0 to 1; empty where it has none."""
    shares = {
        name.removeprefix(_SHARE): float(np.clip(estimate.value, 0, 1))
        for name, estimate in item.scores.items()
        if name.startswith(_SHARE) and estimate.value is not None
    }
    total = sum(shares.values()) or 1.0
    return {name: float(settled(share / total)) for name, share in shares.items()}


def warnings_of(axes: Sequence[AxisShares]) -> list[str]:
    """A warning that names the rows that are not in the headline, although others are."""
    left_out = [axis.name for axis in axes if axis.reason]
    if not left_out or len(left_out) == len(axes):
        return []
    names = [f"'{name}'" for name in left_out[:_MOST_NAMED]]
    if len(left_out) > _MOST_NAMED:
        names.append(f"{len(left_out) - _MOST_NAMED} more")
    return [
        f"{len(left_out)} of {len(axes)} rows are not in the headline, because the answers do not "
        f"tell their counterfactuals apart: {listed(names)}."
    ]
