"""`t2ibench report RUN`: write a run's report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from t2ibench.cli.usage import add_flag


def add(verbs: Any) -> None:
    """Add the command `report` and its flags to the command line."""
    verb = verbs.add_parser(
        "report",
        help="write report.html; with --format, the results as csv, md, latex, card, …",
        description="Write report.html, a page of one file: what leans which way, how sure that "
        "is, and the images behind it. With --format, print the results in that format.",
    )
    add_flag(verb, "run RUN", "read this run folder, such as runs/toy (required)")
    add_flag(
        verb,
        "--format F",
        "write this format: md, latex, csv, …; see `t2ibench ls "
        "writers` (default: report.html and all others)",
    )
    add_flag(verb, "--output FILE", "write to this file (default: see docs/reports.md)")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Write report.html, or a run's results in another format; return the exit status."""
    from t2ibench.reports.files import task_files, write_page
    from t2ibench.reports.view import run_view
    from t2ibench.reports.writers import render
    from t2ibench.results.files import read_results
    from t2ibench.store.files import write_text

    path = Path(arguments.run)
    results = read_results(path)
    target = Path(arguments.output) if arguments.output else None
    if arguments.format is None:
        folder = path if path.is_dir() else path.parent
        run = run_view(results, task_files(results, folder))
        print(f"Report: {write_page(run, folder, target)}")
    elif target is None:
        print(render(arguments.format, results), end="")
    else:
        write_text(target, render(arguments.format, results))
    return 0
