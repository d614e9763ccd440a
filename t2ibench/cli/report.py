"""`t2ibench report RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Write a run's results in a format.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status.
    """
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.schema import read_results
    from t2ibench.store.files import write_text

    WRITERS.get(arguments.format)  # before any file is read
    text = render(arguments.format, read_results(Path(arguments.run)))
    if arguments.output:
        write_text(Path(arguments.output), text)
    else:
        print(text, end="")
    return 0
