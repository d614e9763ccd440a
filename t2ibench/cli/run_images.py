"""The images of a run, for verbs that look at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.results.run import RunFolder
    from t2ibench.store.images import ImageStore


def open_images(path: Path) -> tuple[RunFolder, ImageStore]:
    """A run and its images."""
    from t2ibench.results.run import open_run
    from t2ibench.store.images import ImageStore

    folder = open_run(path)
    generator = folder.record.generator
    if generator is None:
        raise T2IBenchError(f"{path} holds no images.", "Give a run of an image model.")
    return folder, ImageStore(folder.database, generator.fingerprint)
