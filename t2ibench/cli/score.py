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
    from t2ibench.reports.files import write_reports
    from t2ibench.results.build import is_complete
    from t2ibench.results.run import open_run

    reporter = ConsoleReporter()
    run = open_run(Path(arguments.run))
    results = rescore(run.path, reporter)
    write_reports(results, run.path)
    print_results(results)
    reporter.say(f"Results: {run.path / 'results.json'} and results.md")
    return 0 if is_complete(results.tasks.values(), run.record.settings.allow_missing) else 3
