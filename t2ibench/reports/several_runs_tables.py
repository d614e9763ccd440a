"""Tables that compare several runs: one row per test and, if it fits, one column per run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from t2ibench.decimals import p_value
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.cells import ends, level_name, number, signed
from t2ibench.reports.markdown.markup import github
from t2ibench.reports.run_names import short_names, without_middles
from t2ibench.reports.several_runs_notes import (
    how_tested,
    legend,
    notes_on_tests,
    overall_notes,
    settings_notes,
)
from t2ibench.reports.writers import Table
from t2ibench.results.several_runs import RunsComparison
from t2ibench.results.several_runs_records import run_records, task_records
from t2ibench.results.states import STATES
from t2ibench.results.task_across_runs import RunResult, TaskAcrossRuns
from t2ibench.results.trend import Trend

# Columns of letters that a table may take.
WIDTH = 100
_TASK = 36
_SHORT_TASK = 26
_SHORTEST_TASK = 20
_RUN = 34
_RUN_HEAD = 17
_SLOPE_DECIMALS = 3  # a change a step is smaller than what changes
_NOTHING = "–"


def comparison_table(comparison: RunsComparison) -> Table:
    """Return a table of every test in every run, with the p-value that the runs are alike.

    It has a column a run where that fits into 100 letters, and otherwise a row for each run of each
    test. Its notes begin with what differs between the settings.
    """
    notes = [
        *settings_notes(comparison),
        *overall_notes(comparison),
        legend(comparison),
        *notes_on_tests(comparison),
        *how_tested(comparison),
    ]
    records = list(comparison_records(comparison))
    table = _fitted_wide_table(comparison) or _long_table(comparison)
    return Table(table.headers, table.rows, notes, records)


def _fitted_wide_table(comparison: RunsComparison) -> Table | None:
    """Return a table with one column per run, test names cut until it fits; None if too wide."""
    longest = max(len(test.task) for test in comparison.tasks)
    table = _wide_table(comparison, longest)
    beyond = _width(table) - WIDTH
    if beyond > 0:
        table = _wide_table(comparison, max(longest - beyond, _SHORTEST_TASK))
    return table if _width(table) <= WIDTH else None


def _width(table: Table) -> int:
    first, *_ = github(table.headers, table.rows).splitlines()
    return len(first)


def _wide_table(comparison: RunsComparison, width: int) -> Table:
    """Return a table with one row per test and one column per run.

    Args:
        comparison: The comparison.
        width: How many letters of a test's name the table has.
    """
    heads = short_names([run.name for run in comparison.runs], _RUN_HEAD)
    tasks = without_middles([test.task for test in comparison.tasks], width)
    rows = [
        [task, *(_cell(run) for run in test.runs), p_value(test.p_differ_holm)]
        for task, test in zip(tasks, comparison.tasks, strict=True)
    ]
    return Table(["Test", *heads, "Differ"], rows)


def _long_table(comparison: RunsComparison) -> Table:
    """Return a table with a row for each run of each test."""
    names = short_names([run.name for run in comparison.runs], _RUN)
    tasks = without_middles([test.task for test in comparison.tasks], _TASK)
    level = level_name(test.level for test in comparison.tasks)
    rows = []
    for task, test in zip(tasks, comparison.tasks, strict=True):
        # What is about all runs is in the first row of a test.
        head = task
        p = p_value(test.p_differ_holm)
        for name, run in zip(names, test.runs, strict=True):
            value, interval = value_and_interval(run)
            if run.excluded and run.task is not None:
                value = f"({value})"
            rows.append([head, name, value, interval, p])
            head = ""
            p = ""
    return Table(["Test", "Run", "Value", level, "Differ"], rows)


def trend_table(
    comparison: RunsComparison, axes: Mapping[str, Axis] | None = None
) -> Table | None:
    """Return the slope of each test over the runs in order; None where no test has one.

    Args:
        comparison: The comparison of runs in an order.
        axes: By task, what both ends of its leans mean.
    """
    rows = []
    tasks = without_middles([test.task for test in comparison.tasks], _SHORT_TASK)
    for task, test in zip(tasks, comparison.tasks, strict=True):
        trend = test.trend
        if trend is None:
            continue
        slope = trend.slope
        first, last = trend.ends
        is_square = test.first_result.headline.scale == "mean_square"
        shown = number if is_square else signed
        rows.append(
            [
                task,
                signed(slope.value, _SLOPE_DECIMALS),
                ends(slope.low, slope.high, _SLOPE_DECIMALS),
                p_value(trend.p_holm),
                f"{shown(first)} to {shown(last)}",
                _in_words(test, trend, (axes or {}).get(test.task)),
            ]
        )
    if not rows:
        return None
    level = level_name(test.level for test in comparison.tasks)
    heads = ["Test", "Slope", level, "p (Holm)", "Line", "In words"]
    return Table(heads, rows)


def _in_words(test: TaskAcrossRuns, trend: Trend, axis: Axis | None) -> str:
    """Return in which direction a test moves over the runs, if that is beyond chance."""
    p = trend.p_holm
    if p is None or p >= 1 - test.level:
        return "no clear trend"
    rises = trend.slope.value > 0
    if test.first_result.headline.scale == "mean_square":
        return "leans more" if rises else "leans less"
    if axis is None:
        return "rises" if rises else "falls"
    return f"toward {people(axis.high if rises else axis.low, GROUP)}"


def comparison_records(comparison: RunsComparison) -> Iterator[Mapping[str, Any]]:
    """Yield all records of a comparison for programs, all with the same keys.

    `about` is 'run' for a test in one run, 'test' for a test over all runs, and 'all tests'.
    """
    records = [
        *({"about": "run", **record} for record in run_records(comparison)),
        *({"about": "test", **record} for record in task_records(comparison)),
        *_overall_records(comparison),
    ]
    keys = dict.fromkeys(key for record in records for key in record)
    for record in records:
        yield {key: record.get(key) for key in keys}


def _overall_records(comparison: RunsComparison) -> Iterator[dict[str, Any]]:
    overall = comparison.overall
    if overall is None:
        return
    record: dict[str, Any] = {
        "about": "all tests",
        "p_differ_holm": overall.p,
        "differ": overall.clear,
    }
    if comparison.overall_trend is not None:
        record["p_trend_holm"] = comparison.overall_trend.p
    notes = f"{overall.n_clear} of {overall.n_tests} tests differ"
    yield record | {"notes": notes}


def _cell(run: RunResult) -> str:
    """Return state, value and interval of a test in one run, in parentheses if not compared."""
    value, interval = value_and_interval(run)
    text = value.replace(" ", "")
    if interval != _NOTHING:
        text += f" {interval.replace(', ', ',')}"
    if run.excluded and run.task is not None:
        return f"({text})"
    return text


def value_and_interval(run: RunResult) -> tuple[str, str]:
    """Return the sign of the state with the value, and the interval."""
    mark = run.mark
    if mark is None:
        return _NOTHING, _NOTHING
    sign = STATES[mark.state].sign
    if mark.value is None:
        return f"{sign} {_NOTHING}", _NOTHING
    value = signed(mark.value) if mark.scale.signed else number(mark.value)
    return f"{sign} {value}{mark.scale.unit}", ends(mark.low, mark.high)
