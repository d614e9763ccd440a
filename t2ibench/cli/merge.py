"""`t2ibench merge RUN…`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Join parts of a run, and score the whole."""
    from t2ibench.cli.score import score_run
    from t2ibench.pipeline.merging import merge
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    output = Path(arguments.output_dir) if arguments.output_dir else None
    folder = merge([Path(path) for path in arguments.runs], output, reporter)
    return score_run(folder.path, reporter, verbose=arguments.verbose)
