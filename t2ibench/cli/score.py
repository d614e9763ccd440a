"""`t2ibench score RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import VERBOSE, add_flag

if TYPE_CHECKING:
    from t2ibench.pipeline.progress import Reporter


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "score",
        help="compute a run's scores again from what is stored; loads no model",
        description="Score a run again from its stored evidence. No model is loaded.",
    )
    add_flag(verb, "run RUN", "a run folder, such as runs/toy")
    add_flag(verb, "--verbose", VERBOSE)
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Score a run again from its stored evidence."""
    from t2ibench.pipeline.progress import ConsoleReporter

    return score_run(Path(arguments.run), ConsoleReporter(), verbose=arguments.verbose)


def score_run(path: Path, reporter: Reporter, *, verbose: bool) -> int:
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
