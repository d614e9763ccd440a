"""A run as pages show it: what leans which way, how far and how sure, in a fixed order.

The terminal, results.md, report.html, the leaderboard and the explorer all show this. It holds
plain numbers and untrusted text; each page escapes what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from t2ibench.methods import METHODS
from t2ibench.methods.core.presentation import Axis, Presentation, RowSeries
from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.registry import presentation
from t2ibench.results.display import displayed, text_only
from t2ibench.results.schema import Results, Row, Score, TaskResult
from t2ibench.results.states import ALPHA, State, row_state, state_of

Side = Literal["low", "high"]
_ORDER: dict[State, int] = {"clear": 0, "not_clear": 1, "cannot_tell": 2, "no_score": 3}


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval, on an axis from -1 to 1.

    Attributes:
        value: The value, as it is shown; None without one.
        low: Lower end of its interval.
        high: Upper end.
        fair_low: Lower end of a fair model's band.
        fair_high: Upper end.
        state: What it shows.
        side: Which pole it leans to; None where the axis has none.
    """

    value: float | None
    low: float | None
    high: float | None
    state: State
    side: Side | None
    fair_low: float | None = None
    fair_high: float | None = None


@dataclass(frozen=True, slots=True)
class RowView:
    """One stimulus, word, target or question.

    Attributes:
        name: What it is.
        group: The concept or side it belongs to.
        n_images: Images that it is based on.
        mark: Its number.
        flipped: Whether it counts with the other sign in the headline.
        row: The row of results.json.
    """

    name: str
    group: str | None
    n_images: int | None
    mark: Mark
    flipped: bool
    row: Row


@dataclass(frozen=True, slots=True)
class SeriesView:
    """The rows of a task on one axis, from the lowest to the highest.

    Attributes:
        series: Which score it is.
        rows: The rows that have a value.
        span: The axis goes from -span to span: 1, or more where a row lies beyond.
    """

    series: RowSeries
    rows: tuple[RowView, ...]
    span: float

    @property
    def clear(self) -> tuple[int, int]:
        """How many rows lean clearly to the low, and to the high pole."""
        sides = [row.mark.side for row in self.rows if row.mark.state == "clear"]
        return sides.count("low"), len(sides) - sides.count("low")


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task.

    Attributes:
        id: Its id.
        name: A short name.
        shown: How its method shows it.
        mark: The headline.
        scale: 'lean', 'rms lean', 'excess' or 'magnitude'.
        sentence: The result in words.
        series: Its rows.
        result: The task's result.
        spec: The task's file; None where it is not at hand or has changed.
    """

    id: str
    name: str
    shown: Presentation
    mark: Mark
    scale: str
    sentence: str
    series: tuple[SeriesView, ...]
    result: TaskResult
    spec: BaseTask | None

    @property
    def finding(self) -> str:
        """What a clear headline says, as a clause; empty where none is known."""
        return self.shown.low if self.mark.side == "low" else self.shown.high

    @property
    def distance(self) -> float:
        """How far it is from 0, for sorting."""
        return abs(self.mark.value or 0.0)


@dataclass(frozen=True, slots=True)
class FamilyView:
    """The tasks of one method.

    Attributes:
        name: The method's name.
        title: What people call it.
        tasks: By state, then by distance from 0.
    """

    name: str
    title: str
    tasks: tuple[TaskView, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """A run.

    Attributes:
        name: What the run is called.
        families: Tasks on images, by family.
        texts: Tests of the text encoder alone.
        results: What results.json holds.
        encoders: Names of the encoders, over all tasks.
        judges: Names of the judges.
    """

    name: str
    families: tuple[FamilyView, ...]
    texts: tuple[TaskView, ...]
    results: Results
    encoders: tuple[str, ...] = field(default=())
    judges: tuple[str, ...] = field(default=())

    @property
    def tasks(self) -> list[TaskView]:
        """The tasks on images, as they are shown."""
        return [task for family in self.families for task in family.tasks]

    def counts(self) -> dict[State, int]:
        """How many tasks on images are in each state."""
        states = [task.mark.state for task in self.tasks]
        return {state: states.count(state) for state in _ORDER}


def run_view(results: Results, specs: Mapping[str, BaseTask] | None = None) -> RunView:
    """A run as pages show it.

    Args:
        results: What results.json holds.
        specs: Task id to its file, of the tasks whose file is at hand and unchanged.

    Returns:
        The view.
    """
    views = [
        _task_view(name, task, (specs or {}).get(name)) for name, task in results.tasks.items()
    ]
    of_texts = [view for view in views if text_only(view.result)]
    names = {view.id for view in of_texts}
    on_images = [view for view in views if view.id not in names]
    order = [name for name in METHODS.names() if any(v.result.method == name for v in on_images)]
    families = tuple(
        FamilyView(
            name,
            METHODS.get(name).title,
            _sorted(view for view in on_images if view.result.method == name),
        )
        for name in order
    )
    tasks = results.tasks.values()
    return RunView(
        results.title,
        families,
        _sorted(of_texts),
        results,
        tuple(sorted({name for task in tasks for name in task.settings.encoders})),
        tuple(sorted({name for task in tasks for name in task.settings.judges})),
    )


def _sorted(tasks: Iterable[TaskView]) -> tuple[TaskView, ...]:
    return tuple(sorted(tasks, key=lambda one: (_ORDER[one.mark.state], -one.distance, one.id)))


def _task_view(name: str, task: TaskResult, spec: BaseTask | None) -> TaskView:
    shown = Presentation(task.title, None, "", "") if spec is None else presentation(spec)
    head = displayed(task.headline)
    mark = Mark(
        head.value,
        head.low,
        head.high,
        state_of(task),
        _side(head.value) if shown.axis is not None and head.signed else None,
        head.fair_low,
        head.fair_high,
    )
    series = [series_view(one, task.by) for one in shown.rows]
    return TaskView(
        name,
        shown.name,
        shown,
        mark,
        head.label,
        _sentence(task, mark.state),
        tuple(one for one in series if one.rows),
        task,
        spec,
    )


def _sentence(task: TaskResult, state: State) -> str:
    """The result in words; a direction that correction takes away says so."""
    told = task.headline.direction or task.reason or task.headline.reason or ""
    p = task.headline.p
    if told and state != "clear" and not task.inconclusive and p is not None and p < ALPHA:
        return f"Not clear once corrected for all tests: {told[:1].lower()}{told[1:]}"
    return told


def series_view(series: RowSeries, rows: Sequence[Row]) -> SeriesView:
    """The rows of a task that one series shows.

    Args:
        series: Which score, of which groups.
        rows: The rows of the task.

    Returns:
        Those that have a value, from the lowest to the highest.
    """
    found = []
    for row in rows:
        score = row.scores.get(series.score)
        wanted = series.groups is None or row.group in series.groups
        if score is None or score.value is None or not wanted:
            continue
        mark = _row_mark(series, score)
        found.append(
            RowView(row.name, row.group, row.n_images, mark, row.group in series.flipped, row)
        )
    found.sort(key=lambda one: (one.mark.value or 0.0, one.name))
    widest = max((abs(one.mark.value or 0.0) for one in found), default=0.0)
    return SeriesView(series, tuple(found), 1.0 if widest <= 1 else max(1.4, round(widest, 1)))


def _row_mark(series: RowSeries, score: Score) -> Mark:
    value, low, high = score.value, score.ci_low, score.ci_high
    if series.square:
        value, low, high = (
            None if number is None else math.sqrt(max(number, 0.0)) for number in (value, low, high)
        )
    return Mark(value, low, high, row_state(score), _side(value) if series.axis else None)


def _side(value: float | None) -> Side | None:
    return None if value is None or value == 0 else "low" if value < 0 else "high"


def verdict(run: RunView, most: int = 3) -> list[tuple[str, bool]]:
    """The run in a sentence, the finding first.

    Args:
        run: The run.
        most: Clear findings that are named, the strongest first; families take turns.

    Returns:
        Parts of the sentence, and whether each is a finding (set in bold).

    """
    tasks = run.tasks
    counts = run.counts()
    if not tasks:
        return [(f"{run.name}: no task on images was scored.", False)]
    plural = "tests" if len(tasks) > 1 else "test"
    if not counts["clear"]:
        told = f"In {run.name}’s images, none of {len(tasks)} {plural} shows a clear lean"
        unsure = counts["cannot_tell"]
        return [(f"{told}; {unsure} cannot tell." if unsure else f"{told}.", False)]
    parts = [(f"In {run.name}’s images, {counts['clear']} of {len(tasks)} {plural} ", False)]
    parts.append(("lean clearly" if counts["clear"] > 1 else "leans clearly", True))
    named = [task.finding for task in _turns(run) if task.finding][:most]
    parts.append((": " + "; ".join(named) + "." if named else ".", False))
    return parts


def _turns(run: RunView) -> list[TaskView]:
    """Clear tasks, the strongest of each family first, then the second of each, and so on."""
    columns = [
        [task for task in family.tasks if task.mark.state == "clear" and task.mark.side]
        for family in run.families
    ] + [
        [task for task in family.tasks if task.mark.state == "clear" and not task.mark.side]
        for family in run.families
    ]
    depth = max((len(column) for column in columns), default=0)
    return [column[k] for k in range(depth) for column in columns if k < len(column)]


def poles(task: TaskView) -> Axis:
    """The words at both ends of a task's axis.

    Args:
        task: The task.

    Returns:
        Its poles; of a headline without direction, empty and 'one-sided'.
    """
    return task.shown.axis or Axis("", "one-sided")
