"""`t2ibench score RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Score a run again from its stored evidence.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status: 3 if evidence is missing.
    """
    from t2ibench.cli.run import print_results
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.rescore import rescore
    from t2ibench.reports.files import task_files, write_reports
    from t2ibench.results.build import is_complete

    reporter = ConsoleReporter()
    results = rescore(Path(arguments.run), reporter)
    write_reports(results, Path(arguments.run))
    print_results(results, task_files(results, Path(arguments.run)))
    where = Path(arguments.run) / "results.json"
    reporter.say(f"Results: {where}, results.md and report.html")
    return 0 if is_complete(results.tasks.values()) else 3
