"""`t2ibench score RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Score a run again from its stored evidence."""
    from t2ibench.cli.run import print_results
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.rescore import rescore

    reporter = ConsoleReporter()
    results = rescore(Path(arguments.run), reporter)
    print_results(results)
    reporter.say(f"Results: {Path(arguments.run) / 'results.json'} and results.md")
    lacking = any(
        task.reason or task.excluded.get("missing") or task.excluded.get("failed")
        for task in results.tasks.values()
    )
    return 3 if lacking else 0
