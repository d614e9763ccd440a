"""Comparison of several runs: every test in each of them, with one test of whether they differ.

Nothing is claimed of a pair that was picked by its numbers: a test has one p-value over all runs,
corrected over tests, and all tests together have one. Runs in an order, such as checkpoints, have a
trend besides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.describe import listed
from t2ibench.results.compared_settings import setting_clauses
from t2ibench.results.task_across_runs import (
    ComparedRun,
    TaskAcrossRuns,
    task_across_runs,
)
from t2ibench.stats import holm

if TYPE_CHECKING:
    import pandas as pd

# As many runs as a table and a figure can show.
MOST_RUNS = 20


@dataclass(frozen=True, slots=True)
class OverallTest:
    """The result of one test over all tests of several runs.

    Attributes:
        p: p-value that no test shows an effect: the least p-value after Holm's correction.
        n_tests: Number of tests.
        n_clear: How many of them show one, after Holm's correction.
        clear: Whether p is below 1 - level.
    """

    p: float
    n_tests: int
    n_clear: int
    clear: bool


@dataclass(frozen=True)
class RunsComparison:
    """The comparison of two or more runs.

    Attributes:
        runs: The runs, in the order in which they were given.
        tasks: Their tests, in the order of the first run that has each.
        overall: One test of whether the runs differ at all; None where nothing was compared.
        overall_trend: One test of whether there is any trend; None without an order.
        settings: Clauses on the settings that differ, such as 'steps: 4 in a and b; 8 in c'.
        ordered: Whether the runs are in an order, so that tests have a trend.
    """

    runs: tuple[ComparedRun, ...]
    tasks: tuple[TaskAcrossRuns, ...]
    overall: OverallTest | None
    overall_trend: OverallTest | None
    settings: tuple[str, ...]
    ordered: bool

    def to_pandas(self, table: Literal["runs", "tasks"] = "runs") -> pd.DataFrame:
        """Return the comparison as a data frame.

        Args:
            table: 'runs' has a row for each test of each run, with the columns `task`, `run`,
                `model`, and the value, interval and state there. 'tasks' has a row for each test,
                with the p-value that its runs are alike, and with its trend.

        Raises:
            T2IBenchError: there is no such table, or pandas is not installed.
        """
        from t2ibench.results.several_runs_records import frame_of_comparison

        return frame_of_comparison(self, table)

    def __repr__(self) -> str:
        """Return a short description for an interactive session or a notebook."""
        names = listed([run.name for run in self.runs], 3)
        plural = "" if len(self.tasks) == 1 else "s"
        return f"<RunsComparison of {names}: {len(self.tasks)} task{plural}>"


def compare_runs(
    runs: Sequence[ComparedRun], *, ordered: bool = False
) -> RunsComparison:
    """Return the comparison of several runs: each test in every one, and what differs.

    Args:
        runs: Two to `MOST_RUNS` runs with different names; at ascending positions if ordered.
        ordered: Whether they are in an order, such as checkpoints.

    Raises:
        T2IBenchError: there are too few or too many runs, they share no task, or their positions
            do not ascend.
    """
    _check(runs, ordered=ordered)
    names = [run.name for run in runs]
    ids = dict.fromkeys(name for run in runs for name in run.results.tasks)
    tests = [task_across_runs(task, runs, ordered=ordered) for task in ids]
    tasks = _corrected(tests)
    level = tasks[0].level
    trends = [_p_of_trend(task) for task in tasks]
    return RunsComparison(
        runs=tuple(runs),
        tasks=tasks,
        overall=_overall([task.p_differ for task in tasks], level),
        overall_trend=_overall(trends, level),
        settings=tuple(setting_clauses([run.results for run in runs], names)),
        ordered=ordered,
    )


def _check(runs: Sequence[ComparedRun], *, ordered: bool) -> None:
    if not 2 <= len(runs) <= MOST_RUNS:
        raise T2IBenchError(
            f"{len(runs)} runs cannot be compared.", f"Give two to {MOST_RUNS} runs."
        )
    counts = [name for run in runs for name in run.results.tasks]
    if len(set(counts)) == len(counts):
        raise T2IBenchError(
            "No two of the runs have a task in common.", "Run all on the same tasks."
        )
    positions = [run.position for run in runs]
    ascend = all(before < after for before, after in pairwise(positions))
    if ordered and not (ascend and all(map(math.isfinite, positions))):
        raise T2IBenchError(
            "The steps of the runs do not ascend.", "Give the runs from first to last."
        )


def _corrected(tests: Sequence[TaskAcrossRuns]) -> tuple[TaskAcrossRuns, ...]:
    """Return tests with p-values that are corrected over all of them."""
    p_values = holm([test.p_differ for test in tests])
    p_values_of_trends = holm([_p_of_trend(test) for test in tests])
    corrected = []
    for test, p, p_of_trend in zip(tests, p_values, p_values_of_trends, strict=True):
        differ = None if p is None else p < 1 - test.level
        trend = test.trend
        if trend is not None:
            trend = replace(trend, p_holm=p_of_trend)
        corrected.append(replace(test, p_differ_holm=p, differ=differ, trend=trend))
    return tuple(corrected)


def _p_of_trend(test: TaskAcrossRuns) -> float | None:
    return None if test.trend is None else test.trend.slope.p


def _overall(p_values: Sequence[float | None], level: float) -> OverallTest | None:
    """Return one test over several, of which some have a p-value; None if none has."""
    corrected = [p for p in holm(p_values) if p is not None]
    if not corrected:
        return None
    alpha = 1 - level
    least = min(corrected)
    n_clear = sum(p < alpha for p in corrected)
    return OverallTest(least, len(corrected), n_clear, least < alpha)
