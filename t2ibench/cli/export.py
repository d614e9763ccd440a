"""`t2ibench export`: export the images of a run, its samples, or its results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError

_EXAMPLES = """examples:
  t2ibench export runs/toy                                 images with prompts, for other tools
  t2ibench export runs/toy --samples                       data of each image, as Parquet
  t2ibench export runs/toy --to wandb:my-project           results
  t2ibench export runs/sdxl --to hf-dataset:my-org/bias-results

`t2ibench ls destinations` lists those of --to; `t2ibench run --log-to` sends after a run.
"""
_SHOWN = 3  # damaged images that a message names


def add(verbs: Any) -> None:
    """Add the command `export` and its flags to the command line."""
    verb = verbs.add_parser(
        "export",
        description="Copy the images of a run with their prompts, as a folder of files with "
        "metadata.jsonl, which datasets.load_dataset('imagefolder', data_dir=…) reads; or write "
        "its samples, the data of each image behind the scores, as a Parquet file a task; or send "
        "its results to a tracker, or to a data set of the Hugging Face hub. The run stays as it "
        "is.",
        epilog=_EXAMPLES,
    )
    add_flag(verb, "run RUN", "read this run folder, such as runs/toy (required)")
    add_flag(
        verb,
        "--to D,…",
        "send results to wandb, mlflow, hf-dataset:OWNER/NAME, or a plug-in's destination; no "
        "images are sent except those that report.html shows (default: nowhere)",
        dest="destinations",
    )
    add_flag(
        verb,
        "--output DIR",
        "write the images, or the samples, into this new folder (default: RUN/export, or "
        "RUN/samples)",
    )
    add_flag(
        verb,
        "--samples",
        "write the data of each image as Parquet, and no images (default: copy the images)",
    )
    add_flag(verb, "--log-args k=v,…", "set options of --to: project=… (default: none)")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the images of a run, or send its results; return the exit status."""
    if arguments.log_args and not arguments.destinations:
        raise T2IBenchError("--log-args needs --to.", "Name a destination: --to wandb")
    if arguments.destinations and arguments.samples:
        raise T2IBenchError(
            "--samples writes files, and --to sends results.",
            "Leave one of them out; hf-dataset sends samples with --log-args samples=true.",
        )
    if arguments.samples:
        return _export_samples(arguments)
    return (
        _export_results(arguments)
        if arguments.destinations
        else _export_images(arguments)
    )


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
    return (
        0
        if send_results(destinations, results, folder_of(path), ConsoleReporter())
        else 1
    )


def _export_samples(arguments: argparse.Namespace) -> int:
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports.exchange.samples import export_samples
    from t2ibench.results.files import read_results
    from t2ibench.results.run import folder_of

    path = Path(arguments.run)
    folder = folder_of(path)
    target = Path(arguments.output or folder / "samples")
    written = export_samples(read_results(path), folder, target)
    total = sum(count for _, count in written.values())
    plural = "" if len(written) == 1 else "s"
    ConsoleReporter().say(f"{total:,} samples of {len(written)} task{plural}: {target}")
    return 0


def _export_images(arguments: argparse.Namespace) -> int:
    from t2ibench.methods.core.describe import listed
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports.exports import export
    from t2ibench.results.run import open_images

    reporter = ConsoleReporter()
    folder, images = open_images(Path(arguments.run))
    model = folder.record.generator.name if folder.record.generator else ""
    target = Path(arguments.output or folder.path / "export")
    with reporter.stage("Exporting", len(images), "images") as ticker:
        count, damaged = export(images, model, target, ticker.advance)
    if damaged:
        reporter.warn(
            f"Left out, because they are missing or changed: {listed(damaged, _SHOWN)}. "
            "Run the original command with --generate-only to regenerate them."
        )
    reporter.say(f"{count:,} images: {target}")
    return 3 if damaged else 0
