"""`t2ibench report RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag

if TYPE_CHECKING:
    from t2ibench.results.schema import Results


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "report",
        help="write report.html; with --format, the results as csv, md, latex, card, …",
        description="Write report.html, a page of one file: what leans which way, how sure that "
        "is, and the images behind it. With --format, print the results in that format.",
    )
    add_flag(verb, "run RUN", "a run folder, such as runs/toy")
    add_flag(verb, "--format F", "md, latex, csv; see t2ibench ls writers")
    add_flag(verb, "--output FILE", "where to write it")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Write report.html, or a run's results in another format."""
    from t2ibench.reports.writers import render
    from t2ibench.results.files import read_results
    from t2ibench.store.files import write_text

    results = read_results(Path(arguments.run))
    if arguments.format is None:
        _page(arguments, results)
    else:
        text = render(arguments.format, results)
        if arguments.output:
            write_text(Path(arguments.output), text)
        else:
            print(text, end="")
    return 0


def _page(arguments: argparse.Namespace, results: Results) -> None:
    """Write report.html into the run folder, or where --output says."""
    from t2ibench.reports.files import task_files, write_page
    from t2ibench.reports.view import run_view

    folder = Path(arguments.run)
    if not folder.is_dir():
        folder = folder.parent
    run = run_view(results, task_files(results, folder))
    target = Path(arguments.output) if arguments.output else None
    print(f"Report: {write_page(run, folder, target)}")
