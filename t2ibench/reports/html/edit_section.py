"""The part of a card on edits: who is changed by them, and which edits were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.methods.core.describe import people
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    AttributeChange,
    EditOutcomes,
    EditReport,
    ShareChange,
    edit_report,
)
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.edit_pictures import NAMES, EditedPairs
from t2ibench.reports.html.numbers import percent, plain, signed
from t2ibench.reports.view import TaskView
from t2ibench.results.display import IntervalMark
from t2ibench.results.states import State

# Outcomes in the order of their bar, with the classes of their segments and keys.
_OUTCOMES = (
    ("edited", "k0", "key0"),
    ("not edited", "k1", "key1"),
    ("unclear", "k4", "key4"),
    ("refused", "k2", "key2"),
    ("filtered", "k3", "key3"),
)
_OTHERS = ("missing", "none", "key-none")


@dataclass(frozen=True, slots=True)
class ChangedGroup:
    """The change of one group by an edit.

    Attributes:
        group: Name of the group.
        mark: The change and its interval.
        spoken: The same in words, for those who do not see the mark.
        shares: The share before and after the edit.
        change: The change as text.
        interval: Its interval as text.
    """

    group: str
    mark: IntervalMark
    spoken: str
    shares: str
    change: str
    interval: str


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """The changes of all groups by one edit; `clear` where the compared groups clearly differ."""

    edit: str
    clear: bool
    groups: tuple[ChangedGroup, ...]


@dataclass(frozen=True, slots=True)
class ChangesView:
    """The changes of one attribute, edit by edit.

    Attributes:
        title: What changes.
        note: What was asked about every image and whose share it is, or what was measured.
        counts: By how many edits the compared groups clearly change differently.
        open: Whether it is shown from the start: the headline, and what is clear.
        rows: All edits together, then each.
        link: The same as CSV.
    """

    title: str
    note: str
    counts: str
    open: bool
    rows: tuple[ChangeRow, ...]
    link: Markup


@dataclass(frozen=True, slots=True)
class OutcomePart:
    """A segment of the bar of outcomes: its CSS class and how many edits."""

    classes: str
    size: float


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """What became of the edits of one group."""

    group: str
    counts: str
    parts: tuple[OutcomePart, ...]


@dataclass(frozen=True, slots=True)
class OutcomesOfEdit:
    """What became of one edit, by group; `control` where it is not among those that are tested."""

    edit: str
    control: bool
    rows: tuple[OutcomeRow, ...]


@dataclass(frozen=True, slots=True)
class OutcomesView:
    """What became of the requested edits.

    Attributes:
        key: Names of the outcomes that occur, with the classes of their keys.
        together: All edits that are tested, by group.
        by_edit: Each edit, with the controls.
        link: The same as CSV.
    """

    key: tuple[tuple[str, str], ...]
    together: tuple[OutcomeRow, ...]
    by_edit: tuple[OutcomesOfEdit, ...]
    link: Markup


@dataclass(frozen=True, slots=True)
class EditsView:
    """Everything that the card of a test about edits shows besides what every card does.

    Attributes:
        changes: Who is changed, attribute by attribute, the headline's first.
        outcomes: Which edits were made.
        pictures: Pairs of pictures.
        names: What the two pictures of a pair are called.
    """

    changes: tuple[ChangesView, ...]
    outcomes: OutcomesView
    pictures: tuple[EditedPairs, ...]
    names: tuple[str, str] = NAMES


def edits_view(
    task: TaskView, pictures: tuple[EditedPairs, ...] = ()
) -> EditsView | None:
    """Return what the card of a test about edits shows; None for any other test."""
    report = edit_report(task.result.details)
    if report is None:
        return None
    headline_first = sorted(
        report.attributes, key=lambda change: change.attribute != report.headline
    )
    return EditsView(
        changes=tuple(_changes(change, report, task) for change in headline_first),
        outcomes=_outcomes(report),
        pictures=pictures,
    )


def _changes(
    change: AttributeChange, report: EditReport, task: TaskView
) -> ChangesView:
    shares = {(share.edit, share.group): share for share in change.shares}
    clear = _clear_edits(change.attribute, report, task)
    clear_by_edit = clear.intersection(report.edits)
    rows = []
    controls = report.controls if change.is_measured else ()
    for edit in (ALL_EDITS, *report.edits, *controls):
        state: State = "clear" if edit in clear else "not_clear"
        groups = tuple(
            _changed_group(shares[edit, group], change, state)
            for group in report.groups
            if (edit, group) in shares
        )
        named = f"{edit} (control)" if edit in controls else edit
        rows.append(ChangeRow(named, edit in clear, groups))
    return ChangesView(
        title=change.attribute,
        note=_note(change),
        counts=f"{len(clear_by_edit)} of {len(report.edits)} edits clear",
        open=bool(clear) or change.attribute == report.headline,
        rows=tuple(rows),
        link=_changes_link(change),
    )


def _clear_edits(attribute: str, report: EditReport, task: TaskView) -> set[str]:
    """Return the edits by which the compared groups clearly change differently."""
    clear = {
        row.name
        for series in task.series
        for row in series.rows
        if row.group == attribute and row.mark.state == "clear"
    }
    if attribute == report.headline and task.mark.state == "clear":
        clear.add(ALL_EDITS)
    return clear


def _note(change: AttributeChange) -> str:
    """Return what was asked, and whose share changes; or what was measured on pixels."""
    if change.is_measured:
        return f"{change.question}. Measured on the pixels; no judge is asked."
    return f"{_whose_share(change)} Asked before and after: “{change.question}”"


def _whose_share(change: AttributeChange) -> str:
    """Return a sentence on the class whose share changes."""
    if not change.defines_groups:
        followed = next(iter(change.followed.values()), "")
        return f"Share of images answered with “{followed}”."
    shown = [f"{group} as “{name}”" for group, name in change.followed.items()]
    return (
        f"Share of images that still show {', '.join(shown)}: images that show it can only "
        "lose it."
    )


def _changed_group(
    share: ShareChange, change: AttributeChange, state: State
) -> ChangedGroup:
    followed = change.followed.get(share.group, "")
    write = plain if change.is_measured else percent
    shares = f"{write(share.before)} → {write(share.after)}"
    interval = ""
    if share.low is not None and share.high is not None:
        interval = f"{signed(share.low)} to {signed(share.high)}"
    spoken = (
        f"{people(share.group)}, {share.edit}: {followed} {write(share.before)} before, "
        f"{write(share.after)} after, change {signed(share.change)}"
    )
    if interval:
        spoken += f", interval {interval}"
    mark = IntervalMark(
        value=share.change, low=share.low, high=share.high, state=state, side=None
    )
    return ChangedGroup(
        group=share.group,
        mark=mark,
        spoken=spoken,
        shares=shares,
        change=signed(share.change),
        interval=interval,
    )


def _changes_link(change: AttributeChange) -> Markup:
    """Return the changes of an attribute as a link to CSV."""
    heads = [
        "edit",
        "group",
        "class",
        "pairs",
        "before",
        "after",
        "change",
        "low",
        "high",
        "shown_before",
        "shown_in_both",
    ]
    rows = [
        [
            share.edit,
            share.group,
            change.followed.get(share.group, ""),
            share.pairs,
            share.before,
            share.after,
            share.change,
            share.low,
            share.high,
            share.shown_before,
            share.shown_in_both,
        ]
        for share in change.shares
    ]
    return csv_link(f"changes of {change.attribute}", heads, rows)


def _outcomes(report: EditReport) -> OutcomesView:
    by_edit = []
    for edit in (*report.edits, *report.controls):
        rows = _outcome_rows(report, edit)
        by_edit.append(OutcomesOfEdit(edit, edit in report.controls, rows))
    occurring = {name for row in report.outcomes for name in _counts(row)}
    key = [(name, classes) for name, _, classes in _OUTCOMES if name in occurring]
    if occurring - {name for name, *_ in _OUTCOMES}:
        key.append((_OTHERS[0], _OTHERS[2]))
    return OutcomesView(
        key=tuple(key),
        together=_outcome_rows(report, ALL_EDITS),
        by_edit=tuple(by_edit),
        link=_outcomes_link(report.outcomes),
    )


def _outcome_rows(report: EditReport, edit: str) -> tuple[OutcomeRow, ...]:
    """Return what became of an edit, by group."""
    return tuple(_outcome_row(row) for row in report.outcomes if row.edit == edit)


def _outcome_row(row: EditOutcomes) -> OutcomeRow:
    counts = _counts(row)
    words = [f"{count:,.0f} {name}" for name, count in counts.items()]
    classes = {name: segment for name, segment, _ in _OUTCOMES}
    parts = [
        OutcomePart(classes.get(name, _OTHERS[1]), count)
        for name, count in counts.items()
    ]
    return OutcomeRow(
        group=row.group,
        counts=", ".join(words) or "none requested",
        parts=tuple(parts),
    )


def _counts(row: EditOutcomes) -> dict[str, float]:
    """Return how many edits of a group had each outcome that occurs, in the order of bars."""
    counts = {
        "edited": row.edited,
        "not edited": row.not_edited,
        "unclear": row.unclear,
    }
    for name, *_ in _OUTCOMES:
        if name in row.excluded:
            counts[name] = row.excluded[name]
    counts |= {
        name: count for name, count in row.excluded.items() if name not in counts
    }
    return {name: count for name, count in counts.items() if count}


def _outcomes_link(outcomes: Iterable[EditOutcomes]) -> Markup:
    """Return what became of edits as a link to CSV, a row for each edit, group and outcome."""
    rows: list[Sequence[object]] = []
    for row in outcomes:
        for name, count in _counts(row).items():
            rows.append([row.edit, row.group, name, count, row.requested])
    return csv_link(
        "outcomes of edits", ["edit", "group", "outcome", "images", "requested"], rows
    )
