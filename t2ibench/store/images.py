"""Images on disk, keyed by what decides them, and one row for every attempt to generate one."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.store.checks import Damage
from t2ibench.store.files import write_bytes
from t2ibench.store.pixels import UnreadableImageError, read_image
from t2ibench.store.problems import reading
from t2ibench.store.rows import RowFolder

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"}


def is_image_file(path: Path) -> bool:
    """Whether the suffix of a path is that of an image.

    Args:
        path: The path; it is not opened.

    Returns:
        True for the suffixes in `SUFFIXES`, in any case.
    """
    return path.suffix.lower() in SUFFIXES


def image_files(folder: Path) -> list[Path]:
    """The images of a folder of any layout.

    Args:
        folder: The folder.

    Returns:
        Their paths, those in sub-folders among them, sorted; without the explorer's own files.
    """
    return sorted(
        path for path in folder.rglob("*") if is_image_file(path) and ".t2ibench" not in path.parts
    )


_RANK = {"failed": 0, "refused": 1, "filtered": 1, "ok": 2}


def image_key(fingerprint: str, prompt: str, index: int) -> str:
    """SHA-256 hex of what decides an image.

    Args:
        fingerprint: The generator's fingerprint.
        prompt: The prompt.
        index: Which sample of the prompt, from 0.

    Returns:
        The key: 64 hexadecimal digits.
    """
    text = f"{fingerprint}\0{index}\0{prompt}"
    # A row that somebody else wrote may hold half a surrogate pair.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def image_seed(run_seed: int, prompt: str, index: int) -> int:
    """The seed of one image, from the run's seed, the prompt and the sample index only.

    Two models, two batch sizes and two machines therefore generate the same sample of a prompt
    from the same noise.

    Args:
        run_seed: The run's seed.
        prompt: The prompt.
        index: Which sample of the prompt, from 0.

    Returns:
        The seed, in [0, 2⁶³).
    """
    digest = hashlib.sha256(f"{run_seed}\0{index}\0{prompt}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # torch takes 63 bits


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at one image.

    Attributes:
        key: Which image.
        prompt: Its prompt.
        index: Which sample of the prompt.
        seed: Its seed.
        status: 'ok', 'refused', 'filtered' or 'failed'.
        file: Path of the image below images/, for status 'ok'.
        sha256: Hash of that file.
        reason: Why the attempt gave no image.
        tries: Attempts before this one.
        revised_prompt: The prompt that the model says it used instead.
    """

    key: str
    prompt: str
    index: int
    seed: int
    status: str
    file: str | None = None
    sha256: str | None = None
    reason: str | None = None
    tries: int = 0
    revised_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class StoredImage:
    """One image file.

    Attributes:
        path: The file.
        sha256: Hash of the file as it was when it was stored.
        prompt: What it was generated for.
        index: Which sample of the prompt.
    """

    path: Path
    sha256: str
    prompt: str
    index: int

    def read(self) -> Image:
        """Decode it, and check that it is the one that was stored.

        Returns:
            The image.

        Raises:
            UnreadableImageError: it has changed, is gone, or cannot be decoded.
        """
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise UnreadableImageError(error.strerror or type(error).__name__) from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise UnreadableImageError("it has changed since it was stored")
        return read_image(data)


class ImageStore:
    """The images of one generator.

    Args:
        root: The run folder's images/.
        fingerprint: The generator's.

    Attributes:
        damage: Which records are damaged; their images are generated again.
    """

    def __init__(self, root: Path, fingerprint: str) -> None:
        self.root = root
        self.fingerprint = fingerprint
        self.damage = Damage("line of the record of images", "lines of the record of images")
        self._attempts: dict[str, Attempt] = {}
        self._files = RowFolder(root, "attempts", self.damage)
        self.reload()

    def reload(self) -> list[Attempt]:
        """Read the rows that other writers have added; an image outranks a failed attempt at it.

        Returns:
            The attempts of those rows.
        """
        read = [found for row in self._files.read() if (found := _attempt(row)) is not None]
        # What does not have its own key is damaged, or of another generator.
        new = [one for one in read if one.key == image_key(self.fingerprint, one.prompt, one.index)]
        for attempt in new:
            self._index(attempt)
        return new

    def mend(self) -> None:
        """Note that images whose record is damaged are generated again.

        Raises:
            T2IBenchError: the disk is full or read-only.
        """
        self._files.mend()

    def _index(self, attempt: Attempt) -> None:
        known = self._attempts.get(attempt.key)
        if known is None or _order(attempt) >= _order(known):
            self._attempts[attempt.key] = attempt

    def __len__(self) -> int:
        """Images that were attempted."""
        return len(self._attempts)

    def get(self, prompt: str, index: int) -> Attempt | None:
        """What is known of an image, whether or not its file is still there.

        Scores need its hash alone: a run whose image files were removed to save space is scored
        as before.

        Args:
            prompt: What it was generated for.
            index: Which sample of the prompt, from 0.

        Returns:
            The latest attempt; None if nothing was tried.
        """
        return self._attempts.get(image_key(self.fingerprint, prompt, index))

    def has_file(self, attempt: Attempt) -> bool:
        """Whether the file of an image is there.

        Args:
            attempt: What is known of it.

        Returns:
            False where it was removed; True for an attempt that gave no image.
        """
        return attempt.file is None or (self.root / attempt.file).is_file()

    def attempts(self) -> list[Attempt]:
        """What is known of every image whose file is there, ordered by prompt and index.

        Returns:
            One attempt an image.
        """
        attempts = filter(self.has_file, self._attempts.values())
        return sorted(attempts, key=lambda attempt: (attempt.prompt, attempt.index))

    def removed(self) -> int:
        """How many images have no file any more.

        Returns:
            Their number.
        """
        return sum(not self.has_file(attempt) for attempt in self._attempts.values())

    def is_done(self, prompt: str, index: int) -> bool:
        """Whether there is nothing to generate. After a failure there is.

        Args:
            prompt: What it was generated for.
            index: Which sample of the prompt, from 0.

        Returns:
            True for an image whose file is there, a refusal or a filtered image.
        """
        attempt = self.get(prompt, index)
        return attempt is not None and attempt.status != "failed" and self.has_file(attempt)

    def path(self, attempt: Attempt) -> Path:
        """The file of an image.

        Args:
            attempt: One with the status 'ok'.

        Returns:
            Its path.
        """
        return self.root / (attempt.file or "")

    def image(self, attempt: Attempt) -> StoredImage:
        """The image that an attempt gave, as a file.

        Args:
            attempt: One with the status 'ok'.

        Returns:
            The image file; it is not read.
        """
        assert attempt.sha256 is not None
        return StoredImage(self.path(attempt), attempt.sha256, attempt.prompt, attempt.index)

    def add_image(self, prompt: str, index: int, seed: int, image: Image) -> Attempt:
        """Store a generated image as PNG; `record` makes it known.

        Args:
            prompt: What it was generated for.
            index: Which sample of the prompt, from 0.
            seed: What it was generated from.
            image: The image.

        Returns:
            The attempt, to be recorded.

        Raises:
            T2IBenchError: the disk is full or read-only.
        """
        buffer = io.BytesIO()
        image.save(buffer, format="PNG", compress_level=4)
        return self._add_bytes(prompt, index, seed, buffer.getvalue(), ".png")

    def add_file(self, prompt: str, index: int, seed: int, path: Path) -> Attempt:
        """Store a copy of an existing image, byte for byte; `record` makes it known.

        Args:
            prompt: What it shows.
            index: Which sample of the prompt, from 0.
            seed: What it counts as generated from.
            path: The image file.

        Returns:
            The attempt, to be recorded.

        Raises:
            T2IBenchError: the image cannot be read, or the path cannot be written to.
        """
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
        """Describe an attempt that gave no image; `record` makes it known.

        Args:
            prompt: What was to be generated.
            index: Which sample of the prompt, from 0.
            seed: Its seed.
            status: 'refused', 'filtered' or 'failed'.
            reason: Why the attempt gave no image.

        Returns:
            The attempt, to be recorded.
        """
        key = image_key(self.fingerprint, prompt, index)
        return Attempt(key, prompt, index, seed, status, reason=reason)

    def record(self, attempts: Iterable[Attempt]) -> None:
        """Append attempts to this process's own file.

        Args:
            attempts: The attempts.

        Raises:
            T2IBenchError: the disk is full or read-only.
        """
        rows = []
        for new in attempts:
            known = self._attempts.get(new.key)
            # Files of writers are read in any order; this says which row is the newest.
            attempt = replace(new, tries=known.tries + 1) if known else new
            self._index(attempt)
            row = {key: value for key, value in asdict(attempt).items() if value is not None}
            if not attempt.tries:
                del row["tries"]
            rows.append(row)
        self._files.append(rows)


def _order(attempt: Attempt) -> tuple[int, int]:
    """What outranks what: an image a failed attempt, and a later attempt an earlier one."""
    return _RANK[attempt.status], attempt.tries


def _attempt(row: dict[str, Any]) -> Attempt | None:
    """The record in a row of a JSON Lines file; None for a row of another form."""
    try:
        attempt = Attempt(
            key=str(row["key"]),
            prompt=str(row["prompt"]),
            index=int(row["index"]),
            seed=int(row["seed"]),
            status=str(row["status"]),
            file=row.get("file"),
            sha256=row.get("sha256"),
            reason=row.get("reason"),
            tries=int(row.get("tries", 0)),
            revised_prompt=None if (said := row.get("revised_prompt")) is None else str(said),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if attempt.status not in _RANK:
        return None
    if attempt.file is not None:
        # Rows may come from somebody else's run folder: the path must be the one we would write.
        stem, dot, suffix = attempt.file.rpartition(".")
        if stem != f"{attempt.key[:2]}/{attempt.key}" or f"{dot}{suffix}" not in SUFFIXES:
            return None
    return attempt if attempt.status != "ok" or (attempt.file and attempt.sha256) else None
