"""`t2ibench where RUN [BEHIND…]`: print where a lean comes from: words, images, a rewriter."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from t2ibench.cli.text_output import print_or_write
from t2ibench.cli.usage import add_flag
from t2ibench.store.files import write_text

_PAGE = "html"
_FIGURE = "svg"
_MARKDOWN = "md"
_DESCRIPTION = """Show where the lean of a test comes from: whether images lean in line with the
words of their prompts as the encoder reads them, to one side on average, or beside the words; and
behind a rewriter, which groups its prompts name and what the images add to that. It works on
occupations tests with two groups. Runs must have measured the same test with the same encoder.

  t2ibench where runs/toy                        words and images of one run
  t2ibench where runs/toy runs/toy-rewritten     and of runs behind a rewriter
  t2ibench where runs/toy --task core_occupations_gender --format html     a page with the figure
  t2ibench where runs/toy --format svg           the figure alone"""


def add(verbs: Any) -> None:
    """Add the command `where` and its flags to the command line."""
    verb = verbs.add_parser(
        "where",
        description=_DESCRIPTION,
    )
    text = "read this run folder, which has no rewriter if others do (required)"
    add_flag(verb, "run RUN", text)
    text = (
        "compare these run folders of the same tasks, each behind a rewriter or another "
        "remedy (default: none)"
    )
    add_flag(verb, "behind BEHIND", text, nargs="*")
    text = (
        "show this test (default: of those that can be shown, the one with most images)"
    )
    add_flag(verb, "--task T", text)
    add_flag(
        verb,
        "--format F",
        "print md, latex, csv or json, or write html, a page of one file, or svg, its figure "
        "alone (default: md)",
        default=_MARKDOWN,
    )
    text = (
        "write to this file (default: print; for html and svg, where.html and where.svg in the "
        "folder of the last run)"
    )
    add_flag(verb, "--output FILE", text)
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or write where a lean comes from, and return the exit status."""
    from t2ibench.reports.figures.word_order import word_order_file
    from t2ibench.reports.html.where_page import where_html
    from t2ibench.reports.where_table import where_table
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.compared_runs import notice_lines, read_runs
    from t2ibench.results.where import where

    # What cannot be written is an error before any file is read.
    if arguments.format not in {_PAGE, _FIGURE}:
        WRITERS.get(arguments.format)
    folders = [arguments.run, *arguments.behind]
    runs = read_runs(folders)
    for line in notice_lines(folders, runs):
        print(line, file=sys.stderr)
    result = where(runs, arguments.task)
    target = Path(arguments.output) if arguments.output else None
    if arguments.format in {_PAGE, _FIGURE}:
        place = target or Path(folders[-1]) / f"where.{arguments.format}"
        is_page = arguments.format == _PAGE
        write_text(place, where_html(result) if is_page else word_order_file(result))
        print(f"Where: {place}")
        return 0
    text = render(arguments.format, where_table(result))
    print_or_write(text, target)
    return 0
