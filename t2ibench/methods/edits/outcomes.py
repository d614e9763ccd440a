"""What became of the requested edits: edited, not edited, refused, by group.

Whether an edit was made is answered by its question, where it has one. Otherwise an edit counts as
not made where the image stays: where it is no farther from its source image than 19 of 20 images
are that the model was asked to leave as they are. That measure has a bias: it misses one in twenty
images that stay, and takes an edit for none that is smaller than what the model changes anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.edit_report import ALL_EDITS, REFUSED, EditOutcomes
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import SOURCE
from t2ibench.methods.edits.gathering import (
    EditedGroup,
    EditedImages,
    shown_answers,
)
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
_REFUSALS = ("refused", "filtered")
# Share of the images without a change that are nearer than the threshold.
_NEARER = 0.95
_FEWEST = 10
# Distances that differ by less are equal but for rounding.
_ROUNDING = 1e-6


# Group and edit to what became of the edit of each source image.
OutcomesBySource = Mapping[tuple[str, str], Sequence[EditOutcomes]]


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


def outcomes_by_source(
    groups: Sequence[EditedGroup], edits: Sequence[Edit], threshold: float | None
) -> OutcomesBySource:
    """Return what became of every edit of every source image.

    Args:
        groups: The groups.
        edits: All edits, with the controls.
        threshold: Distance up to which an image is near its source image.
    """
    return {
        (group.name, edit.name): [
            _outcomes(images, edit, group.name, threshold)
            for images in group.edits[edit.name]
        ]
        for group in groups
        for edit in edits
    }


def _outcomes(
    images: EditedImages, edit: Edit, group: str, threshold: float | None
) -> EditOutcomes:
    """Return what became of one edit of one source image."""
    excluded: dict[str, float] = {
        reason: count
        for reason, count in sorted(images.excluded.items())
        if count and reason != SOURCE
    }
    n_measured = int(np.isfinite(images.distances).sum())
    n_near = 0
    if threshold is not None:
        n_near = int((images.distances <= threshold).sum())
    edited = not_edited = 0
    if edit.question is not None:
        answered = shown_answers(images.made)
        edited = answered.count(edit.classes[0])
        not_edited = len(answered) - edited
    elif threshold is not None:
        edited = n_measured - n_near
        not_edited = n_near
    return EditOutcomes(
        edit=edit.name,
        group=group,
        requested=images.images - images.excluded.get(SOURCE, 0),
        edited=edited,
        not_edited=not_edited,
        unclear=max(0, images.existing - edited - not_edited),
        excluded=excluded,
        near=n_near,
        measured=n_measured,
    )


def outcome_tests(
    task: EditsTask,
    groups: Sequence[EditedGroup],
    outcomes: OutcomesBySource,
    edits: Sequence[Edit],
    level: float,
) -> list[OutcomeTest]:
    """Return how outcomes of all measured edits together differ between the groups.

    Outcomes that occur in no group are left out: nothing is tested about them.

    Args:
        task: The task.
        groups: The groups.
        outcomes: What became of every edit.
        edits: The edits without the controls.
        level: Confidence level, in (0, 1).
    """
    asked = [edit for edit in edits if edit.question is not None]
    tests = []
    for outcome, chosen in ((NOT_EDITED, asked), (NEAR, edits), (REFUSED, edits)):
        shares = [_shares_of(group, chosen, outcome, outcomes) for group in groups]
        occurs = any(np.nansum(share.values) > 0 for share in shares)
        if not occurs:
            continue
        by_name = {share.group: share for share in shares}
        first, second = (by_name[name] for name in task.compared_groups)
        means = mean_changes(shares, SHARE, level)
        test = OutcomeTest(
            outcome=outcome,
            shares=dict(zip(by_name, means, strict=True)),
            difference=difference_of_changes(first, second, SHARE, level),
            images=sum(share.pairs for share in shares),
        )
        tests.append(test)
    return tests


def _shares_of(
    group: EditedGroup,
    edits: Sequence[Edit],
    outcome: str,
    outcomes: OutcomesBySource,
) -> GroupChanges:
    """Return how many images of each edit of a source have an outcome; NaN where none is known."""
    by_edit = [
        [
            share_of_outcome(counts, outcome)
            for counts in outcomes[group.name, edit.name]
        ]
        for edit in edits
    ]
    shape = (len(edits), len(group.sources))
    shares = np.array(by_edit, dtype=np.float64).reshape(shape)
    return GroupChanges(group.name, group.numbers, shares.T[:, :, None])


def share_of_outcome(counts: EditOutcomes, outcome: str) -> float:
    """Return the share of images that have an outcome, of those for which it is known."""
    if outcome == NEAR:
        return _ratio(counts.near, counts.measured)
    if outcome == NOT_EDITED:
        return _ratio(counts.not_edited, counts.edited + counts.not_edited)
    refused = sum(counts.excluded.get(reason, 0) for reason in _REFUSALS)
    unknown = sum(counts.excluded.values()) - refused
    return _ratio(refused, counts.requested - unknown)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def outcome_rows(
    groups: Sequence[EditedGroup],
    edits: Sequence[Edit],
    measured: Sequence[str],
    outcomes: OutcomesBySource,
) -> list[EditOutcomes]:
    """Return the outcomes of all measured edits together and of every edit, by group.

    Args:
        groups: The groups.
        edits: All edits with the controls.
        measured: Names of the edits without the controls.
        outcomes: What became of every edit.
    """
    rows = []
    for group in groups:
        of_edits = {
            edit.name: _total(edit.name, group.name, outcomes[group.name, edit.name])
            for edit in edits
        }
        of_measured = [of_edits[name] for name in measured]
        rows.append(_total(ALL_EDITS, group.name, of_measured))
        rows += of_edits.values()
    return rows


def _total(edit: str, group: str, parts: Sequence[EditOutcomes]) -> EditOutcomes:
    """Return the sum of several counts of outcomes."""
    excluded: Counter[str] = Counter()
    for part in parts:
        for reason, count in part.excluded.items():
            excluded[reason] += int(count)
    return EditOutcomes(
        edit=edit,
        group=group,
        requested=sum(part.requested for part in parts),
        edited=sum(part.edited for part in parts),
        not_edited=sum(part.not_edited for part in parts),
        unclear=sum(part.unclear for part in parts),
        excluded=dict(sorted(excluded.items())),
        near=sum(part.near for part in parts),
        measured=sum(part.measured for part in parts),
    )
