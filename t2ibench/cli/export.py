"""`t2ibench export`: images of a run, its results, or tasks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from t2ibench.cli.failure import say
from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError

_EXAMPLES = """examples:
  t2ibench export runs/toy --format webdataset             images with prompts, for other tools
  t2ibench export runs/toy --to wandb:my-project           results
  t2ibench export runs/toy --to mlflow --log-args uri=http://127.0.0.1:5000,project=bias
  t2ibench export runs/sdxl --to hf-model:my-org/my-model --log-args dataset=my-org/t2ibench
  t2ibench export --tasks all --output my-dataset          tasks, without a run

`t2ibench ls destinations` lists those of --to; `t2ibench run --log-to` sends after a run.
"""
_SHOWN = 3  # images that are named


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "export",
        help="a run's images as a data set, its results to a tracker or hub, or tasks",
        description="Copy the images of a run with their prompts, as other tools read them; send "
        "its results to trackers, to a data set of the Hugging Face hub or a model's page there; "
        "or write tasks as JSON Lines with Croissant metadata. The run stays as it is.",
        epilog=_EXAMPLES,
    )
    add_flag(verb, "run RUN", "a run folder, such as runs/toy", nargs="?")
    what = verb.add_mutually_exclusive_group(required=True)
    add_flag(
        what,
        "--format F",
        "imagefolder (files and metadata.jsonl), datasets (Parquet with images), webdataset "
        "(tar files), or geneval",
        choices=["imagefolder", "datasets", "webdataset", "geneval"],
    )
    add_flag(
        what,
        "--to D,…",
        "wandb, mlflow, trackio, hf-dataset:OWNER/NAME, hf-model:OWNER/NAME, or a plug-in's; "
        "no images are sent, except those that report.html shows",
        dest="destinations",
    )
    add_flag(what, "--tasks T,…", "tasks instead of a run; see t2ibench ls")
    add_flag(verb, "--output DIR", "a new folder; by default RUN/export/F")
    add_flag(verb, "--log-args k=v,…", "of --to: project=…")
    add_flag(verb, "--include-path DIR", "further tasks", action="append")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Write or send what was asked for."""
    if (arguments.run is None) != (arguments.tasks is not None):
        raise T2IBenchError(
            "Name a run, or tasks: one of them.",
            "`t2ibench export --help` has examples.",
        )
    if arguments.tasks is not None:
        return _export_tasks(arguments)
    return _export_images(arguments) if arguments.format else _export_results(arguments)


def _export_results(arguments: argparse.Namespace) -> int:
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


def _export_tasks(arguments: argparse.Namespace) -> int:
    from t2ibench.reports.taskset import write_taskset
    from t2ibench.tasks.index import load_tasks

    if arguments.output is None:
        raise T2IBenchError("--tasks needs --output DIR, a new or empty folder.")
    include = arguments.include_path or ()
    tasks = load_tasks(arguments.tasks, include, on_left_out=say)
    target = Path(arguments.output)
    written = write_taskset(tasks, target)
    counts = ", ".join(f"{rows:,} {name}" for name, rows in written.items())
    print(f"{counts}: {target}")
    return 0


def _export_images(arguments: argparse.Namespace) -> int:
    from t2ibench.methods.core.describe import listed
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports.exports import export
    from t2ibench.results.run import open_images

    reporter = ConsoleReporter()
    folder, images = open_images(Path(arguments.run))
    model = folder.record.generator.name if folder.record.generator else ""
    target = Path(arguments.output or folder.path / "export" / arguments.format)
    with reporter.stage("Exporting", len(images), "images") as ticker:
        count, damaged = export(images, model, arguments.format, target, ticker.advance)
    if damaged:
        reporter.warn(
            f"Left out, because they are gone or not as they were stored: {listed(damaged, _SHOWN)}"
            ". The run's own command with --generate-only generates them again."
        )
    reporter.say(f"{count:,} images: {target}")
    return 3 if damaged else 0
