"""Views of what changed between two runs: prompts as rows with both bars, and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from t2ibench.decimals import p_in_words, true_minus
from t2ibench.methods.core.answer_counts import ShownRow, class_colours
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.cells import in_points
from t2ibench.reports.class_bars import ClassKey, class_key, stack_parts
from t2ibench.reports.comparison_sentences import change_in_words
from t2ibench.reports.html.marks import TaskRowView, task_row_view
from t2ibench.reports.html.numbers import signed
from t2ibench.reports.view import TaskView
from t2ibench.results.contrast import Contrast
from t2ibench.results.display import ALPHA, IntervalMark
from t2ibench.results.prompt_changes import AttributeChange, PromptChange
from t2ibench.results.score_difference import Difference, verdict_text
from t2ibench.results.states import State

_NUMBERED = 0.1  # of a bar, from which on a part has room for its number


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a bar: its class in the style sheet, its size, and the number written on it."""

    classes: str
    size: float
    number: str


@dataclass(frozen=True, slots=True)
class BarView:
    """The answers about one prompt in one run, as a bar and in words."""

    parts: tuple[BarPart, ...]
    counts: str


@dataclass(frozen=True, slots=True)
class ChangedRowView:
    """One prompt in both runs.

    Attributes:
        name: The prompt without what all have in common.
        title: The whole prompt.
        bars: Who is shown as what, before and after.
        change: Whose share changed, and by how many points.
        interval: The interval of the change.
        p: Its p-value, corrected over the rows of the question.
        words: The change in a few words.
        clear: Whether it is clear after correction.
        mark: The change as a mark on an axis of points.
        spoken: The mark in a sentence, for those who do not see it.
        anchor: The place of its pictures on the page; "" where it has none.
    """

    name: str
    title: str
    bars: tuple[BarView, BarView]
    change: str
    interval: str
    p: str
    words: str
    clear: bool
    mark: IntervalMark
    spoken: str
    anchor: str


@dataclass(frozen=True, slots=True)
class ChangedQuestionView:
    """The answers to one question of one test in both runs.

    Attributes:
        task: The test.
        attribute: What was asked about.
        key: The classes and their colours.
        poles: The words at both ends of the axis of points.
        notes: What a reader must know of the question.
        rows: The prompts, those that changed most first.
    """

    task: str
    attribute: str
    key: tuple[ClassKey, ...]
    poles: Axis
    notes: tuple[str, ...]
    rows: tuple[ChangedRowView, ...]


def changed_question(
    question: AttributeChange,
    name: str,
    anchors: Mapping[tuple[str, str], str],
) -> ChangedQuestionView:
    """Return the view of the answers to one question in both runs.

    Args:
        question: The answers.
        name: What pages call the test.
        anchors: The places of pictures, by test and prompt.
    """
    classes = _classes(question)
    ordered = sorted(
        question.prompts,
        key=lambda row: (row.p_holm >= ALPHA, -abs(row.change.value), row.short),
    )
    rows = [
        _row(
            question,
            prompt,
            classes,
            anchors.get((question.task, prompt.first.counted.name), ""),
        )
        for prompt in ordered
    ]
    unanswered = any(
        row.counted.unanswered
        for prompt in question.prompts
        for row in (prompt.first, prompt.second)
    )
    return ChangedQuestionView(
        task=name,
        attribute=question.attribute,
        key=class_key(classes, question.attribute, unanswered=unanswered),
        poles=_poles(classes, question.attribute),
        notes=tuple(question.notes()),
        rows=tuple(rows),
    )


def _classes(question: AttributeChange) -> tuple[str, ...]:
    """Return every class of a question that either run has, in the order of the task."""
    answered = [
        name
        for prompt in question.prompts
        for row in (prompt.first, prompt.second)
        for name, count in row.counted.counts.items()
        if count
    ]
    return tuple(dict.fromkeys([*question.classes, *answered]))


def _poles(classes: Sequence[str], about: str) -> Axis:
    """Return the words at both ends of the axis; with two classes, each class has one side."""
    if len(classes) != 2:
        return Axis("fewer", "more")
    right, left = class_colours(classes)
    return Axis(f"more {people(left, about)}", f"more {people(right, about)}")


def _row(
    question: AttributeChange,
    prompt: PromptChange,
    classes: Sequence[str],
    anchor: str,
) -> ChangedRowView:
    words = change_in_words(question, prompt)
    group, change = _growth(prompt, classes)
    who = people(group, prompt.first.about)
    interval = f"{_points(change.low)} to {_points(change.high)}"
    text = f"{who} {_points(change.value)} points"
    before, after = (_bar(row, classes) for row in (prompt.first, prompt.second))
    spoken = f"{prompt.short}: {text}, {interval}; {words}. A: {before.counts}. B: {after.counts}."
    return ChangedRowView(
        name=prompt.short,
        title=prompt.first.counted.name,
        bars=(before, after),
        change=text,
        interval=interval,
        p=p_in_words(prompt.p_holm),
        words=words,
        clear=prompt.p_holm < ALPHA,
        mark=_mark(question, prompt, classes),
        spoken=spoken,
        anchor=anchor,
    )


def _growth(prompt: PromptChange, classes: Sequence[str]) -> tuple[str, Contrast]:
    """Return a class whose share changed and by how much; with two classes, the one that grew."""
    change = prompt.change
    if len(classes) == 2 and change.value < 0:
        (other,) = (name for name in classes if name != prompt.group)
        return other, change.turned
    return prompt.group, change


def _bar(row: ShownRow, classes: Sequence[str]) -> BarView:
    total = row.images
    parts = [
        BarPart(
            classes=part.classes,
            size=part.size,
            number=f"{part.size:g}" if part.size >= _NUMBERED * total else "",
        )
        for part in stack_parts(row, classes)
    ]
    return BarView(tuple(parts), counts_text(row))


def _mark(
    question: AttributeChange, prompt: PromptChange, classes: Sequence[str]
) -> IntervalMark:
    """Return a change as a mark; with two classes, it points to the fixed side of a class."""
    change = prompt.change
    side: Literal["low", "high"] | None = None
    if len(classes) == 2:
        if prompt.group != next(iter(class_colours(classes))):
            change = change.turned
        side = "high" if change.value > 0 else "low"
    state: State = "clear" if prompt.p_holm < ALPHA else "not_clear"
    if question.unread:
        state = "cannot_tell"
    return IntervalMark(change.value, change.low, change.high, state, side)


def _points(share: float | None) -> str:
    """Return a difference of shares in points, with a sign and a true minus.

    Examples:
        >>> _points(0.256), _points(-0.3), _points(-0.001), _points(None)
        ('+26', '−30', '0', '–')
    """
    return true_minus(in_points(share))


@dataclass(frozen=True, slots=True)
class ComparedTestView:
    """A test in both runs.

    Attributes:
        first: It in the first run.
        second: It in the second.
        change: How much more the second leans, with the interval.
        p: p-value that both runs are alike, corrected over the tests.
        words: The verdict.
        decided: Whether the verdict says which run leans less, or that they differ.
        notes: What a reader must know.
    """

    first: TaskRowView
    second: TaskRowView
    change: str
    p: str
    words: str
    decided: bool
    notes: str


def compared_tests(
    differences: Sequence[Difference],
    tasks: tuple[Mapping[str, TaskView], Mapping[str, TaskView]],
    names: tuple[str, str],
) -> list[ComparedTestView]:
    """Return the tests that can be compared, those that differ first."""
    tests = [difference for difference in differences if _is_compared(difference)]
    shown = [test for test in tests if test.task in tasks[0] and test.task in tasks[1]]
    return [
        _compared_test(
            test, (tasks[0][test.task], tasks[1][test.task]), _verdict(test, names)
        )
        for test in sorted(shown, key=_place)
    ]


def _compared_test(
    test: Difference, tasks: tuple[TaskView, TaskView], words: str
) -> ComparedTestView:
    return ComparedTestView(
        first=task_row_view(tasks[0]),
        second=task_row_view(tasks[1]),
        change=_change(test.change),
        p=p_in_words(test.p_differ_holm),
        words=words,
        decided=test.verdict in {"first", "second", "opposite"},
        notes="; ".join(test.notes),
    )


def _is_compared(difference: Difference) -> bool:
    """Return whether a test has a difference, or a test of whether the runs differ in it."""
    return difference.verdict is not None or difference.p_differ is not None


def _place(difference: Difference) -> tuple[bool, float, str]:
    p = 1.0 if difference.p_differ_holm is None else difference.p_differ_holm
    return difference.verdict in {None, "tie"}, p, difference.task


def _verdict(test: Difference, names: tuple[str, str]) -> str:
    """Return the verdict on a test; if it failed a check, whether its measurements differ."""
    if test.verdict is not None:
        return verdict_text(test, *names)
    differs = test.p_differ_holm is not None and test.p_differ_holm < ALPHA
    result = "they differ" if differs else "no difference beyond chance"
    return f"{result}; it is unknown which leans less"


def _change(change: Contrast | None) -> str:
    if change is None:
        return "–"
    if change.low is None:
        return signed(change.value)
    return f"{signed(change.value)}, {signed(change.low)} to {signed(change.high)}"


@dataclass(frozen=True, slots=True)
class NotComparedView:
    """A test that cannot be compared, and why."""

    name: str
    id: str
    why: str


def not_compared(
    differences: Sequence[Difference],
    tasks: tuple[Mapping[str, TaskView], Mapping[str, TaskView]],
    names: tuple[str, str],
) -> list[NotComparedView]:
    """Return the tests that cannot be compared: those with a reason, and those of one run only."""
    views = [
        NotComparedView(
            name=tasks[0][test.task].name if test.task in tasks[0] else test.task,
            id=test.task,
            why="; ".join(test.notes) or _without_value(test, names),
        )
        for test in differences
        if not test.row and not _is_compared(test)
    ]
    for name, other_tasks, of_run in (
        (names[0], tasks[1], tasks[0]),
        (names[1], tasks[0], tasks[1]),
    ):
        views += [
            NotComparedView(task.name, task_id, f"only {name} was measured with it")
            for task_id, task in of_run.items()
            if task_id not in other_tasks
        ]
    return views


def _without_value(test: Difference, names: tuple[str, str]) -> str:
    """Return which run has no value of a test, and why."""
    reasons = [
        f"{name}: {score.reason or 'no value'}"
        for name, score in zip(names, (test.first, test.second), strict=True)
        if score.value is None
    ]
    return "; ".join(reasons) or "no value to compare"
