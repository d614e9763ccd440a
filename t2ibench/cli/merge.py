"""`t2ibench merge RUN…`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from t2ibench.cli.usage import VERBOSE, add_flag


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "merge",
        help="join the parts that `run --shard I/N` made, and score the whole",
        description="Join parts of a run that share nothing: jobs of an array, machines without a "
        "common disk. The result is that of one machine.",
    )
    add_flag(verb, "runs RUN", "such as runs/shard-*/toy", nargs="+")
    add_flag(verb, "--output-dir DIR", "folder of all runs (the one that holds the parts')")
    add_flag(verb, "--verbose", VERBOSE)
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Join parts of a run, and score the whole."""
    from t2ibench.cli.score import score_run
    from t2ibench.pipeline.merging import merge
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    output = Path(arguments.output_dir) if arguments.output_dir else None
    folder = merge([Path(path) for path in arguments.runs], output, reporter)
    return score_run(folder.path, reporter, verbose=arguments.verbose)
