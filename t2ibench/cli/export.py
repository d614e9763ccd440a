"""`t2ibench export`: images of a run, its results, or tasks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from t2ibench.errors import T2IBenchError

_SHOWN = 3  # images that are named


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

    def left_out(line: str) -> None:
        print(f"t2ibench: {line}", file=sys.stderr)

    if arguments.output is None:
        raise T2IBenchError("--tasks needs --output DIR, a new or empty folder.")
    include = arguments.include_path or ()
    tasks = load_tasks(arguments.tasks, include, on_left_out=left_out)
    target = Path(arguments.output)
    written = write_taskset(tasks, target)
    counts = ", ".join(f"{rows:,} {name}" for name, rows in written.items())
    print(f"{counts}: {target}")
    return 0


def _export_images(arguments: argparse.Namespace) -> int:
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports.exports import export
    from t2ibench.results.run import open_run
    from t2ibench.store.images import ImageStore

    reporter = ConsoleReporter()
    folder = open_run(Path(arguments.run))
    generator = folder.record.generator
    if generator is None:
        raise T2IBenchError(f"{folder.path} holds no images.", "Give a run of an image model.")
    images = ImageStore(folder.database, generator.fingerprint)
    target = Path(arguments.output or folder.path / "export" / arguments.format)
    with reporter.stage("Exporting", len(images), "images") as ticker:
        count, damaged = export(images, generator.name, arguments.format, target, ticker.advance)
    if damaged:
        more = f" and {len(damaged) - _SHOWN} more" if len(damaged) > _SHOWN else ""
        reporter.warn(
            "Left out, because they are gone or not as they were stored: "
            f"{', '.join(damaged[:_SHOWN])}{more}. The run's own command with --generate-only "
            "generates them again."
        )
    reporter.say(f"{count:,} images: {target}")
    return 3 if damaged else 0
