"""Images on disk, keyed by what decides them, and one row for every attempt to generate one."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.store.attempts import (
    RANK,
    SUFFIXES,
    Attempt,
    absent_files,
    attempt_of,
    image_key,
    order,
    row_of,
)
from t2ibench.store.checks import Damage
from t2ibench.store.files import write_bytes
from t2ibench.store.one_image import StoredImage
from t2ibench.store.pack import Pack
from t2ibench.store.packs import Packs
from t2ibench.store.problems import reading
from t2ibench.store.rows import RowFolder

if TYPE_CHECKING:
    from PIL.Image import Image

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
    """The images of one generator: rows of attempts and files, and packs of both.

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
        self.packs = Packs(root, fingerprint)
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._prompts: dict[str, str] = {}
        self._absent: set[str] | None = None
        self._files = RowFolder(root, "attempts", self.damage)
        self.reload()

    def reload(self) -> list[Attempt]:
        """Read the rows that other writers have added; an image outranks a failed attempt at it."""
        self.packs.refresh()
        new = []
        for row in self._files.read():
            attempt = attempt_of(row)
            # What does not have its own key is damaged, or of another generator.
            if attempt is not None and attempt.key == self._key(attempt):
                # Images of one prompt share one text in memory.
                prompt = self._prompts.setdefault(attempt.prompt, attempt.prompt)
                attempt = replace(attempt, prompt=prompt)
                new.append(attempt)
                self._index(attempt)
        if self._absent is not None:
            self._absent |= self._look(new)
        return new

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
        packed = (member for _, _, member in self._only_packed())
        return len(self._attempts) + sum(1 for _ in packed)

    def _only_packed(self) -> Iterator[tuple[Pack, int, str]]:
        """Images of packs that no row knows: pack, row and prompt."""
        for pack, row, prompt in self.packs.newest():
            if not self._attempts or (prompt, pack.index(row)) not in self._attempts:
                yield pack, row, prompt

    def _packed(self, prompt: str, index: int, known: Attempt | None) -> tuple[Pack, int] | None:
        """Where an image is packed, unless what is known of it by its row is newer."""
        if not self.packs.packs:
            return None
        found = self.packs.find(prompt, index)
        if found is None or known is None:
            return found
        return found if order(known) < (RANK["ok"], found[0].tries(found[1])) else None

    def get(self, prompt: str, index: int) -> Attempt | None:
        """What is known of an image, whether or not its file is still there.

        Scores need its hash alone: a run whose image files were removed to save space is scored
        as before.
        """
        known = self._attempts.get((prompt, index))
        packed = self._packed(prompt, index, known)
        return known if packed is None else packed[0].attempt(packed[1], prompt)

    def has_file(self, attempt: Attempt) -> bool:
        """Whether an image is there, as a file or in a pack."""
        if attempt.file is None:
            return True
        found = self.packs.find(attempt.prompt, attempt.index) if self.packs.packs else None
        if found is not None and found[0].has(found[1]):
            pack, row = found
            if pack.sha256(row) == attempt.sha256:
                return True
        if self._absent is None:
            self._absent = self._look(self._attempts.values())
        if found is not None and (attempt.prompt, attempt.index) not in self._attempts:
            return (self.root / attempt.file).is_file()  # its pack was removed
        return attempt.file not in self._absent

    def _look(self, attempts: Iterable[Attempt]) -> set[str]:
        return absent_files(self.root, (one.file for one in attempts if one.file is not None))

    def attempts(self) -> list[Attempt]:
        """What is known of every image whose file is there, ordered by prompt and index."""
        self._absent = None  # look again
        attempts = filter(self.has_file, self.all_attempts())
        return sorted(attempts, key=lambda attempt: (attempt.prompt, attempt.index))

    def all_attempts(self) -> Iterator[Attempt]:
        """What is known of every image, whether or not its file is still there."""
        for prompt, index in list(self._attempts):
            attempt = self.get(prompt, index)
            assert attempt is not None
            yield attempt
        for pack, row, prompt in self._only_packed():
            yield pack.attempt(row, prompt)

    def removed(self) -> int:
        """How many images have no file any more."""
        self._absent = None
        return sum(not self.has_file(attempt) for attempt in self.all_attempts())

    def is_done(self, prompt: str, index: int) -> bool:
        """Whether there is nothing to generate. After a failure there is."""
        known = self._attempts.get((prompt, index))
        packed = self._packed(prompt, index, known)
        if packed is not None and packed[0].has(packed[1]):
            return True
        attempt = known if packed is None else packed[0].attempt(packed[1], prompt)
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

    def add_image(self, prompt: str, index: int, seed: int, image: Image) -> Attempt:
        """Store a generated image as PNG; `record` makes it known."""
        buffer = io.BytesIO()
        image.save(buffer, format="PNG", compress_level=4)
        return self._add_bytes(prompt, index, seed, buffer.getvalue(), ".png")

    def add_file(self, prompt: str, index: int, seed: int, path: Path) -> Attempt:
        """Store a copy of an existing image, byte for byte; `record` makes it known."""
        suffix = path.suffix.lower() if is_image_file(path) else ".png"
        with reading(path):
            data = path.read_bytes()
        return self._add_bytes(prompt, index, seed, data, suffix)

    def _add_bytes(self, prompt: str, index: int, seed: int, data: bytes, suffix: str) -> Attempt:
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
        """Append attempts to this process's own file."""
        rows = []
        for new in attempts:
            known = self.get(new.prompt, new.index)
            # Files of writers are read in any order; this says which row is the newest.
            attempt = replace(new, tries=known.tries + 1) if known else new
            self._index(attempt)
            if self._absent is not None and attempt.file is not None:
                self._absent.discard(attempt.file)
            rows.append(row_of(attempt))
        self._files.append(rows)

    def write_rows(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows of attempts as they are; the disk holds them afterwards."""
        self._files.write(rows)

    def replace_rows(self, is_needed: Callable[[Attempt], bool]) -> None:
        """Remove rows that are not needed, because packs say the same."""
        needed = [one for one in self._attempts.values() if is_needed(one)]
        if len(needed) < len(self._attempts):
            self._files.replace([row_of(one) for one in needed])
            self._attempts = {(one.prompt, one.index): one for one in needed}
