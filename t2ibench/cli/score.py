"""`t2ibench score RUN` and `t2ibench merge RUN…`: score stored runs, and join parts of runs."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError, visible

if TYPE_CHECKING:
    from t2ibench.pipeline.progress import Reporter


def add(verbs: Any) -> None:
    """Add the commands `score` and `merge` and their flags to the command line."""
    verb = verbs.add_parser(
        "score",
        description="Score a run again from stored evidence. Nothing is generated, and no model is "
        "loaded, unless the run ended before its images were embedded, as with --max-cost: then "
        "they are embedded and judged first, as the run would have done.",
    )
    add_flag(verb, "run RUN", "read this run folder, such as runs/toy (required)")
    add_flag(
        verb,
        "--allow-missing",
        "score the existing images although some prompts have none, and "
        "report it (default: no score)",
    )
    add_flag(verb, "--verbose", "print results.md too (default: the summary)")
    verb.set_defaults(handler=run)
    verb = verbs.add_parser(
        "merge",
        description="Join parts of a run that share nothing: jobs of an array, machines without a "
        "common disk. The result equals that of one machine. Missing or unfinished parts are "
        "named, with the command that runs them, and nothing is scored.",
    )
    add_flag(
        verb,
        "runs RUN",
        "join these run folders, which `run --shard` made: runs/shard-*/toy (required)",
        nargs="+",
    )
    add_flag(
        verb,
        "--output-dir DIR",
        "write the joined run into DIR (default: runs, for runs/shard-*/toy)",
    )
    add_flag(
        verb,
        "--allow-missing",
        "score without the missing parts, and report it (default: no score)",
    )
    add_flag(verb, "--verbose", "print results.md too (default: the summary)")
    verb.set_defaults(handler=run_merge)


def run(arguments: argparse.Namespace) -> int:
    """Recompute the scores of a run from stored evidence, and return the exit status."""
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.results.run import open_run

    path, reporter = Path(arguments.run), ConsoleReporter()
    folder = open_run(path)
    part = folder.record.part
    if part is not None and not arguments.allow_missing:
        others = folder.path.parent.with_name("shard-*") / folder.path.name
        raise T2IBenchError(
            f"{folder.path} is part {part[0]} of {part[1]} of a run, and is not scored alone.",
            f"When all parts are done: t2ibench merge {others}",
        )
    return _score_stored(path, reporter, arguments)


def _score_stored(path: Path, reporter: Any, arguments: argparse.Namespace) -> int:
    """Score a run, after embedding and judging if necessary; return the exit status."""
    from t2ibench.pipeline.stored_run import lacks_observations
    from t2ibench.results.run import open_run

    if lacks_observations(open_run(path)):
        call = visible(shlex.join(arguments.argv))
        allow_missing = arguments.allow_missing
        return _observe_and_score(
            path, reporter, call, allow_missing, arguments.verbose
        )
    return _score(path, reporter, verbose=arguments.verbose)


def _observe_and_score(
    path: Path, reporter: Any, call: str, allow_missing: bool, verbose: bool
) -> int:
    """Embed, judge and score the images of a run; print results and return the exit status."""
    from t2ibench.cli.run import announce, finish
    from t2ibench.pipeline.run import execute
    from t2ibench.pipeline.stop_request import on_sigterm
    from t2ibench.pipeline.stored_run import prepare_stored

    with reporter.opening("Reading the run, loading the models …"):
        context, models = prepare_stored(path, allow_missing=allow_missing, call=call)
        announce(context, models, reporter)
        with on_sigterm():
            outcome = execute(context, models, reporter)
            return finish(outcome, context, models, reporter, verbose=verbose)


def run_merge(arguments: argparse.Namespace) -> int:
    """Merge parts of a run, score the result, and return the exit status."""
    from t2ibench.pipeline.merging import merge
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    output = Path(arguments.output_dir) if arguments.output_dir else None
    paths = [Path(path) for path in arguments.runs]
    folder = merge(paths, output, reporter, allow_missing=arguments.allow_missing)
    return _score_stored(folder.path, reporter, arguments)


def _score(path: Path, reporter: Reporter, *, verbose: bool) -> int:
    """Score a run, write and print its reports, and return the exit status."""
    from t2ibench.pipeline.rescoring import rescore
    from t2ibench.reports.files import task_files, write_reports
    from t2ibench.reports.terminal import print_results

    results, complete = rescore(path, reporter)
    folder = results.folder
    assert folder is not None
    write_reports(results, folder)
    print_results(results, task_files(results, folder), folder=folder, verbose=verbose)
    return 0 if complete else 3
