"""`t2ibench report RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Write a run's results in a format.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status: 4 where --fail-on says so.
    """
    from t2ibench.cli.gates import report
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.gates import RUN, check_run, parse_gates
    from t2ibench.results.reading import read_results
    from t2ibench.store.files import write_text

    WRITERS.get(arguments.format)  # before any file is read
    gates = parse_gates(arguments.fail_on or [], RUN)
    results = read_results(Path(arguments.run))
    text = render(arguments.format, results)
    if arguments.output:
        write_text(Path(arguments.output), text)
    else:
        print(text, end="")
    return report(check_run(gates, results)) if gates else 0
