"""The source images of a run's edits, which the wall shows beside what was made of them."""

from __future__ import annotations

from t2ibench.apps.explorer.album import Album, Picture, Source
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.source_images import stored_source_images

_BySha256 = dict[str, Picture]


class SourcePictures:
    """The source images of the edits of an album's runs, read when the first is asked for."""

    def __init__(self, album: Album) -> None:
        self._album = album
        self._by_run: dict[int, _BySha256] = {}

    def of(self, run: int, number: int) -> Picture | None:
        """Return the source image of an image on the wall.

        Args:
            run: Which of the runs.
            number: The image's number on its wall.

        Returns:
            None for an image that no other was edited for, and where its run has lost that one.
        """
        source = self._album.source(run)
        if number >= len(source.entries):
            return None
        sha256 = source.entries[number].attempt.source
        if sha256 is None:
            return None
        if run not in self._by_run:
            self._by_run[run] = _pictures(source, run)
        return self._by_run[run].get(sha256)


def _pictures(source: Source, run: int) -> _BySha256:
    """Return the stored source images of a run by the hashes of their files."""
    try:
        stored = stored_source_images(source.folder)
    except T2IBenchError:
        return {}
    if stored is None:
        return {}
    return {
        attempt.sha256: Picture(
            stored.images.path(attempt), attempt.sha256, attempt.key, run
        )
        for attempt in stored.images.attempts()
        if attempt.status == "ok" and attempt.sha256 is not None
    }
