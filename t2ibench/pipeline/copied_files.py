"""Copy the files of a part of a run into the run that it is merged into.

A part may come from somebody else, and may be moved or removed meanwhile. So only files that the
part's rows name are copied, and a link only where it leads to the bytes of the image: whatever else
is in the folder, such as a link to all files of a user, stays where it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.results.run import RunFolder
from t2ibench.store.file_errors import reading
from t2ibench.store.files import read_ordinary, write_bytes
from t2ibench.store.images import is_sound, missing_files
from t2ibench.store.schema import columns
from t2ibench.tasks.run_tasks import FOLDER as TASKS

_IMAGES = "images"
_STATUS, _SHA256, _FILE = map(columns("attempts").index, ("status", "sha256", "file"))


@dataclass(frozen=True, slots=True)
class PartFiles:
    """The files of a part, as they were before anything of it was copied.

    Attributes:
        part: The part.
        images: SHA-256 of each image, by its file below images/.
        tasks: Names of the task files that it stores.
    """

    part: RunFolder
    images: Mapping[str, str]
    tasks: tuple[str, ...]

    @classmethod
    def of(cls, part: RunFolder) -> PartFiles:
        """Return the files of a part; those that were removed to save space are left out."""
        rows = part.database.read_checked("attempts")
        images: dict[str, str] = {
            row[_FILE]: row[_SHA256]
            for row in rows
            if row[_FILE] is not None
            and is_sound(row[_STATUS], row[_SHA256], row[_FILE])
        }
        missing = missing_files(part.path / _IMAGES, images)
        there = {file: sha256 for file, sha256 in images.items() if file not in missing}
        tasks = sorted(path.name for path in (part.path / TASKS).glob("*.yaml"))
        return cls(part, there, tuple(tasks))

    def copy_to(self, folder: Path) -> None:
        """Copy the files that a folder does not have yet, each whole or not at all.

        Raises:
            T2IBenchError: a file is gone, or one cannot be read or written.
        """
        for file, sha256 in self.images.items():
            self._copy(Path(_IMAGES, file), folder, sha256)
        for name in self.tasks:
            self._copy(Path(TASKS, name), folder)
        self.part.database.check_still_there()

    def _copy(self, file: Path, folder: Path, sha256: str | None = None) -> None:
        source, target = self.part.path / file, folder / file
        if target.exists():
            return
        if not source.exists():
            self.part.database.check_still_there()
            if not source.is_symlink():
                raise T2IBenchError(
                    f"{shown_path(source)} was moved or removed while it was merged.",
                    "Put it back and repeat the command, which goes on, or repeat it as it is.",
                )
        if not source.is_file():  # a pipe, say: it is missing in the merged run
            return
        with reading(source):
            data = read_ordinary(source)
        leads_elsewhere = (
            source.is_symlink() and hashlib.sha256(data).hexdigest() != sha256
        )
        if not leads_elsewhere:
            write_bytes(target, data, durable=False)
