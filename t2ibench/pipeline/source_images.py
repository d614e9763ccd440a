"""The source images of a run, which are stored in a run of their own inside its folder."""

from __future__ import annotations

from pathlib import Path

from t2ibench.methods.core.edit_evidence import SourceImage
from t2ibench.methods.core.evidence import SOURCE
from t2ibench.results.run import RunFolder, is_run, open_run
from t2ibench.store.distinct import REPEATED, DistinctImages
from t2ibench.store.images import Attempt, ImageFile, ImageStore

# The folder, inside a run's folder, of the run that made its source images.
FOLDER = "sources"


# A source image with one of these statuses may be there after the next run; and the edits of one
# that repeats another are no further evidence.
_PASSED_ON = frozenset({"failed", "missing", REPEATED})


def status_without_source(status: str) -> str:
    """Return the status of the edits of a source image that cannot be edited.

    It is 'source' for good where the source image was refused or filtered. Where it failed or is
    missing, so are its edits: the same command again makes them.

    Args:
        status: That of the source image; 'missing' if it was never attempted.
    """
    return status if status in _PASSED_ON else SOURCE


class SourceImages:
    """The source images that exist, by the prompts that they were generated from.

    A source image that repeats an earlier one of its prompt is no further evidence: nothing is made
    from it.
    """

    def __init__(self, images: ImageStore) -> None:
        self.images = images
        self._distinct = DistinctImages(images)

    def attempt(self, source: SourceImage) -> Attempt | None:
        """Return the record of a source image; None if it was never attempted."""
        return self._distinct.nth(source.prompt, source.index)

    def file(self, source: SourceImage) -> ImageFile | None:
        """Return the file of a source image; None if there is none, or if it is repeated."""
        attempt = self.attempt(source)
        if attempt is None or attempt.status != "ok" or attempt.sha256 is None:
            return None
        return ImageFile(str(self.images.path(attempt)), attempt.sha256)


def source_folder(run: Path) -> RunFolder | None:
    """Return the run with the source images of another run; None if that has none."""
    path = run / FOLDER
    return open_run(path) if is_run(path) else None


def stored_source_images(run: Path) -> SourceImages | None:
    """Return the source images that are stored in a run's folder; None if there are none."""
    folder = source_folder(run)
    return None if folder is None else source_images_in(folder)


def source_images_in(folder: RunFolder) -> SourceImages | None:
    """Return the source images of the run that makes them; None if it has not begun."""
    generator = folder.record.generator
    if generator is None:
        return None
    return SourceImages(ImageStore(folder.database, generator.fingerprint))
