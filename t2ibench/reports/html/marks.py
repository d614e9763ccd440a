"""Tests as rows of a page's forest plot, and the CSS classes of their marks."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.methods.core.edit_report import edit_report
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.sentences import (
    brief,
    family_note,
    nothing,
    spoken,
    summary,
    task_ends,
    verdict,
)
from t2ibench.reports.view import RunView, TaskView, poles
from t2ibench.results.display import IntervalMark
from t2ibench.results.states import STATES

_CLEAR_CLASSES = {"low": "left clear", "high": "right clear", None: "plain clear"}
_TONES = {"low": "t-left", "high": "t-right", None: ""}


def bar_class(mark: IntervalMark) -> str:
    """Return the CSS classes of a mark on an axis: its state, and its side if it is clear."""
    return (
        _CLEAR_CLASSES[mark.side]
        if mark.state == "clear"
        else STATES[mark.state].classes
    )


def tone(mark: IntervalMark) -> str:
    """Return the CSS class of the number that stands beside a mark."""
    return _TONES[mark.side] if mark.state == "clear" else "faint"


def value_text(mark: IntervalMark) -> str:
    """Return a headline's number with its unit, as text for a page."""
    number = plain(mark.value) if mark.sized else signed(mark.value)
    return number if mark.value is None else f"{number}{mark.scale.unit}"


@dataclass(frozen=True, slots=True)
class TaskRowView:
    """A test as a row of a page: its name, poles, mark on the axis, number and result.

    Attributes:
        id: The test's id, which is its place on the page.
        name: What pages call it.
        low: The word at the lower end of its axis.
        high: The word at the upper end.
        low_classes: Classes of the lower word, where the test leans there.
        high_classes: Those of the upper word.
        mark: Its value and interval.
        spoken: The mark in a sentence, for those who do not see it.
        ticks: The rows behind its headline.
        without_mark: What stands on the axis where there is no mark.
        half: Whether the upper half of the axis is enough.
        value: Its number.
        tone: The class of the number.
        ends: Both ends of its interval.
        brief: Its result in a few words.
    """

    id: str
    name: str
    low: str
    high: str
    low_classes: str
    high_classes: str
    mark: IntervalMark
    spoken: str
    ticks: tuple[float, ...]
    without_mark: str
    half: bool
    value: str
    tone: str
    ends: str
    brief: str


def task_row_view(task: TaskView) -> TaskRowView:
    """Return a test as a row of a page."""
    axis = poles(task)
    mark = task.mark
    leans_low = mark.state == "clear" and mark.side == "low"
    leans_high = mark.state == "clear" and mark.side != "low"
    ticks = _ticks(task)
    half = mark.sized and all(tick >= 0 for tick in ticks)
    high_classes = f" on {tone(mark)}".rstrip() if leans_high else ""
    return TaskRowView(
        id=task.id,
        name=task.name,
        low=axis.low,
        high=axis.high,
        low_classes=" on t-left" if leans_low else "",
        high_classes=high_classes,
        mark=mark,
        spoken=spoken(task),
        ticks=ticks,
        without_mark=nothing(task),
        half=half,
        value=value_text(mark),
        tone=tone(mark),
        ends=task_ends(task),
        brief=brief(task),
    )


def _ticks(task: TaskView) -> tuple[float, ...]:
    """Return where on the axis a test's rows lie, with flipped rows at the opposite side."""
    if not task.series:
        return ()
    places = []
    for row in task.series[0].rows:
        place = row.mark.on_axis.value or 0.0
        places.append(-place if row.flipped else place)
    return tuple(places)


@dataclass(frozen=True, slots=True)
class FamilyRowsView:
    """The tests of one family as rows, and a note on how to read their numbers."""

    title: str
    note: str
    rows: tuple[TaskRowView, ...]


@dataclass(frozen=True, slots=True)
class ForestView:
    """All tests of a run as rows on one axis, with the run's verdict.

    Attributes:
        name: The run.
        title: It, and that a request was added to its prompts if one was.
        summary: Its size.
        verdict: It in a sentence, in parts; those that are a finding are marked.
        limited: Whether it was made with fewer stimuli, for a trial.
        missing: What is missing in it; empty where nothing is.
        has_images: Whether it has tests on images.
        has_edits: Whether it has tests on edits, whose leans are differences of shares.
        families: Those tests, by family.
        texts: The tests on words alone.
        texts_title: What those are called.
    """

    name: str
    title: str
    summary: str
    verdict: tuple[tuple[str, bool], ...]
    limited: bool
    missing: str
    has_images: bool
    has_edits: bool
    families: tuple[FamilyRowsView, ...]
    texts: tuple[TaskRowView, ...]
    texts_title: str


def forest_view(run: RunView) -> ForestView:
    """Return all tests of a run as rows on one axis, with the run's verdict."""
    families = [
        FamilyRowsView(
            title=family.title,
            note=family_note(family),
            rows=tuple(map(task_row_view, family.tasks)),
        )
        for family in run.groups
    ]
    results = run.results
    missing = results.what_is_missing if results.partial else ""
    return ForestView(
        name=run.name,
        title=run.title,
        summary=summary(run),
        verdict=tuple(verdict(run)),
        limited=results.limited,
        missing=missing,
        has_images=bool(run.families),
        has_edits=any(edit_report(task.result.details) for task in run.tasks),
        families=tuple(families),
        texts=tuple(map(task_row_view, run.texts)),
        texts_title=texts_title(len(run.texts)),
    )


def texts_title(count: int) -> str:
    """Return the title above the tests that use no images; `count` is how many there are."""
    plural = "" if count == 1 else "s"
    return f"Words alone: {count} test{plural} of the text encoder"
