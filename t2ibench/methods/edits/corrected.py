"""Changes and leans as people would have answered, from their labels of some pairs.

A judge answers about all pairs of a source image and an edit, and people about a random sample of
them, about both images of a pair and without knowing which is which. What the judge gets wrong on
average in the labelled pairs is taken off the change that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.edits.changes import FollowedChange, shows
from t2ibench.methods.edits.gathering import EditedGroup
from t2ibench.methods.edits.mean_change import (
    BOTH_WAYS,
    GroupChanges,
    mean_changes,
)

# The fewest labelled pairs of a group with which its change is corrected.
_FEWEST = 10


def scores_from_labels(
    followed: FollowedChange, groups: Sequence[EditedGroup], level: float
) -> dict[str, Estimate]:
    """Return changes and the lean of an attribute, corrected by people's labels; empty without.

    change = mean over all pairs of the judge's y - x, plus mean over labelled pairs of people's
    y - x less the judge's

    It is unbiased whatever errors the judge makes, where labelled pairs are a random sample. Both
    means share their source images, which count once each.

    Args:
        followed: The changes as the judge sees them.
        groups: What was collected.
        level: Confidence level, in (0, 1).

    Source: Angelopoulos et al. 2023, "Prediction-powered inference", with the weight 1; Neyman 1938
        for double sampling.
    """
    errors = {
        group.name: _errors_of_judge(followed, group)
        for group in groups
        if group.name in followed.by_group
    }
    if not any(changes.pairs for changes in errors.values()):
        return {}
    judged = followed.changes(level)
    corrections = mean_changes(list(errors.values()), BOTH_WAYS, level)
    scores: dict[str, Estimate] = {}
    corrected: dict[str, Estimate] = {}
    for name, correction in zip(errors, corrections, strict=True):
        pairs = errors[name].pairs
        scores[join_score_name("labelled_pairs", name)] = Estimate(float(pairs))
        corrected[name] = _sum(judged[name], correction, pairs, level)
        scores[join_score_name("change_corrected", name)] = corrected[name]
    first, second = (corrected[name] for name in followed.between)
    scores["lean_corrected"] = _difference(first, second, followed.sign, level)
    return scores


def _errors_of_judge(followed: FollowedChange, group: EditedGroup) -> GroupChanges:
    """Return people's change less the judge's of each labelled pair, NaN of the others.

    Edits are taken together: a sample of a few pairs need not have one of each.
    """
    attribute = followed.attribute
    name = attribute.full_name
    shown = attribute.followed_class(group.name)
    judged = followed.by_group[group.name].values
    n_sources = len(judged)
    people = np.full(judged.shape, np.nan)
    if name in group.labels:
        before = np.array(shows(group.labels[name], shown, attribute.classes))
        for number, edit in enumerate(followed.edits):
            after = [
                shows(
                    images.labels.get(name, (None,) * images.images),
                    shown,
                    attribute.classes,
                )
                for images in group.edits[edit]
            ]
            people[:, number] = np.array(after) - before[:, None]
    errors: Float64Array = (people - judged).reshape(n_sources, 1, -1)
    return GroupChanges(group.name, group.numbers, errors)


def _sum(judged: Estimate, correction: Estimate, pairs: int, level: float) -> Estimate:
    """Return a judge's change with what it gets wrong taken off."""
    if pairs < _FEWEST or correction.value is None or correction.influence is None:
        reason = f"{pairs} labelled pairs; at least {_FEWEST} are needed"
        return Estimate.undefined(reason)
    if judged.value is None or judged.influence is None:
        return Estimate.undefined(judged.reason or "the judge saw no pair")
    influence = Influence.combined(
        [(1.0, judged.influence), (1.0, correction.influence)]
    )
    estimate = Estimate.from_influence(
        judged.value + correction.value, influence, level
    )
    return Estimate(estimate.value, interval=estimate.interval, influence=influence)


def _difference(
    first: Estimate, second: Estimate, sign: float, level: float
) -> Estimate:
    """Return the corrected lean, the difference between the corrected changes of two groups."""
    if first.value is None or second.value is None:
        return Estimate.undefined(first.reason or second.reason or "there is no change")
    assert first.influence is not None and second.influence is not None
    influence = Influence.combined([(sign, first.influence), (-sign, second.influence)])
    value = sign * (first.value - second.value)
    estimate = Estimate.from_influence(value, influence, level)
    return Estimate(estimate.value, interval=estimate.interval, influence=influence)
