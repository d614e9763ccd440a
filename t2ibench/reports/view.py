"""The content that every page of a run shows, before it is formatted or escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from t2ibench.methods import METHODS, method_named
from t2ibench.methods.core.answer_counts import ShownAttribute
from t2ibench.methods.core.presentation import Axis, Presentation, RowSeries
from t2ibench.methods.core.scales import Scale, scale_named
from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.registry import presentation
from t2ibench.reports.sentences import CONTROLS, task_sentence
from t2ibench.results.display import (
    IntervalMark,
    displayed,
    row_state,
    shown_rows,
    side_of,
    state_of,
    text_only,
    within,
)
from t2ibench.results.schema import Results, Row, Score, TaskResult
from t2ibench.results.states import STATES, State, state_rank

WITH_REQUEST = "with a request added to every prompt"
_LONG = 131  # letters of a sentence, above which a summary has its first part alone


@dataclass(frozen=True, slots=True)
class RowView:
    """A row of a task with its mark; `flipped` if it counts with the opposite sign."""

    name: str
    group: str | None
    n_images: int | None
    mark: IntervalMark
    flipped: bool
    row: Row


@dataclass(frozen=True, slots=True)
class SeriesView:
    """The rows of a task that have a value and lie on one axis, the lowest first."""

    series: RowSeries
    rows: tuple[RowView, ...]

    @property
    def clear(self) -> tuple[int, int]:
        """How many rows lean clearly to the low pole, and how many to the high pole."""
        sides = [row.mark.side for row in self.rows if row.mark.state == "clear"]
        return sides.count("low"), len(sides) - sides.count("low")


@dataclass(frozen=True, slots=True)
class TaskView:
    """What pages show of one task: its mark, rows, answers and sentence."""

    id: str
    name: str
    shown: Presentation
    mark: IntervalMark
    sentence: str
    series: tuple[SeriesView, ...]
    prompts: tuple[ShownAttribute, ...]
    result: TaskResult
    spec: BaseTask | None

    @property
    def scale(self) -> str:
        """Name of the headline's scale, such as 'lean', 'rms lean' or 'excess'."""
        return self.mark.label

    @property
    def combined(self) -> tuple[SeriesView, ...]:
        """The task's rows on their axes, except those that `prompts` shows as counts of answers."""
        counted = {attribute.counted.attribute for attribute in self.prompts}
        return tuple(
            series
            for series in self.series
            if series.series.square
            or not counted & (series.series.groups or frozenset())
        )

    @property
    def finding(self) -> str:
        """The task's result as a sentence, shortened to its first part if it is long."""
        if len(self.sentence) <= _LONG:
            return self.sentence
        first = self.sentence.partition(". ")[0].partition("; not clear: ")[0]
        return f"{first.removesuffix('.')}."

    @property
    def control(self) -> bool:
        """Whether the task is a positive control, which is no finding."""
        if self.spec is None:
            return self.result.positive_control
        return self.spec.control == "positive"

    @property
    def distance(self) -> float:
        """Absolute value of the headline, which sorts tasks."""
        return abs(self.mark.value or 0.0)


@dataclass(frozen=True, slots=True)
class FamilyView:
    """The tasks of one method, sorted by state and then by how far the headline is from 0."""

    name: str
    title: str
    tasks: tuple[TaskView, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """What pages show of a run: families of tasks, tests on texts, encoders and judges."""

    name: str
    families: tuple[FamilyView, ...]
    texts: tuple[TaskView, ...]
    results: Results
    encoders: tuple[str, ...] = field(default=())
    judges: tuple[str, ...] = field(default=())

    @property
    def request(self) -> str:
        """The request that was added to every prompt; "" if none was."""
        return self.results.model.added_request

    @property
    def title(self) -> str:
        """The name of the run, and that a request was added to its prompts if one was."""
        with_request = f", {WITH_REQUEST}" if self.request else ""
        return f"{self.name}{with_request}"

    @property
    def tasks(self) -> list[TaskView]:
        """The tasks on images, in the order in which pages show them."""
        return [task for family in self.families for task in family.tasks]

    @property
    def tests(self) -> list[TaskView]:
        """The tasks on images, without positive controls."""
        return [task for task in self.tasks if not task.control]

    @property
    def controls(self) -> tuple[TaskView, ...]:
        """The tasks on images that are positive controls."""
        return tuple(task for task in self.tasks if task.control)

    @property
    def groups(self) -> list[FamilyView]:
        """The families without positive controls, and these as a group of their own at the end."""
        families = [
            replace(
                family, tasks=tuple(task for task in family.tasks if not task.control)
            )
            for family in self.families
        ]
        last = FamilyView(CONTROLS, "Positive controls", self.controls)
        return [family for family in [*families, last] if family.tasks]

    def counts(self) -> dict[State, int]:
        """Return how many tests on images are in each state, positive controls not counted."""
        states = [task.mark.state for task in self.tests]
        return {state: states.count(state) for state in STATES}

    def shown_counts(self) -> dict[State, int]:
        """Return how many tests are in each state, with 'no score' counted as inconclusive."""
        counts = self.counts()
        counts["cannot_tell"] += counts.pop("no_score")
        return counts


def run_view(results: Results, specs: Mapping[str, BaseTask] | None = None) -> RunView:
    """Return what pages show of a run; `specs` are its task files, as far as they are known."""
    views = [
        _task_view(name, task, (specs or {}).get(name))
        for name, task in results.tasks.items()
    ]
    on_images: list[TaskView] = []
    of_texts: list[TaskView] = []
    encoders: set[str] = set()
    judges: set[str] = set()
    for view in views:
        (of_texts if text_only(view.result) else on_images).append(view)
        encoders |= view.result.settings.encoders.keys()
        judges |= view.result.settings.judges.keys()
    return RunView(
        name=results.title,
        families=_families(on_images),
        texts=sorted_tasks(of_texts),
        results=results,
        encoders=tuple(sorted(encoders)),
        judges=tuple(sorted(judges)),
    )


def _families(tasks: Sequence[TaskView]) -> tuple[FamilyView, ...]:
    """Return the tasks in families, in the order of the registry, unknown methods last."""
    by_method: dict[str, list[TaskView]] = {}
    for task in tasks:
        by_method.setdefault(task.result.method, []).append(task)
    known_methods = [name for name in METHODS.names() if name in by_method]
    other_methods = sorted(by_method.keys() - set(METHODS))
    return tuple(
        FamilyView(name, method_named(name).title, sorted_tasks(by_method[name]))
        for name in (*known_methods, *other_methods)
    )


def sorted_tasks(tasks: Iterable[TaskView]) -> tuple[TaskView, ...]:
    """Return tasks sorted for display: clear ones first, then by how far they are from 0."""
    return tuple(
        sorted(
            tasks,
            key=lambda task: (state_rank(task.mark.state), -task.distance, task.id),
        )
    )


def _task_view(name: str, task: TaskResult, spec: BaseTask | None) -> TaskView:
    shown = Presentation(task.title) if spec is None else presentation(spec)
    mark = displayed(task.headline)
    side = side_of(mark.value) if shown.axis is not None and mark.signed else None
    mark = replace(mark, state=state_of(task), side=side)
    series = [series_view(series_of_rows, task.by) for series_of_rows in shown.rows]
    return TaskView(
        name,
        shown.name,
        shown,
        mark,
        task_sentence(task, mark, shown.axis),
        tuple(view for view in series if view.rows),
        shown_rows(task),
        task,
        spec,
    )


def series_view(series: RowSeries, rows: Sequence[Row]) -> SeriesView:
    """Return the rows that have a value and lie on the axis of `series`, the lowest first."""
    scale = scale_named(series.scale)
    views = []
    for row in rows:
        score = row.scores.get(series.score)
        wanted = series.groups is None or row.group in series.groups
        if score is None or score.value is None or not wanted:
            continue
        value, low, high = _on_axis(score.value, score, series)
        side = side_of(value) if series.axis else None
        mark = IntervalMark(
            value=value,
            low=low,
            high=high,
            state=row_state(score),
            side=side,
            scale=scale,
        )
        mark = within(mark, series.square)
        views.append(
            RowView(
                row.name,
                row.group,
                row.n_images,
                mark,
                row.group in series.flipped,
                row,
            )
        )
    views.sort(key=lambda view: (view.mark.value or 0.0, view.name))
    return SeriesView(series, tuple(views))


def _on_axis(
    value: float, score: Score, series: RowSeries
) -> tuple[float, float | None, float | None]:
    """Return a score and both ends of its interval with the sign that the axis gives them."""
    if not series.turned:
        return value, score.ci_low, score.ci_high
    low, high = (None if end is None else -end for end in (score.ci_high, score.ci_low))
    return -value, low, high


def scale_record(scale: Scale) -> dict[str, Any]:
    """Return the properties of a scale, such as its name and unit, as a JSON record."""
    return {
        "scale": scale.label,
        "end": scale.end,
        "unit": scale.unit,
        "signed": scale.signed,
        "ends": scale.ends,
    }


def poles(task: TaskView) -> Axis:
    """Return the words at both ends of a task's axis."""
    return task.shown.axis or Axis("", "one-sided")
