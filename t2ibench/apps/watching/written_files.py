"""Which files of a folder are written to their end, as another program keeps writing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import read_image


class FileState(NamedTuple):
    """Size in bytes and time of the last change, in nanoseconds, of a file."""

    size: int
    modified: int


def state_of(path: Path) -> FileState | None:
    """Return the state of a file; None if there is none."""
    try:
        entry = path.stat()
    except OSError:
        return None
    return FileState(entry.st_size, entry.st_mtime_ns)


class WrittenFiles:
    """Tells which image files are written: unchanged since the look before, and readable.

    A program that writes slowly, or over a network, may leave a file unchanged for a while, so an
    image also has to be readable to its end.
    """

    def __init__(self) -> None:
        self._seen: dict[Path, FileState] = {}
        self._readable: dict[Path, FileState] = {}
        # Files that stopped changing but are no complete image, with the reason.
        self.unreadable: dict[Path, str] = {}

    def look(self, paths: Iterable[Path]) -> dict[Path, FileState]:
        """Return the written files among these, each with its state, and remember all states."""
        now: dict[Path, FileState] = {}
        for path in paths:
            state = state_of(path)
            if state is not None:
                now[path] = state
        unchanged = {
            path: state
            for path, state in now.items()
            if state.size and self._seen.get(path) == state
        }
        self._seen = now
        self.unreadable.clear()
        return {
            path: state
            for path, state in unchanged.items()
            if self._is_readable(path, state)
        }

    def _is_readable(self, path: Path, state: FileState) -> bool:
        """Return whether an image can be decoded; each state of a file is decoded once."""
        if self._readable.get(path) == state:
            return True
        try:
            read_image(path)
        except UnreadableImageError as error:
            self.unreadable[path] = str(error)
            return False
        self._readable[path] = state
        return True
