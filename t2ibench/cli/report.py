"""`t2ibench report RUN`: write a run's report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError


def add(verbs: Any) -> None:
    """Add the command `report`."""
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
    add_flag(
        verb,
        "--baseline OTHER",
        "write comparison.html, a page that compares OTHER with RUN (default: report.html)",
    )
    add_flag(verb, "--output FILE", "write to this file (default: see docs/reports.md)")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Write report.html, or a run's results in another format."""
    from t2ibench.reports.files import task_files, write_page
    from t2ibench.reports.view import run_view
    from t2ibench.reports.writers import render
    from t2ibench.results.files import read_results
    from t2ibench.store.files import write_text

    path = Path(arguments.run)
    target = Path(arguments.output) if arguments.output else None
    if arguments.baseline is not None:
        return _write_comparison(arguments, target)
    results = read_results(path)
    if arguments.format is None:
        folder = path if path.is_dir() else path.parent
        run = run_view(results, task_files(results, folder))
        print(f"Report: {write_page(run, folder, target)}")
    elif target is None:
        print(render(arguments.format, results), end="")
    else:
        write_text(target, render(arguments.format, results))
    return 0


def _write_comparison(arguments: argparse.Namespace, target: Path | None) -> int:
    """Write the page that compares a run with another, such as one before a change."""
    from t2ibench.cli.compare import write_page
    from t2ibench.reports.comparison import read_comparison

    if arguments.format is not None:
        raise T2IBenchError(
            "--baseline writes a page.",
            "`t2ibench compare OTHER RUN --format F` prints another format.",
        )
    comparison = read_comparison(Path(arguments.baseline), Path(arguments.run))
    print(f"Comparison: {write_page(comparison, target)}")
    return 0
