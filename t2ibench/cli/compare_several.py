"""`t2ibench compare RUN RUN RUN…`: print several runs side by side, and their trend."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.cli.text_output import print_or_write
from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.files import write_text

if TYPE_CHECKING:
    from t2ibench.decisions.decision import Decision
    from t2ibench.methods.core.presentation import Axis
    from t2ibench.results.several_runs import RunsComparison


_PAGE = "html"
_MARKDOWN = "md"
TREND = "trend.html"


def compare_several(arguments: argparse.Namespace) -> int:
    """Print the comparison of several runs, and write the figure of their trend if asked."""
    from t2ibench.reports.several_runs_axes import axes_of
    from t2ibench.reports.writers import WRITERS
    from t2ibench.results.compared_runs import notice_lines, read_runs
    from t2ibench.results.several_runs import compare_runs

    # An unknown format is an error before any file is read.
    if arguments.format != _PAGE:
        WRITERS.get(arguments.format)
    _check_accept(arguments)
    ordered = arguments.order or arguments.steps is not None or bool(arguments.figures)
    paths = [arguments.first, arguments.second, *arguments.others]
    if arguments.rows:
        raise T2IBenchError("--rows compares two runs.", "Give two, or leave it out.")
    if ordered and len(paths) < 3:
        raise T2IBenchError("A trend needs three runs or more.", "Give more runs.")
    runs = read_runs(paths, _numbers(arguments.steps))
    comparison = compare_runs(runs, ordered=ordered)
    for line in notice_lines(paths, runs):
        print(line, file=sys.stderr)
    axes = axes_of(comparison) if ordered else {}
    decisions = _decisions(arguments.accept, paths)
    _write(arguments, comparison, axes, decisions)
    if arguments.figures:
        _write_figure(comparison, axes, Path(arguments.figures))
    return 0


def _check_accept(arguments: argparse.Namespace) -> None:
    """Raise an error for decisions in a format that has no place for them."""
    if arguments.accept is not None and arguments.format not in {_PAGE, _MARKDOWN}:
        raise T2IBenchError(
            f"--accept: a comparison in the format '{arguments.format}' has no decisions.",
            f"Give --format {_MARKDOWN} or {_PAGE}, or leave --accept out.",
        )


def _write(
    arguments: argparse.Namespace,
    comparison: RunsComparison,
    axes: Mapping[str, Axis],
    decisions: Sequence[Decision],
) -> None:
    """Print a comparison, or write it to a file; a page goes into a file of its own."""
    from t2ibench.reports.decisions.text import decision_lines
    from t2ibench.reports.html.trend_page import trend_html

    if arguments.format == _PAGE:
        target = Path(arguments.output or _page_beside(comparison))
        write_text(target, trend_html(comparison, axes, decisions=decisions))
        print(f"Comparison: {target}")
        return
    text = _text(arguments.format, comparison, axes)
    if decisions:
        names = [run.name for run in comparison.runs]
        text += f"\n{decision_lines(names, decisions)}"
    file = None if arguments.output is None else Path(arguments.output)
    print_or_write(text, file)


def _page_beside(comparison: RunsComparison) -> Path:
    """Return where the page goes without --output: into the folder of the last run."""
    folder = comparison.runs[-1].results.folder
    assert folder is not None, "runs of a command are read from folders"
    return folder / TREND


def _decisions(accept: str | None, paths: Sequence[str]) -> list[Decision]:
    """Return the decision about each run by the limits of --accept; none without it."""
    from t2ibench.decisions.each_run import decide_each
    from t2ibench.decisions.profile import read_profile

    if accept is None:
        return []
    file = Path(accept)
    return decide_each(read_profile(file), file.parent, [Path(path) for path in paths])


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
