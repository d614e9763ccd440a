"""A row of the result: the scores of one prompt along one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.answer_counts import CountedAttribute, CountedPrompt
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import UNSEEN
from t2ibench.methods.tibet.axis_shares import AxisShares, axis_shares
from t2ibench.methods.tibet.image_sets import ImageSet, PromptSets
from t2ibench.methods.tibet.obedience import Obedience, obedience
from t2ibench.methods.tibet.published import MAD, published_scores
from t2ibench.methods.tibet.schema import Axis, TibetPrompt, TibetTask, questions_of
from t2ibench.methods.tibet.share_estimates import SHARE, share_estimates
from t2ibench.settings import Settings
from t2ibench.stats.rounding import settled

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
    """Return the scores of one prompt along one axis: its shares, and the paper's beside them."""
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
    rng = settings.rng(task.id, f"null {target.prompt} {axis.name}")
    item = Item(
        name=row_name,
        scores=share_estimates(shares, names, settings.level)
        | _published_or_undefined(start, changed, names, settings.n_permutations, rng),
        group=axis.name,
        n_images=len(start) + sum(map(len, changed)),
    )
    return AxisRow(target.prompt, axis, item, shares, obeyed)


def _published_or_undefined(
    start: ImageSet,
    changed: Sequence[ImageSet],
    names: Sequence[str],
    n_draws: int,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """Return the paper's scores; MAD alone, undefined, where a set of images has no answer."""
    without_answers = [part.prompt for part in (start, *changed) if not len(part)]
    if without_answers:
        reason = f"no answered image of: {', '.join(without_answers)}"
        return {MAD: Estimate.undefined(reason)}
    return published_scores(start, changed, names, n_draws, rng)


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
        name.removeprefix(SHARE): float(np.clip(estimate.value, 0, 1))
        for name, estimate in item.scores.items()
        if name.startswith(SHARE) and estimate.value is not None
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
