"""`t2ibench compare OLD NEW`: print the differences of two runs, or of several."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.text_output import print_or_write
from t2ibench.cli.usage import add_flag
from t2ibench.store.files import write_text

if TYPE_CHECKING:
    from t2ibench.reports.comparison import Comparison
    from t2ibench.results.schema import Results

# What is more than a table: a page, and Markdown for a terminal.
_PAGE = "html"
_MARKDOWN = "md"
# Formats for papers, which have an extra table of prompts at the top.
_READ = ("latex",)
_NOT_MEASURED = (
    "Agreement with the prompts cannot be compared: this needs the run.db of both runs, and "
    "one encoder that measured it in both. If the prompts are embedded, `t2ibench score RUN` "
    "measures it; if not, run the original command again."
)


_DESCRIPTION = """Compare two runs: a model and its debiased version, or training images
(--model folder:DIR) and a model, where leaning more is amplification. Images are paired by prompt
and index. Three to twenty runs are shown side by side, with one test of whether they differ at all.

  t2ibench compare runs/before runs/after          how much more the second leans, test by test
  t2ibench compare runs/before runs/after --format html    a page with both bars and pictures
  t2ibench compare runs/before runs/after --rows --format csv
  t2ibench compare runs/a runs/b runs/c            three runs: where they differ beyond chance
  t2ibench compare runs/step-* --order             checkpoints: the trend of each test
  t2ibench compare runs/step-* --order --format html --accept accept.yaml    as a page
  t2ibench compare runs/step-1000 runs/step-2000 runs/step-8000 \\
      --steps 1000,2000,8000 --figures trend       the same at numbers of steps, and as a figure"""


def add(verbs: Any) -> None:
    """Add the command `compare` and its flags to the command line."""
    verb = verbs.add_parser(
        "compare",
        description=_DESCRIPTION,
    )
    add_flag(verb, "first OLD", "compare this run folder, the older one (required)")
    add_flag(verb, "second NEW", "compare OLD with this newer run folder (required)")
    text = "compare these run folders, too, all with one another (default: none)"
    add_flag(verb, "others RUN", text, nargs="*", default=[])
    add_flag(
        verb,
        "--rows",
        "list rows such as occupations and concepts too (default: one headline a task)",
    )
    add_flag(
        verb,
        "--format F",
        "print md, latex, csv, json or a plug-in's format, or write html, a page of one file "
        "(default: md)",
        default=_MARKDOWN,
    )
    add_flag(
        verb,
        "--output FILE",
        "write to this file (default: print; for html, comparison.html in NEW's folder, or "
        "trend.html in that of the last of several)",
    )
    add_flag(
        verb,
        "--order",
        "add the trend of each test over three or more runs in this order (default: no trend)",
    )
    add_flag(
        verb,
        "--steps N,N,N",
        "take these numbers as places of the runs, such as training steps (default: 1,2,3,…)",
    )
    add_flag(
        verb,
        "--accept FILE",
        "check each of several runs against the limits of this accept.yaml "
        "(default: no decisions)",
    )
    add_flag(
        verb,
        "--figures DIR",
        "write the trend to this folder as trend.svg, .png, .pdf and .csv (default: no figure)",
    )
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the differences of two runs or more, and return the exit status."""
    of_several = (arguments.order, arguments.steps, arguments.figures, arguments.accept)
    if arguments.others or any(of_several):
        from t2ibench.cli.compare_several import compare_several

        return compare_several(arguments)
    from t2ibench.reports.comparison import read_comparison
    from t2ibench.reports.comparison_text import comparison_text
    from t2ibench.reports.writers import WRITERS
    from t2ibench.results.compared_runs import copy_lines

    # An unknown format is an error before any file is read.
    if arguments.format != _PAGE:
        WRITERS.get(arguments.format)
    paths = Path(arguments.first), Path(arguments.second)
    comparison = read_comparison(*paths)
    runs = (comparison.first.results, comparison.second.results)
    _warn_of_unfinished(paths, runs)
    for line in copy_lines((arguments.first, arguments.second), runs):
        print(line, file=sys.stderr)
    if not comparison.agreement and any(map(_measures_agreement, runs)):
        print(_NOT_MEASURED, file=sys.stderr)
    target = Path(arguments.output) if arguments.output else None
    if arguments.format == _PAGE:
        print(f"Comparison: {write_page(comparison, target)}")
        return 0
    if arguments.format == _MARKDOWN:
        text = comparison_text(comparison, rows=arguments.rows)
    else:
        text = _tables(comparison, arguments.format, rows=arguments.rows)
    print_or_write(text, target)
    return 0


def write_page(comparison: Comparison, target: Path | None) -> Path:
    """Write the page that compares two runs; without a target, into the second one's folder."""
    from t2ibench.reports.files import COMPARISON
    from t2ibench.reports.html.comparison_page import comparison_html

    place = target or comparison.second.folder / COMPARISON
    write_text(place, comparison_html(comparison))
    return place


def _tables(comparison: Comparison, name: str, *, rows: bool) -> str:
    """Return the tables of a comparison in a format."""
    from t2ibench.reports.cells import level_of
    from t2ibench.reports.comparison_tables import comparison_table, prompts_table
    from t2ibench.reports.writers import render

    runs = (comparison.first.results, comparison.second.results)
    shown = [
        difference
        for difference in comparison.differences
        if not difference.row or (rows and difference.value is not None)
    ]
    table = comparison_table(
        shown,
        comparison.names,
        level_of(runs[0]),
        agreement=comparison.agreement,
        prompts=comparison.prompts,
        remarks=comparison.remarks,
    )
    text = render(name, table)
    if comparison.prompts and name in _READ:
        prompts = prompts_table(comparison.prompts, comparison.names, runs)
        text = f"{render(name, prompts)}\n{text}"
    return text


def _warn_of_unfinished(paths: Sequence[Path], runs: Sequence[Results]) -> None:
    """Warn that results of incomplete runs must not be reported."""
    if any(results.limited for results in runs):
        print("Made with --limit; not a result to report.", file=sys.stderr)
    for path, results in zip(paths, runs, strict=True):
        if results.partial:
            why = results.what_is_missing
            what = f"{why[0].lower()}{why[1:]}"
            print(f"{path}: {what}; not a result to report.", file=sys.stderr)


def _measures_agreement(results: Results) -> bool:
    """Return whether a run measured how well images agree with their prompts."""
    return any(task.text_image_alignment for task in results.tasks.values())
