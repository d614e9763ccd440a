"""Changes and leans as people would have answered, from their labels of some pairs.

A judge answers about all pairs of a source image and an edit, and people about a random sample of
them, about both images of a pair and without being told which is which. What the judge gets wrong
on average in the labelled pairs is taken off the change that it shows.
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
    GroupMean,
    Range,
    estimates_of_means,
)

# The fewest labelled pairs of a group with which its change is corrected.
_FEWEST = 10
# A judge may err about either image of a pair, one way, the other, or, half of the time, neither.
_ERRORS = Range(
    mean=2 * BOTH_WAYS.mean,
    variance=2 * BOTH_WAYS.variance,
    least=2 * BOTH_WAYS.least,
    most=2 * BOTH_WAYS.most,
)
# How far apart the changes of two groups can be.
_FARTHEST = BOTH_WAYS.most - BOTH_WAYS.least


def scores_from_labels(
    followed: FollowedChange, groups: Sequence[EditedGroup], level: float
) -> dict[str, Estimate]:
    """Return changes and the lean of an attribute, corrected by people's labels; empty without.

    change = judge's change + sum over labelled pairs of w e / sum over labelled pairs of w

    where e is people's y - x less the judge's and w = 1 / (number of pairs that the judge answered
    of the same edit), so that each edit counts alike in both parts, however many of its images
    were refused. Where labelled pairs are a random sample of those that the judge answered, it has
    no bias but that of a ratio, whatever errors the judge makes, until it is held within what a
    change can be. Both parts share their source images, which count once each.

    Args:
        followed: The changes as the judge sees them.
        groups: What was collected.
        level: Confidence level, in (0, 1).

    Source: Angelopoulos et al. 2023, "Prediction-powered inference", with the weight 1; Neyman 1938
        for double sampling; Hájek 1971 for the ratio.
    """
    people = [
        _changes_seen_by_people(followed, group)
        for group in groups
        if group.name in followed.by_group
    ]
    chosen = followed.shared_edits
    judged_pairs = [
        followed.by_group[changes.group].of_edits(chosen) for changes in people
    ]
    errors = [
        GroupChanges(seen.group, seen.numbers, seen.values - judged.values)
        for seen, judged in zip(people, judged_pairs, strict=True)
    ]
    if not any(changes.pairs for changes in people):
        return {}
    mean_errors = [
        _mean_error(of_group, judged)
        for of_group, judged in zip(errors, judged_pairs, strict=True)
    ]
    corrections = estimates_of_means(mean_errors, _ERRORS, level)
    changes_by_judge = followed.changes(level)
    scores: dict[str, Estimate] = {}
    corrected: dict[str, Estimate] = {}
    for seen, of_group, correction in zip(people, errors, corrections, strict=True):
        name = seen.group
        pairs = of_group.pairs
        left_out = seen.pairs - pairs
        scores[join_score_name("labelled_pairs", name)] = Estimate(float(pairs))
        scores[join_score_name("labelled_pairs_left_out", name)] = Estimate(
            float(left_out)
        )
        corrected[name] = _sum(changes_by_judge[name], correction, pairs, level)
        scores[join_score_name("change_corrected", name)] = corrected[name]
    first, second = (corrected[name] for name in followed.between)
    scores["lean_corrected"] = _difference(first, second, followed.sign, level)
    return scores


def _changes_seen_by_people(
    followed: FollowedChange, group: EditedGroup
) -> GroupChanges:
    """Return people's change of each labelled pair by the edits that count, NaN of the others."""
    attribute = followed.attribute
    name = attribute.full_name
    shown = attribute.followed_class(group.name)
    values = np.full(followed.by_group[group.name].values.shape, np.nan)
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
            values[:, number] = np.array(after) - before[:, None]
    every_edit = GroupChanges(group.name, group.numbers, values)
    return every_edit.of_edits(followed.shared_edits)


def _mean_error(errors: GroupChanges, judged: GroupChanges) -> GroupMean | None:
    """Return the mean error over labelled pairs, in which every edit counts alike.

    Edits are taken together: a sample of a few pairs need not have one of each.

    Args:
        errors: People's change less the judge's of each labelled pair, NaN of the others.
        judged: The judge's changes of all pairs, by the same edits.

    Returns:
        None with fewer than two labelled source images, or where the judge answered about no pair
        of an edit.
    """
    answered = np.isfinite(judged.values).sum(axis=(0, 2))
    is_labelled = np.isfinite(errors.values)
    counts_once = is_labelled.any(axis=(1, 2))
    n = int(counts_once.sum())
    if n < 2 or not answered.all():
        return None
    present = is_labelled[counts_once]
    weights: Float64Array = np.where(present, 1.0 / answered[:, None], 0.0)
    total = weights.sum()
    values = np.where(present, errors.values[counts_once], 0.0)
    mean = float((weights * values).sum() / total)
    residuals = values - mean
    by_source = n * (weights * residuals).sum(axis=(1, 2)) / total
    return GroupMean(
        group=errors.group,
        value=mean,
        numbers=errors.numbers[counts_once],
        by_source=by_source,
        within=float(n * (weights * residuals**2).sum() / total),
        cells=int(present.sum(axis=(1, 2)).max()),
    )


def _sum(judged: Estimate, correction: Estimate, pairs: int, level: float) -> Estimate:
    """Return a judge's change less its mean error, held inside −1 … 1."""
    if pairs < _FEWEST or correction.value is None or correction.influence is None:
        reason = f"{pairs} labelled pairs; at least {_FEWEST} are needed"
        return Estimate.undefined(reason)
    if judged.value is None or judged.influence is None:
        return Estimate.undefined(judged.reason or "the judge saw no pair")
    influence = Influence.combined(
        [(1.0, judged.influence), (1.0, correction.influence)]
    )
    value = min(max(judged.value + correction.value, BOTH_WAYS.least), BOTH_WAYS.most)
    return _inside(value, influence, (BOTH_WAYS.least, BOTH_WAYS.most), level)


def _difference(
    first: Estimate, second: Estimate, sign: float, level: float
) -> Estimate:
    """Return the corrected lean, the difference between the corrected changes of two groups."""
    if first.value is None or second.value is None:
        return Estimate.undefined(first.reason or second.reason or "there is no change")
    assert first.influence is not None and second.influence is not None
    influence = Influence.combined([(sign, first.influence), (-sign, second.influence)])
    value = sign * (first.value - second.value)
    return _inside(value, influence, (-_FARTHEST, _FARTHEST), level)


def _inside(
    value: float, influence: Influence, ends: tuple[float, float], level: float
) -> Estimate:
    """Return an untested estimate, the interval of which does not go beyond these ends."""
    interval = Estimate.from_influence(value, influence, level).interval or ends
    least, most = ends
    low, high = interval
    inside = (max(low, least), min(high, most))
    return Estimate(value, interval=inside, influence=influence)
