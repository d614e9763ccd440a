"""`t2ibench export RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path

_SHOWN = 3  # images that are named


def run(arguments: argparse.Namespace) -> int:
    """Write a run's images for other tools."""
    from t2ibench.errors import T2IBenchError
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports.exports import export
    from t2ibench.results.run import open_run
    from t2ibench.store.images import ImageStore

    reporter = ConsoleReporter()
    folder = open_run(Path(arguments.run))
    generator = folder.record.generator
    if generator is None:
        raise T2IBenchError(f"{folder.path} holds no images.", "Give a run of an image model.")
    images = ImageStore(folder.images, generator.fingerprint)
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
