"""`t2ibench score RUN` and `t2ibench merge RUN…`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag

if TYPE_CHECKING:
    from t2ibench.pipeline.progress import Reporter


def add(verbs: Any) -> None:
    """Add the verbs."""
    verb = verbs.add_parser(
        "score",
        help="compute a run's scores again from what is stored; loads no model",
        description="Score a run again from its stored evidence. No model is loaded.",
    )
    add_flag(verb, "run RUN", "a run folder, such as runs/toy")
    add_flag(verb, "--verbose", "print results.md too")
    verb.set_defaults(handler=run)
    verb = verbs.add_parser(
        "merge",
        help="join the parts that `run --shard I/N` made, and score the whole",
        description="Join parts of a run that share nothing: jobs of an array, machines without a "
        "common disk. The result is that of one machine. Parts that are missing or not finished "
        "are named, with the command that makes them, and nothing is scored.",
    )
    add_flag(verb, "runs RUN", "run folders of the parts, such as runs/shard-*/toy", nargs="+")
    add_flag(
        verb,
        "--output-dir DIR",
        "write the run into DIR (default: the folder of the parts' folders)",
    )
    add_flag(verb, "--allow-missing", "score without the parts that are missing, and say so")
    add_flag(verb, "--verbose", "print results.md too")
    verb.set_defaults(handler=run_merge)


def run(arguments: argparse.Namespace) -> int:
    """Score a run again from its stored evidence."""
    from t2ibench.pipeline.progress import ConsoleReporter

    return _score(Path(arguments.run), ConsoleReporter(), verbose=arguments.verbose)


def run_merge(arguments: argparse.Namespace) -> int:
    """Join parts of a run, and score the whole."""
    from t2ibench.pipeline.merging import merge
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    output = Path(arguments.output_dir) if arguments.output_dir else None
    paths = [Path(path) for path in arguments.runs]
    folder = merge(paths, output, reporter, allow_missing=arguments.allow_missing)
    return _score(folder.path, reporter, verbose=arguments.verbose)


def _score(path: Path, reporter: Reporter, *, verbose: bool) -> int:
    """Score a run, write its reports and show them; the exit status."""
    from t2ibench.pipeline.rescoring import rescore
    from t2ibench.reports.files import task_files, write_reports
    from t2ibench.reports.terminal import print_results

    results, complete = rescore(path, reporter)
    folder = results.folder
    assert folder is not None
    write_reports(results, folder)
    print_results(results, task_files(results, folder), folder=folder, verbose=verbose)
    return 0 if complete else 3
