"""`t2ibench frontier BEFORE AFTER`: print what remedies change, and what they cost."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from t2ibench.cli.text_output import print_or_write
from t2ibench.cli.usage import add_flag
from t2ibench.store.files import write_text

_PAGE = "html"
_MARKDOWN = "md"
_DESCRIPTION = """Show what a remedy changes and what it costs, from a run without it and runs with
it, of the same tasks: a rewriter, a system prompt, a hook, a LoRA, a request or another checkpoint.
Five numbers before and after, with intervals: the lean; images that contradict their prompt; how
far other attributes move; diversity within groups; agreement with prompts. And refusals by group.

  t2ibench frontier runs/before runs/after         a table, and each clear cost in a sentence
  t2ibench frontier runs/before runs/lora runs/rewriter --format html      a page with the plane
  t2ibench frontier runs/before runs/after --task core_occupations_gender --axes lean,diversity
  t2ibench frontier runs/before runs/after --format json"""


def add(verbs: Any) -> None:
    """Add the command `frontier` and its flags to the command line."""
    verb = verbs.add_parser(
        "frontier",
        description=_DESCRIPTION,
    )
    text = "compare with this run folder, which has no remedy (required)"
    add_flag(verb, "before BEFORE", text)
    text = "compare these run folders, each with another remedy (required)"
    add_flag(verb, "after AFTER", text, nargs="+")
    text = (
        "measure the lean of this test (default: of the tests whose guided images a judge has "
        "seen, the one with most images)"
    )
    add_flag(verb, "--task T", text)
    add_flag(
        verb,
        "--axes X,Y",
        "draw these two of lean, contradictions, spill_over, diversity, and agreement of image and "
        "prompt (default: lean,diversity)",
        default="lean,diversity",
    )
    add_flag(
        verb,
        "--format F",
        "print md, latex, csv or json, or write html, a page of one file, or svg, its plane "
        "alone (default: md)",
        default=_MARKDOWN,
    )
    text = (
        "write to this file (default: print; for html and svg, frontier.html and frontier.svg in "
        "the folder of the first AFTER)"
    )
    add_flag(verb, "--output FILE", text)
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or write what remedies change and cost, and return the exit status."""
    from t2ibench.reports.figures.plane import axes_of, plane_file
    from t2ibench.reports.frontier_table import frontier_table
    from t2ibench.reports.html.frontier_page import frontier_html
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.compared_runs import notice_lines, read_runs
    from t2ibench.results.frontier import frontier

    # What cannot be drawn or written is an error before any file is read.
    axes = axes_of(arguments.axes)
    if arguments.format not in {_PAGE, "svg"}:
        WRITERS.get(arguments.format)
    folders = [arguments.before, *arguments.after]
    runs = read_runs(folders)
    for line in notice_lines(folders, runs):
        print(line, file=sys.stderr)
    result = frontier(runs, arguments.task)
    target = Path(arguments.output) if arguments.output else None
    if arguments.format in {_PAGE, "svg"}:
        place = target or Path(arguments.after[0]) / f"frontier.{arguments.format}"
        is_page = arguments.format == _PAGE
        write_text(
            place, frontier_html(result, axes) if is_page else plane_file(result, axes)
        )
        print(f"Frontier: {place}")
        return 0
    text = render(arguments.format, frontier_table(result))
    print_or_write(text, target)
    return 0
