"""`t2ibench compare RUN RUN RUN…`: print several runs side by side, and their trend."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.files import write_text

if TYPE_CHECKING:
    from t2ibench.methods.core.presentation import Axis
    from t2ibench.results.several_runs import RunsComparison


_PAGE = "html"


def compare_several(arguments: argparse.Namespace) -> int:
    """Print the comparison of several runs, and write the figure of their trend if asked."""
    from t2ibench.reports.writers import WRITERS
    from t2ibench.results.compared_runs import read_runs, unfinished_lines
    from t2ibench.results.several_runs import compare_runs

    if arguments.format == _PAGE:
        raise T2IBenchError(
            "--format html is a page of two runs.",
            "Give two runs without a trend, or another format.",
        )
    # An unknown format is an error before any file is read.
    WRITERS.get(arguments.format)
    ordered = arguments.order or arguments.steps is not None or bool(arguments.figures)
    paths = [arguments.first, arguments.second, *arguments.others]
    if arguments.rows:
        raise T2IBenchError("--rows compares two runs.", "Give two, or leave it out.")
    if ordered and len(paths) < 3:
        raise T2IBenchError("A trend takes three runs or more.", "Give more runs.")
    runs = read_runs(paths, _numbers(arguments.steps))
    comparison = compare_runs(runs, ordered=ordered)
    for line in unfinished_lines(runs):
        print(line, file=sys.stderr)
    axes = _axes(comparison) if ordered else {}
    text = _text(arguments.format, comparison, axes)
    if arguments.output is None:
        print(text, end="")
    else:
        write_text(Path(arguments.output), text)
    if arguments.figures:
        _write_figure(comparison, axes, Path(arguments.figures))
    return 0


def _numbers(steps: str | None) -> list[float]:
    """Return the numbers in '1000,2000,4000'; an empty list without a text."""
    if steps is None:
        return []
    numbers = []
    for step in steps.split(","):
        try:
            number = float(step)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise T2IBenchError(
                f"--steps: '{shown(step)}' is not a number.",
                "Give one a run, such as --steps 1000,2000,4000.",
            )
        numbers.append(number)
    return numbers


def _text(name: str, comparison: RunsComparison, axes: Mapping[str, Axis]) -> str:
    """Return a comparison: for people with what differs first, in other formats as tables."""
    from t2ibench.reports.several_runs_tables import comparison_table, trend_table
    from t2ibench.reports.several_runs_text import comparison_text
    from t2ibench.reports.writers import render

    if name == "md":
        return comparison_text(comparison, axes)
    text = render(name, comparison_table(comparison))
    trend = trend_table(comparison, axes)
    if trend is not None and name == "latex":
        text += render(name, trend)
    return text


def _axes(comparison: RunsComparison) -> Mapping[str, Axis]:
    """Return what both ends of the leans of each task mean, where its file is there to say it."""
    from t2ibench.methods.registry import presentation
    from t2ibench.reports.files import task_files

    axes: dict[str, Axis] = {}
    for run in comparison.runs:
        missing = [task for task in run.results.tasks if task not in axes]
        if missing:
            specs = task_files(run.results, run.results.folder)
            for task in missing:
                axis = presentation(specs[task]).axis if task in specs else None
                if axis is not None:
                    axes[task] = axis
    return axes


def _write_figure(
    comparison: RunsComparison, axes: Mapping[str, Axis], folder: Path
) -> None:
    from t2ibench.reports.figures.facts import facts_of_runs
    from t2ibench.reports.figures.files import write_figure
    from t2ibench.reports.figures.trend import trend_figure

    figure = trend_figure(comparison, axes)
    if figure is None:
        print("No test can be compared: no figure is written.", file=sys.stderr)
        return
    runs = [run.results for run in comparison.runs]
    written = write_figure(
        figure, figure.title, folder, "trend", facts=facts_of_runs(runs)
    )
    print(f"Figure: {', '.join(str(path) for path in written)}", file=sys.stderr)
