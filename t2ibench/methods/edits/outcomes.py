"""What became of the requested edits: edited, not edited, refused, by group.

Whether an edit was made is answered by its question, where it has one. Otherwise an edit counts as
not made where the image stays: where it is no farther from its source image than 19 of 20 images
are that the model was asked to leave as they are. That measure has a bias: it misses one in twenty
images that stay, and takes an edit for none that is smaller than what the model changes anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.edit_report import ALL_EDITS, EditOutcomes
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.edits.gathering import NO_SOURCE, EditedGroup, EditedImages
from t2ibench.methods.edits.mean_change import (
    SHARE,
    GroupChanges,
    difference_of_changes,
    mean_changes,
)
from t2ibench.methods.edits.schema import NO_CHANGE, Edit, EditsTask

EDITED = "edited"
NOT_EDITED = "not edited"
UNCLEAR = "unclear"
NEAR = "near the source"
# Outcomes of images that do not exist, because the model would not make them.
REFUSED = "refused"
_REFUSALS = ("refused", "filtered")
# Share of the images without a change that are nearer than the threshold.
_NEARER = 0.95
_FEWEST = 10
# Distances that differ by less are equal but for rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class OutcomeTest:
    """How often an outcome occurs in the groups, and how that differs.

    Attributes:
        outcome: Such as 'refused'.
        shares: Share of each group.
        difference: Share of the first compared group less that of the second.
        images: Images that count.
    """

    outcome: str
    shares: dict[str, Estimate]
    difference: Estimate
    images: int


def distance_threshold(groups: Sequence[EditedGroup]) -> float | None:
    """Return the distance below which images count as near their source image.

    It is the quantile of images of all groups that the model was asked to leave as they are; None
    with fewer than ten of them.
    """
    measured: list[float] = []
    for group in groups:
        for images in group.edits.get(NO_CHANGE, ()):
            measured += images.distances[np.isfinite(images.distances)].tolist()
    if len(measured) < _FEWEST:
        return None
    return float(np.quantile(measured, _NEARER, method="higher")) + _ROUNDING


def outcome_tests(
    task: EditsTask,
    groups: Sequence[EditedGroup],
    edits: Sequence[Edit],
    threshold: float | None,
    level: float,
) -> list[OutcomeTest]:
    """Return how outcomes of all edits together differ between the groups.

    Outcomes that occur in no group are left out: nothing is tested about them.
    """
    asked = [edit for edit in edits if edit.question is not None]
    by_distance = edits if threshold is not None else []
    tests = []
    for outcome, chosen in (
        (NOT_EDITED, asked),
        (NEAR, by_distance),
        (REFUSED, edits),
    ):
        if not chosen:
            continue
        changes = [_shares_of(group, chosen, outcome, threshold) for group in groups]
        if not any(np.nansum(change.values) for change in changes):
            continue
        by_name = {change.group: change for change in changes}
        first, second = (by_name[name] for name in task.compared_groups)
        shares = mean_changes(changes, SHARE, level)
        test = OutcomeTest(
            outcome=outcome,
            shares=dict(zip(by_name, shares, strict=True)),
            difference=difference_of_changes(first, second, SHARE, level),
            images=sum(change.pairs for change in changes),
        )
        tests.append(test)
    return tests


def _shares_of(
    group: EditedGroup, edits: Sequence[Edit], outcome: str, threshold: float | None
) -> GroupChanges:
    """Return which images of a group have an outcome: 1, 0, or NaN where it is not known."""
    values = np.full((len(group.sources), len(edits), 1), np.nan)
    for column, edit in enumerate(edits):
        for row, images in enumerate(group.edits[edit.name]):
            counts = outcomes_of(images, edit, threshold)
            values[row, column, 0] = _share(counts, outcome)
    return GroupChanges(group.name, group.numbers, values)


def _share(counts: EditOutcomes, outcome: str) -> float:
    """Return the share of the images of an edit of one source image that have an outcome."""
    if outcome == NEAR:
        return _ratio(counts.near, counts.measured)
    if outcome == NOT_EDITED:
        return _ratio(counts.not_edited, counts.edited + counts.not_edited)
    refused = sum(counts.excluded.get(reason, 0) for reason in _REFUSALS)
    unknown = sum(counts.excluded.values()) - refused
    return _ratio(refused, counts.requested - unknown)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def outcomes_of(
    images: EditedImages, edit: Edit, threshold: float | None, group: str = ""
) -> EditOutcomes:
    """Return what became of one edit of one source image."""
    is_source_missing = images.excluded[NO_SOURCE] > 0
    excluded = Counter(images.excluded)
    del excluded[NO_SOURCE]
    measured = images.distances[np.isfinite(images.distances)]
    near = 0
    if threshold is not None:
        near = int((measured <= threshold).sum())
    if edit.question is not None:
        edited = sum(answer == edit.classes[0] for answer in images.made)
        answered = [answer for answer in images.made if answer not in (None, UNKNOWN)]
        not_edited = len(answered) - edited
    elif threshold is not None:
        edited = len(measured) - near
        not_edited = near
    else:
        edited = not_edited = 0
    existing = images.images - images.missing
    return EditOutcomes(
        edit=edit.name,
        group=group,
        requested=0 if is_source_missing else images.images,
        edited=edited,
        not_edited=not_edited,
        unclear=max(0, existing - edited - not_edited),
        excluded={reason: count for reason, count in sorted(excluded.items()) if count},
        near=near,
        measured=len(measured),
    )


def outcome_rows(
    groups: Sequence[EditedGroup],
    edits: Sequence[Edit],
    measured: Sequence[str],
    threshold: float | None,
) -> list[EditOutcomes]:
    """Return the outcomes of every edit and of all measured edits together, by group.

    Args:
        groups: The groups.
        edits: All edits with the controls.
        measured: Names of the edits without the controls.
        threshold: Distance up to which an image is near its source image.
    """
    rows = []
    for group in groups:
        totals = []
        for edit in edits:
            total = EditOutcomes(edit.name, group.name)
            for images in group.edits[edit.name]:
                total = _sum(total, outcomes_of(images, edit, threshold))
            totals.append(total)
        whole = EditOutcomes(ALL_EDITS, group.name)
        for total in totals:
            if total.edit in measured:
                whole = _sum(whole, total)
        rows += [whole, *totals]
    return rows


def _sum(total: EditOutcomes, more: EditOutcomes) -> EditOutcomes:
    """Return the sum of two counts of outcomes, named as the first."""
    excluded = Counter(total.excluded)
    excluded.update(more.excluded)
    return EditOutcomes(
        edit=total.edit,
        group=total.group,
        requested=total.requested + more.requested,
        edited=total.edited + more.edited,
        not_edited=total.not_edited + more.not_edited,
        unclear=total.unclear + more.unclear,
        excluded=dict(excluded),
        near=total.near + more.near,
        measured=total.measured + more.measured,
    )
