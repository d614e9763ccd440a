"""Images on disk, keyed by what decides them, and one row for every attempt to generate one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from t2ibench.store.attempts import (
    SUFFIXES,
    Attempt,
    absent_files,
    attempt_of,
    image_key,
    order,
    row_of,
)
from t2ibench.store.checksums import Damage
from t2ibench.store.files import write_bytes
from t2ibench.store.rows import RowFolder
from t2ibench.store.stored_image import StoredImage

__all__ = [
    "SUFFIXES",
    "Attempt",
    "ImageStore",
    "StoredImage",
    "image_files",
    "image_key",
    "image_seed",
    "is_image_file",
]


def is_image_file(path: Path) -> bool:
    """Whether the suffix of a path is that of an image."""
    return path.suffix.lower() in SUFFIXES


def image_files(folder: Path) -> list[Path]:
    """The images of a folder of any layout."""
    return sorted(
        path for path in folder.rglob("*") if is_image_file(path) and ".t2ibench" not in path.parts
    )


def image_seed(run_seed: int, prompt: str, index: int) -> int:
    """The seed of one image, from the run's seed, the prompt and the sample index only.

    Two models, two batch sizes and two machines therefore generate the same sample of a prompt
    from the same noise.
    """
    digest = hashlib.sha256(f"{run_seed}\0{index}\0{prompt}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # torch takes 63 bits


class ImageStore:
    """The images of one generator: rows of attempts, and files.

    Which files are there is looked up once, folder by folder, when it is first asked.

    Args:
        root: The run folder's images/.
        fingerprint: The generator's.

    Attributes:
        damage: Which records are damaged; their images are generated again.
    """

    def __init__(self, root: Path, fingerprint: str) -> None:
        self.root = root
        self._base = str(root)
        self.fingerprint = fingerprint
        self.damage = Damage("line of the record of images", "lines of the record of images")
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._prompts: dict[str, str] = {}
        self._absent: set[str] | None = None
        self._files = RowFolder(root, "attempts", self.damage)
        self.refresh()

    def refresh(self) -> None:
        """Read the rows that were added since; an image outranks a failed attempt at it."""
        self._absent = None
        for row in self._files.read():
            attempt = attempt_of(row)
            # What does not have its own key is damaged, or of another generator.
            if attempt is not None and attempt.key == self._key(attempt):
                # Images of one prompt share one text in memory.
                prompt = self._prompts.setdefault(attempt.prompt, attempt.prompt)
                self._index(replace(attempt, prompt=prompt))

    def _key(self, attempt: Attempt) -> str:
        return image_key(self.fingerprint, attempt.prompt, attempt.index)

    def mend(self) -> None:
        """Note that images whose record is damaged are generated again."""
        self._files.mend()

    def _index(self, attempt: Attempt) -> None:
        place = attempt.prompt, attempt.index
        known = self._attempts.get(place)
        if known is None or order(attempt) >= order(known):
            self._attempts[place] = attempt

    def __len__(self) -> int:
        """Images that were attempted."""
        return len(self._attempts)

    def get(self, prompt: str, index: int) -> Attempt | None:
        """What is known of an image, whether or not its file is still there.

        Scores need its hash alone: a run whose image files were removed to save space is scored
        as before.
        """
        return self._attempts.get((prompt, index))

    def has_file(self, attempt: Attempt) -> bool:
        """Whether the file of an image is there; of an attempt without an image, always."""
        if self._absent is None:
            known = (one.file for one in self._attempts.values() if one.file is not None)
            self._absent = absent_files(self.root, known)
        return attempt.file not in self._absent

    def attempts(self) -> list[Attempt]:
        """What is known of every image whose file is there, ordered by prompt and index."""
        self._absent = None  # look again
        attempts = filter(self.has_file, self._attempts.values())
        return sorted(attempts, key=lambda attempt: (attempt.prompt, attempt.index))

    def all_attempts(self) -> Iterator[Attempt]:
        """What is known of every image, whether or not its file is still there."""
        return iter(list(self._attempts.values()))

    def removed(self) -> int:
        """How many images have no file any more."""
        return len(self) - len(self.attempts())

    def is_done(self, prompt: str, index: int) -> bool:
        """Whether there is nothing to generate. After a failure there is."""
        attempt = self.get(prompt, index)
        return attempt is not None and attempt.status != "failed" and self.has_file(attempt)

    def path(self, attempt: Attempt) -> Path:
        """The file of an image."""
        return self.root / (attempt.file or "")

    def image(self, attempt: Attempt) -> StoredImage:
        """The image that an attempt gave, as a file."""
        assert attempt.sha256 is not None
        return StoredImage(
            f"{self._base}/{attempt.file}", attempt.sha256, attempt.prompt, attempt.index
        )

    def add_image(self, prompt: str, index: int, seed: int, data: bytes, suffix: str) -> Attempt:
        """Write the file of an image; `record` makes it known."""
        key = image_key(self.fingerprint, prompt, index)
        file = f"{key[:2]}/{key}{suffix}"
        # Not durable: after a loss of power the hash in its row tells that the file is damaged.
        write_bytes(self.root / file, data, durable=False)
        digest = hashlib.sha256(data).hexdigest()
        return Attempt(key, prompt, index, seed, "ok", file=file, sha256=digest)

    def add_missing(self, prompt: str, index: int, seed: int, status: str, reason: str) -> Attempt:
        """Describe an attempt that gave no image; `record` makes it known."""
        key = image_key(self.fingerprint, prompt, index)
        return Attempt(key, prompt, index, seed, status, reason=reason)

    def record(self, attempts: Iterable[Attempt]) -> None:
        """Append attempts; an earlier one at the same image stays in the file."""
        rows = []
        for new in attempts:
            known = self.get(new.prompt, new.index)
            attempt = replace(new, tries=known.tries + 1) if known else new
            self._index(attempt)
            if self._absent is not None and attempt.file is not None:
                self._absent.discard(attempt.file)
            rows.append(row_of(attempt))
        self._files.append(rows)
