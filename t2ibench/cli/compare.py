"""`t2ibench compare OLD NEW`: print the differences of two runs, or of several."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.results.schema import Results

# Formats for people, which have an extra table of prompts at the top.
_READ = ("md", "latex")
_NOT_MEASURED = (
    "Agreement with the prompts was not measured in both runs by one encoder; `t2ibench score RUN` "
    "measures it where the prompts are embedded, and the run's command where they are not."
)


_DESCRIPTION = """Compare two runs: a model and its debiased version, or training images
(--model folder:DIR) and a model, where leaning more is amplification. Images are paired by prompt
and index. Three to twenty runs stand side by side, with one test of whether they differ at all.

  t2ibench compare runs/before runs/after          how much more the second leans, test by test
  t2ibench compare runs/a runs/b runs/c            three runs: where they differ beyond chance
  t2ibench compare runs/step-* --order             checkpoints: the trend of each test
  t2ibench compare runs/step-1000 runs/step-2000 runs/step-8000 \\
      --steps 1000,2000,8000 --figures trend       the same at numbers of steps, and as a figure"""


def add(verbs: Any) -> None:
    """Add the command `compare` and its flags to the command line."""
    verb = verbs.add_parser(
        "compare",
        help="compare two runs: how much more the second leans; or up to twenty",
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
        "print md, latex, csv, json or a plug-in's format (default: md)",
        default="md",
    )
    add_flag(
        verb,
        "--order",
        "add the trend of each test over three or more runs in this order (default: no trend)",
    )
    add_flag(
        verb,
        "--steps N,N,N",
        "compare the runs at these numbers, such as training steps (default: 1,2,3,…)",
    )
    add_flag(
        verb,
        "--figures DIR",
        "write the trend to this folder as trend.svg, .png, .pdf and .csv (default: no figure)",
    )
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the differences of two runs, and return the exit status."""
    if arguments.others or arguments.order or arguments.steps or arguments.figures:
        from t2ibench.cli.compare_several import compare_several

        return compare_several(arguments)
    from t2ibench.reports.cells import level_of
    from t2ibench.reports.comparison_tables import comparison_table, prompts_table
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.comparison import compare
    from t2ibench.results.comparison_remarks import rewriting_line, unread_lines
    from t2ibench.results.files import read_results
    from t2ibench.results.paired import read_paired
    from t2ibench.results.prompt_changes import compare_prompts
    from t2ibench.results.text_image_alignment import compare_agreement

    # An unknown format is an error before any file is read.
    WRITERS.get(arguments.format)
    paths = Path(arguments.first), Path(arguments.second)
    first, second = runs = (read_results(paths[0]), read_results(paths[1]))
    paired = [read_paired(path) for path in paths]
    differences = compare(first, second, *paired)
    prompts = compare_prompts(first, second)
    agreement = compare_agreement(first, second, *paired)
    _warn_of_unfinished(paths, runs)
    if not differences:
        raise T2IBenchError(
            "The two runs have no task in common.", "Run both on the same tasks."
        )
    names = _names(paths, runs, [arguments.first, arguments.second])
    shown = [
        difference
        for difference in differences
        if not difference.row or (arguments.rows and difference.value is not None)
    ]
    rewriting = rewriting_line(first, second)
    table = comparison_table(
        shown,
        names,
        level_of(first),
        agreement=agreement,
        prompts=prompts,
        remarks=[
            *unread_lines(first, second, names),
            *([rewriting] if rewriting else []),
        ],
    )
    if prompts and arguments.format in _READ:
        print(render(arguments.format, prompts_table(prompts, names, runs)))
    if not agreement and any(map(_measures_agreement, runs)):
        print(_NOT_MEASURED, file=sys.stderr)
    print(render(arguments.format, table), end="")
    return 0


def _warn_of_unfinished(paths: Sequence[Path], runs: Sequence[Results]) -> None:
    """Warn that results of incomplete runs must not be reported."""
    if any(results.limited for results in runs):
        print("Made with --limit; not a result to report.", file=sys.stderr)
    for path, results in zip(paths, runs, strict=True):
        if results.partial:
            why = results.what_is_missing
            what = f"{why[0].lower()}{why[1:]}"
            print(f"{path}: {what}; not a result to report.", file=sys.stderr)


def _names(
    paths: Sequence[Path], runs: Sequence[Results], given: Sequence[str]
) -> Sequence[str]:
    """Return distinct names for the runs: their titles, else folder names, else the given paths."""
    titles = [results.title for results in runs]
    folders = [path.resolve().name for path in paths]
    for names in (titles, folders):
        if len(set(names)) == len(names):
            return names
    return given


def _measures_agreement(results: Results) -> bool:
    """Return whether a run measured how well images agree with their prompts."""
    return any(task.text_image_alignment for task in results.tasks.values())
