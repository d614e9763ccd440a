"""`t2ibench score RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Score a run again from its stored evidence."""
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.rescore import rescore
    from t2ibench.reports.files import task_files, write_reports
    from t2ibench.reports.terminal import print_results

    reporter = ConsoleReporter()
    rescored = rescore(Path(arguments.run), reporter)
    write_reports(rescored.results, rescored.folder)
    print_results(
        rescored.results,
        task_files(rescored.results, rescored.folder),
        folder=rescored.folder,
        verbose=arguments.verbose,
    )
    return 0 if rescored.complete else 3
