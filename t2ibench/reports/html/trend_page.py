"""Renders the page of several runs, such as checkpoints, as one file without network access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.decisions.decision import Decision
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.cells import level_name
from t2ibench.reports.decisions.sentences import SIGNS, WORDS, verdict
from t2ibench.reports.figures.trend import trend_figure
from t2ibench.reports.html.templating import fragment, style
from t2ibench.reports.several_runs_notes import (
    how_tested,
    legend,
    notes_on_tests,
    overall_notes,
    settings_notes,
)
from t2ibench.reports.several_runs_tables import trend_table, value_and_interval
from t2ibench.reports.writers import Table
from t2ibench.results.several_runs import RunsComparison
from t2ibench.results.states import STATES
from t2ibench.results.task_across_runs import RunResult, TaskAcrossRuns


@dataclass(frozen=True, slots=True)
class RunLine:
    """A test in one run.

    Attributes:
        run: Its name.
        value: The value with the sign of its state.
        interval: Its interval.
        state: The state in words.
        is_compared: Whether it is compared with the others.
    """

    run: str
    value: str
    interval: str
    state: str
    is_compared: bool


@dataclass(frozen=True, slots=True)
class TestLines:
    """A test in every run."""

    task: str
    runs: tuple[RunLine, ...]


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """What limits that were fixed beforehand say of one run."""

    run: str
    outcome: str
    sentence: str


@dataclass(frozen=True, slots=True)
class TrendView:
    """Everything that the page shows.

    Attributes:
        title: What is compared.
        limited: Runs that are for a trial, or incomplete.
        left_out: A sentence on runs that are not shown; '' where all are.
        findings: What all tests say together.
        settings: What differs between the settings of the runs.
        decisions: What the limits say of each run; empty without limits.
        figure: Each test over the runs in order; None where no test can be drawn.
        width: The width of the figure in CSS pixels.
        level: The heading of intervals.
        tests: Each test in every run.
        trend: The table of slopes; None where no test has one.
        legend: What signs and brackets mean.
        notes: What a reader must know of single tests, and how they were tested.
    """

    title: str
    limited: tuple[str, ...]
    left_out: str
    findings: tuple[str, ...]
    settings: tuple[str, ...]
    decisions: tuple[DecisionLine, ...]
    figure: Markup | None
    width: int
    level: str
    tests: tuple[TestLines, ...]
    trend: Table | None
    legend: str
    notes: tuple[str, ...]


def trend_html(
    comparison: RunsComparison,
    axes: Mapping[str, Axis] | None = None,
    *,
    decisions: Sequence[Decision] = (),
    left_out: str = "",
) -> str:
    """Return the HTML of the page.

    Args:
        comparison: The comparison of the runs.
        axes: By task, what both ends of its leans mean.
        decisions: What limits that were fixed beforehand say of each run; empty without limits.
        left_out: A sentence on runs that the page does not show.
    """
    view = trend_view(comparison, axes, decisions=decisions, left_out=left_out)
    sheets = style("comparison.css", "frontier.css")
    return str(fragment("trend.html", page=view, style=sheets))


def trend_view(
    comparison: RunsComparison,
    axes: Mapping[str, Axis] | None = None,
    *,
    decisions: Sequence[Decision] = (),
    left_out: str = "",
) -> TrendView:
    """Return everything that the page shows (see `trend_html`)."""
    is_ordered = comparison.ordered
    figure = trend_figure(comparison, axes) if is_ordered else None
    limited = [
        run.name
        for run in comparison.runs
        if run.results.limited or run.results.partial
    ]
    return TrendView(
        title=_title(comparison),
        limited=tuple(limited),
        left_out=left_out,
        findings=tuple(overall_notes(comparison)),
        settings=tuple(settings_notes(comparison)),
        decisions=tuple(_decisions(comparison, decisions)),
        figure=None if figure is None else figure.canvas.svg(),
        width=0 if figure is None else round(figure.canvas.width),
        level=level_name(test.level for test in comparison.tasks),
        tests=tuple(_tests(comparison.tasks)),
        trend=trend_table(comparison, axes) if is_ordered else None,
        legend=legend(comparison),
        notes=(*notes_on_tests(comparison), *how_tested(comparison)),
    )


def _title(comparison: RunsComparison) -> str:
    names = [run.name for run in comparison.runs]
    if comparison.ordered:
        return f"{len(names)} runs in order, {names[0]} to {names[-1]}"
    return f"{len(names)} runs side by side"


def _decisions(
    comparison: RunsComparison, decisions: Sequence[Decision]
) -> Iterator[DecisionLine]:
    if not decisions:
        return
    for run, decision in zip(comparison.runs, decisions, strict=True):
        outcome = f"{SIGNS[decision.outcome]} {WORDS[decision.outcome]}"
        yield DecisionLine(run.name, outcome, verdict(decision))


def _tests(tests: Sequence[TaskAcrossRuns]) -> Iterator[TestLines]:
    for test in tests:
        yield TestLines(test.task, tuple(_line(run) for run in test.runs))


def _line(run: RunResult) -> RunLine:
    value, interval = value_and_interval(run)
    state = "" if run.mark is None else STATES[run.mark.state].word
    return RunLine(run.run, value, interval, state, not run.excluded)
