"""`t2ibench push RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Send a run's results to destinations."""
    from t2ibench.arguments import args_of, names_of
    from t2ibench.cli.run import send_results
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports.destinations import choose
    from t2ibench.results.files import read_results
    from t2ibench.results.run import folder_of

    destinations = choose(
        names_of(arguments.destinations), args_of(arguments.log_args, "--log-args")
    )
    path = Path(arguments.run)
    results = read_results(path)
    return 0 if send_results(destinations, results, folder_of(path), ConsoleReporter()) else 1
