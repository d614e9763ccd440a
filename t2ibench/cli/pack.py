"""`t2ibench pack RUN`, `t2ibench unpack RUN` and `t2ibench export RUN`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from t2ibench.results.run import RunFolder
    from t2ibench.store.images import ImageStore
    from t2ibench.store.locks import Notices
    from t2ibench.store.packing import Report

_SHOWN = 3  # damaged images that are named
_MIB = 2**20


def run_pack(arguments: argparse.Namespace) -> int:
    """Put a run's images into packs."""
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.store.packing import pack

    reporter = ConsoleReporter()
    with _alone(arguments, reporter) as images:
        if images.damage:
            reporter.warn(images.damage.found())
        with reporter.stage("Packing", len(images), "images") as ticker:
            report = pack(images, size=arguments.size * _MIB, advance=ticker.advance)
    for line in _damaged(report):
        reporter.warn(line)
    if report.images:
        reporter.say(
            f"{report.images:,} images ({report.size / _MIB:,.0f} MiB) packed into "
            f"{report.packs:,} file{'s' if report.packs > 1 else ''}: {images.packs.folder}"
        )
    else:
        reporter.say(f"Nothing to pack: {len(images.packs):,} images are packed.")
    return 3 if report.damaged else 0


def run_unpack(arguments: argparse.Namespace) -> int:
    """Make files of packed images again."""
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.store.unpacking import unpack

    reporter = ConsoleReporter()
    with (
        _alone(arguments, reporter) as images,
        reporter.stage("Unpacking", len(images.packs), "images") as ticker,
    ):
        report = unpack(images, advance=ticker.advance)
    for line in _damaged(report):
        reporter.warn(line)
    reporter.say(f"{report.images:,} images ({report.size / _MIB:,.0f} MiB): {images.root}")
    return 3 if report.damaged else 0


def run_export(arguments: argparse.Namespace) -> int:
    """Write a run's images for other tools."""
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports.exports import export

    reporter = ConsoleReporter()
    folder = _open(Path(arguments.run))
    images = _images(folder)
    target = Path(arguments.output or folder.path / "export" / arguments.format)
    assert folder.record.generator is not None
    model = folder.record.generator.name
    with reporter.stage("Exporting", len(images), "images") as ticker:
        report = export(images, model, arguments.format, target, ticker.advance)
    for line in _damaged(report):
        reporter.warn(line)
    reporter.say(f"{report.images:,} images: {target}")
    return 3 if report.damaged else 0


def _open(path: Path) -> RunFolder:
    from t2ibench.errors import T2IBenchError
    from t2ibench.results.run import open_run

    folder = open_run(path)
    if folder.record.generator is None:
        raise T2IBenchError(f"{path} holds no images.", "Give a run of an image model.")
    return folder


def _images(folder: RunFolder) -> ImageStore:
    from t2ibench.store.images import ImageStore

    assert folder.record.generator is not None
    return ImageStore(folder.images, folder.record.generator.fingerprint)


@contextmanager
def _alone(arguments: argparse.Namespace, notices: Notices) -> Iterator[ImageStore]:
    """What a run holds, while nobody else writes to it."""
    from t2ibench.store.files import remove_abandoned
    from t2ibench.store.packing import alone

    folder = _open(Path(arguments.run))
    with alone(folder.path, notices):
        remove_abandoned(folder.path)
        yield _images(folder)


def _damaged(report: Report) -> list[str]:
    """A line about images that are not as they were stored, if there are."""
    if not report.damaged:
        return []
    names = ", ".join(report.damaged[:_SHOWN])
    more = f" and {len(report.damaged) - _SHOWN} more" if len(report.damaged) > _SHOWN else ""
    return [
        f"Left out, because they are gone or not as they were stored: {names}{more}. "
        "The run's own command with --generate-only generates them again."
    ]
