"""The comparison of several runs as records for programs, and as data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.results.display import check_pandas, displayed
from t2ibench.results.several_runs import RunsComparison
from t2ibench.results.task_across_runs import ComparedRun, RunResult, TaskAcrossRuns

if TYPE_CHECKING:
    import pandas as pd


def run_records(comparison: RunsComparison) -> Iterator[Mapping[str, Any]]:
    """Yield a record for each test of each run that has it; unknown numbers are None."""
    for test in comparison.tasks:
        for run, result in zip(comparison.runs, test.runs, strict=True):
            if result.task is not None:
                yield _run_record(test, run, result)


def _run_record(
    test: TaskAcrossRuns, run: ComparedRun, result: RunResult
) -> Mapping[str, Any]:
    mark = result.mark
    assert mark is not None and result.task is not None
    return {
        "task": test.task,
        "run": run.name,
        "model": run.results.model.name,
        "position": run.position,
        "scale": mark.label,
        "value": mark.value,
        "ci_low": mark.low,
        "ci_high": mark.high,
        "state": mark.state,
        "n_images": result.task.n_images,
        "compared": not result.excluded,
        "why_not_compared": result.excluded or None,
    }


def task_records(comparison: RunsComparison) -> Iterator[Mapping[str, Any]]:
    """Yield a record for each test: whether its runs differ, and its trend."""
    for test in comparison.tasks:
        record = {
            "task": test.task,
            "scale": displayed(test.first_result.headline).label,
            "runs_compared": test.n_compared,
            "paired": test.paired,
            "statistic": test.statistic,
            "p_differ": test.p_differ,
            "p_differ_holm": test.p_differ_holm,
            "differ": test.differ,
        }
        if comparison.ordered:
            record |= _trend_record(test)
        yield record | {"notes": "; ".join(test.notes)}


def _trend_record(test: TaskAcrossRuns) -> Mapping[str, Any]:
    """Return the slope of a test with its interval and p-values; None where there is none."""
    trend = test.trend
    slope = None if trend is None else trend.slope
    return {
        "slope": None if slope is None else slope.value,
        "slope_low": None if slope is None else slope.low,
        "slope_high": None if slope is None else slope.high,
        "line_first": None if trend is None else trend.ends[0],
        "line_last": None if trend is None else trend.ends[1],
        "p_trend": None if slope is None else slope.p,
        "p_trend_holm": None if trend is None else trend.p_holm,
    }


def frame_of_comparison(comparison: RunsComparison, table: str) -> pd.DataFrame:
    """Return a table of a comparison as a data frame.

    Args:
        comparison: The comparison.
        table: 'runs' or 'tasks'.

    Raises:
        T2IBenchError: there is no such table, or pandas is not installed.
    """
    tables = {"runs": run_records, "tasks": task_records}
    if table not in tables:
        raise T2IBenchError(
            f"There is no table '{table}'.{did_you_mean(table, tables)}"
        )
    check_pandas()
    import pandas as pd

    return pd.DataFrame(list(tables[table](comparison)))
