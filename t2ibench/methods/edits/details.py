"""The `details` of an edit task's result: all counts that pages show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    AskedAbout,
    AttributeChange,
    EditOutcomes,
    EditReport,
    Moves,
    ShareChange,
)
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.edits.changes import FollowedChange, shows
from t2ibench.methods.edits.gathering import EditedGroup, shown_answers
from t2ibench.methods.edits.measured_changes import MeasuredChange, MeasuredGroup
from t2ibench.methods.edits.needs import about_edit
from t2ibench.methods.edits.schema import Edit, EditsTask


def report_of(
    task: EditsTask,
    groups: Sequence[EditedGroup],
    followed: Sequence[FollowedChange],
    on_pixels: Sequence[MeasuredChange],
    edits: Sequence[Edit],
    outcomes: Sequence[EditOutcomes],
    threshold: float | None,
    level: float,
) -> EditReport:
    """Return the counts of a task: shares before and after, moves and outcomes.

    Args:
        task: The task.
        groups: What was collected.
        followed: The changes of its attributes by the edits that are measured.
        on_pixels: Changes that were measured on pixels.
        edits: All edits, with the controls.
        outcomes: What became of all edits.
        threshold: Distance up to which an image is near its source image.
        level: Confidence level, in (0, 1).
    """
    measured = followed[0].edits
    names = [edit.name for edit in edits]
    return EditReport(
        headline=task.headline_attribute.full_name,
        groups=tuple(group.name for group in groups),
        between=task.compared_groups,
        edits=measured,
        controls=tuple(name for name in names if name not in measured),
        attributes=(
            *(_attribute(change, groups, names, level) for change in followed),
            *(_measured(change, groups, names, level) for change in on_pixels),
        ),
        outcomes=tuple(outcomes),
        threshold=threshold,
        sources={group.name: _existing_sources(group) for group in groups},
        asked=tuple(_asked(task, groups, edits)),
    )


def _existing_sources(group: EditedGroup) -> int:
    return len(group.sources) - sum(group.excluded.values())


def _asked(
    task: EditsTask, groups: Sequence[EditedGroup], edits: Sequence[Edit]
) -> Iterator[AskedAbout]:
    """Yield about how many images each question was asked: of attributes, then of edits."""
    for attribute in task.attributes:
        name = attribute.full_name
        n_images = 0
        answered = 0
        for group in groups:
            n_images += _existing_sources(group)
            answered += len(shown_answers(group.before[name]))
            for of_edit in group.edits.values():
                for images in of_edit:
                    n_images += images.existing
                    answered += len(shown_answers(images.after[name]))
        yield AskedAbout(name, n_images, answered)
    for edit in edits:
        if edit.question is None:
            continue
        edited = [images for group in groups for images in group.edits[edit.name]]
        yield AskedAbout(
            about_edit(edit),
            sum(images.existing for images in edited),
            sum(len(shown_answers(images.made)) for images in edited),
        )


def _attribute(
    followed: FollowedChange,
    groups: Sequence[EditedGroup],
    names: Sequence[str],
    level: float,
) -> AttributeChange:
    """Return the shares and moves of one attribute."""
    attribute = followed.attribute
    shares: list[ShareChange] = []
    moves: list[Moves] = []
    whole = followed.changes(level)
    for group in groups:
        of_group = whole[group.name]
        shares.append(_shares(followed, group, ALL_EDITS, followed.edits, of_group))
    for number, edit in enumerate(followed.edits):
        changes = followed.changes(level, [number])
        for group in groups:
            of_group = changes[group.name]
            shares.append(_shares(followed, group, edit, [edit], of_group))
    for edit in names:
        for group in groups:
            moves += _moves(followed, group, edit)
    return AttributeChange(
        attribute=attribute.full_name,
        question=attribute.question,
        classes=attribute.classes,
        defines_groups=attribute.defines_groups,
        followed={group.name: attribute.followed_class(group.name) for group in groups},
        shares=tuple(shares),
        moves=tuple(moves),
    )


def _shares(
    followed: FollowedChange,
    group: EditedGroup,
    named: str,
    edits: Sequence[str],
    change: Estimate,
) -> ShareChange:
    """Return the share of a group's followed class before and after edits, as a row of a name."""
    attribute = followed.attribute
    name = attribute.full_name
    shown = attribute.followed_class(group.name)
    before = np.array(shows(group.before[name], shown, attribute.classes))
    shares_before: list[float] = []
    shares_after: list[float] = []
    pairs = n_before = n_both = 0
    for edit in edits:
        after = np.array(
            [
                shows(images.after[name], shown, attribute.classes)
                for images in group.edits[edit]
            ]
        )
        first = np.broadcast_to(before[:, None], after.shape)
        is_pair = np.isfinite(first) & np.isfinite(after)
        if is_pair.any():
            shares_before.append(float(first[is_pair].mean()))
            shares_after.append(float(after[is_pair].mean()))
        pairs += int(is_pair.sum())
        n_before += int((first[is_pair] == 1).sum())
        n_both += int(((first == 1) & (after == 1)).sum())
    low, high = change.interval or (None, None)
    return ShareChange(
        edit=named,
        group=group.name,
        pairs=pairs,
        before=float(np.mean(shares_before)) if shares_before else None,
        after=float(np.mean(shares_after)) if shares_after else None,
        change=change.value,
        low=low,
        high=high,
        shown_before=n_before,
        shown_in_both=n_both,
    )


def _measured(
    change: MeasuredChange,
    groups: Sequence[EditedGroup],
    names: Sequence[str],
    level: float,
) -> AttributeChange:
    """Return the values of something that was measured on pixels, by all edits and by each."""
    whole = change.changes(level)
    shares = [
        _measured_share(
            change.measured[group.name], ALL_EDITS, change.edits, whole[group.name]
        )
        for group in groups
    ]
    for edit in names:
        # Controls are not tested, and so they have no interval here.
        by_edit: dict[str, Estimate] = {}
        if edit in change.edits:
            by_edit = change.changes(level, [change.edits.index(edit)])
        for group in groups:
            of_group = change.measured[group.name]
            shares.append(
                _measured_share(of_group, edit, [edit], by_edit.get(group.name))
            )
    return AttributeChange(
        attribute=change.name,
        question=change.explanation,
        classes=(),
        defines_groups=False,
        followed={},
        shares=tuple(shares),
        is_measured=True,
    )


def _measured_share(
    group: MeasuredGroup, named: str, edits: Sequence[str], change: Estimate | None
) -> ShareChange:
    """Return the mean value of a group before and after edits, as a row of a name."""
    befores: list[float] = []
    afters: list[float] = []
    pairs = 0
    for edit in edits:
        after = group.after[edit]
        before = np.broadcast_to(group.before[edit][:, None], after.shape)
        is_pair = np.isfinite(before) & np.isfinite(after)
        if is_pair.any():
            befores.append(float(before[is_pair].mean()))
            afters.append(float(after[is_pair].mean()))
        pairs += int(is_pair.sum())
    low, high = (change.interval if change else None) or (None, None)
    value = change.value if change else None
    if value is None and befores:
        value = float(np.mean(afters) - np.mean(befores))
    return ShareChange(
        edit=named,
        group=group.group,
        pairs=pairs,
        before=float(np.mean(befores)) if befores else None,
        after=float(np.mean(afters)) if afters else None,
        change=value,
        low=low,
        high=high,
    )


def _moves(followed: FollowedChange, group: EditedGroup, edit: str) -> list[Moves]:
    """Return how many images of a group moved from each class to each other one, by an edit."""
    name = followed.attribute.full_name
    counts: Counter[tuple[str, str]] = Counter()
    for before, images in zip(group.before[name], group.edits[edit], strict=True):
        for after in images.after[name]:
            if before is not None and after is not None:
                counts[before, after] += 1
    return [
        Moves(edit, group.name, before, after, count)
        for (before, after), count in sorted(counts.items())
    ]
