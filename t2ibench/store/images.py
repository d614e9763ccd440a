"""Storage of images as files, and a row for every attempt to generate one."""

from __future__ import annotations

import copy
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.garbage import uncollected
from t2ibench.identity import ImageKey, content_id
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.file_names import is_image_file, visible_files
from t2ibench.store.files import read_ordinary, write_bytes
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import read_image
from t2ibench.store.schema import of_text, to_text

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".avif", ".bmp", ".gif", ".tif", ".tiff"}
RANK = {"failed": 0, "refused": 1, "filtered": 1, "ok": 2}
_SHA256 = re.compile("[0-9a-f]{64}")
_NAME = re.compile(r"([0-9a-f]{2})/\1[0-9a-f]{62}(\.[a-z]{3,4})")


# Not frozen: a run may have a million records, and frozen ones are slower to make.
@dataclass(slots=True)
class Attempt:
    """An attempt to generate one image, with its outcome.

    Attributes:
        key: Which image.
        seed: The seed that it was generated from.
        status: 'ok', 'refused', 'filtered' or 'failed'.
        file: Its file below images/, for status 'ok'.
        sha256: Of the file.
        reason: Why there is no image.
        tries: Attempts before this one.
        revised_prompt: The prompt that the model says it used instead.
    """

    key: ImageKey
    seed: int
    status: str
    file: str | None = None
    sha256: str | None = None
    reason: str | None = None
    tries: int = 0
    revised_prompt: str | None = None

    @property
    def prompt(self) -> str:
        """The prompt of the image."""
        return self.key.prompt

    @property
    def index(self) -> int:
        """Which image of its prompt it is, from 0."""
        return self.key.index

    @property
    def source(self) -> str | None:
        """SHA-256 of the file that the image is made from; None where a prompt is all."""
        return self.key.source

    @property
    def file_key(self) -> str:
        """The attempt's identifier within its generator, which is part of its file name."""
        return self.file[3:67] if self.file else f"{self.index} {self.prompt}"

    def __reduce__(self) -> tuple[Any, ...]:
        # The default takes a second of 100,000 on their way to another process, this a third.
        return Attempt, _values(self)


_values = attrgetter(*(attribute.name for attribute in fields(Attempt)))


def file_key(fingerprint: str, key: ImageKey) -> str:
    """Return the SHA-256 of an image's inputs: generator fingerprint, index and prompt."""
    text = f"{fingerprint}\0{key.index}\0{_text_of(key)}"
    # A row that another program wrote may hold half a surrogate pair.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _text_of(key: ImageKey) -> str:
    """Return the text that identifies an image's content: prompt, and source after a NUL."""
    return key.prompt if key.source is None else f"{key.prompt}\0{key.source}"


def _prompt_and_source(text: str) -> tuple[str, str | None]:
    """Return the prompt and the source that a text made by `_text_of` contains."""
    prompt, separator, source = text.rpartition("\0")
    if separator and _SHA256.fullmatch(source):
        return prompt, source
    return text, None


def is_sound(status: Any, sha256: Any, file: Any) -> bool:
    """Return whether an attempt at an image has status, hash and file name that fit together.

    It may come from somebody else's run: the path must be one that `ImageStore` writes. A
    submission has the hashes of its images without their files.
    """
    if status not in RANK or (status == "ok" and not sha256):
        return False
    # SQLite stores a value of any type in any column.
    if not (sha256 is None or isinstance(sha256, str)):
        return False
    match = _NAME.fullmatch(file) if isinstance(file, str) else None
    return file is None or (match is not None and match[2] in SUFFIXES)


def missing_files(root: Path, files: Iterable[str]) -> set[str]:
    """Return which image files are missing, from one listing of each folder for speed."""
    by_folder: dict[str, list[str]] = {}
    for file in files:
        by_folder.setdefault(file[:2], []).append(file)
    missing: set[str] = set()
    for folder, wanted in by_folder.items():
        try:
            names = set(os.listdir(root / folder))  # noqa: PTH208  # names alone, no paths
        except (OSError, ValueError):  # ValueError: a name that no folder can have
            names = set()
        missing.update(file for file in wanted if file[3:] not in names)
    return missing


def in_order(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return attempts ordered by prompt and, within a prompt, by index."""
    return sorted(attempts, key=lambda attempt: (attempt.prompt, attempt.index))


def stored_order(attempt: Attempt) -> tuple[int, int]:
    """Return a sort key that puts attempts at images in the order in which run.db holds them."""
    return attempt.key.content, attempt.key.index


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file with the hash that it had when it was stored.

    Attributes:
        place: Its path; made a `Path` when it is used, so that a million images are described in
            seconds.
        sha256: Of the file as it was when it was stored.
        content: The bytes of a file on another machine.
    """

    place: Path | str
    sha256: str
    content: bytes | None = field(default=None, kw_only=True)

    @property
    def path(self) -> Path:
        """The path of the image file."""
        return Path(self.place)

    def data(self) -> bytes:
        """Return the bytes of the image file, after checking that it has not changed."""
        try:
            data = read_ordinary(self.path) if self.content is None else self.content
        except OSError as error:
            raise UnreadableImageError(
                error.strerror or type(error).__name__
            ) from error
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise UnreadableImageError("it has changed since it was stored")
        return data

    def read(self) -> Image:
        """Return the decoded image, after checking that its file has not changed."""
        return read_image(self.data())


@dataclass(frozen=True, slots=True)
class StoredImage(ImageFile):
    """The file of one image of a run.

    Attributes:
        key: Which image.
    """

    key: ImageKey

    @property
    def prompt(self) -> str:
        """The prompt of the image."""
        return self.key.prompt

    @property
    def index(self) -> int:
        """Which image of its prompt it is, from 0."""
        return self.key.index


def image_files(folder: Path) -> list[Path]:
    """Return the image files of a folder of any layout; no pipe, device or broken link is one.

    A subfolder that cannot be read is left out.
    """
    return sorted(
        path
        for path in visible_files(folder, leave_out_unreadable=True)
        if is_image_file(path) and os.path.isfile(path)  # noqa: PTH113  pathlib's raises
    )


def image_seed(
    run_seed: int, prompt: str, index: int, source: str | None = None
) -> int:
    """Return the seed of one image, derived from the run's seed and what identifies the image.

    Two models, two batch sizes and two machines therefore generate the same sample of a prompt, or
    of an instruction and the source image with the SHA-256 `source`, from the same noise.
    """
    inputs = prompt if source is None else f"{prompt}\0{source}"
    digest = hashlib.sha256(f"{run_seed}\0{index}\0{inputs}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1  # torch takes 63 bits


# The prompt and source of an image whose prompt's row is damaged.
_UNKNOWN_INPUTS = ("", None)
# The name and fingerprint of the "encoder" whose embeddings are the perceptual hashes.
PERCEPTUAL_HASH = ("look", "1")


class ImageStore:
    """The images of one generator: rows of attempts, and files in images/ beside run.db.

    Which files are there is looked up once, folder by folder, when it is first asked.
    """

    def __init__(self, database: Database, fingerprint: str) -> None:
        self.database = database
        self.root = database.folder / "images"
        self._base = str(self.root)
        self.fingerprint = fingerprint
        self._model = ("generator", "", fingerprint)
        self._generator = content_id(*self._model)
        self._named: set[int] = set()  # ids of prompts whose texts are stored
        self._missing: set[str] | None = None
        self.refresh()

    @uncollected()
    def refresh(self) -> None:
        """Reload the stored attempts at images; a generated image counts before failed attempts."""
        self._missing = None
        self._perceptual_hashes: EvidenceStore | None = None
        texts = "WHERE id IN (SELECT DISTINCT text FROM attempts WHERE generator = ?)"
        prompts = self.database.texts(texts, self._generator)
        self._named |= prompts.keys()
        inputs = {text: _prompt_and_source(name) for text, name in prompts.items()}
        # By content id of what a prompt's images share, and by index: numbers are looked up faster
        # than keys of images, of which a run has a million.
        self._attempts: dict[int, dict[int, Attempt]] = {}
        where = "WHERE generator = ? ORDER BY text, number, try"
        for row in self.database.read_checked("attempts", where, self._generator):
            _, text, index, tries, seed, status, sha256, file, reason, revised = row
            if not (type(index) is type(tries) is type(seed) is int):
                continue
            of_prompt = self._attempts.setdefault(text, {})
            before = of_prompt.get(index)
            if not is_sound(status, sha256, file) or (
                before and RANK[status] < RANK[before.status]
            ):
                continue
            reason = None if reason is None else of_text(reason)
            revised = None if revised is None else of_text(revised)
            key = ImageKey(text, index, *inputs.get(text, _UNKNOWN_INPUTS))
            of_prompt[index] = Attempt(
                key, seed, status, file, sha256, reason, tries, revised
            )

    def contents(self) -> list[int]:
        """Return the content ids of all images, each once."""
        return list(self._attempts)

    def hashes(self) -> set[str]:
        """Return the SHA-256 of all image files."""
        attempts = self._every_attempt()
        return {attempt.sha256 for attempt in attempts if attempt.sha256}

    def only(self, contents: Iterable[int]) -> ImageStore:
        """Return a store for reading that has only some of the records, for another process.

        Args:
            contents: The content ids of their images; those without a record are passed over.
        """
        part = copy.copy(self)
        part._attempts = {
            content: self._attempts[content]
            for content in contents
            if content in self._attempts
        }
        part._missing = None
        part._perceptual_hashes = self.perceptual_hashes.only(part.hashes())
        part._named = set()
        return part

    def _every_attempt(self) -> list[Attempt]:
        """Return all records, in a list: another thread may add some while it is gone through."""
        by_prompt = list(self._attempts.values())
        return [
            attempt for of_prompt in by_prompt for attempt in list(of_prompt.values())
        ]

    @property
    def perceptual_hashes(self) -> EvidenceStore:
        """The store of perceptual hashes (`store.pixels`), keyed by SHA-256 of the image file."""
        return self.open_perceptual_hashes()

    def open_perceptual_hashes(self) -> EvidenceStore:
        """Return the perceptual hashes, loaded once; damaged rows are recorded in the database."""
        if self._perceptual_hashes is None:
            self._perceptual_hashes = EvidenceStore(self.database, *PERCEPTUAL_HASH)
        return self._perceptual_hashes

    def __len__(self) -> int:
        """Return the number of images that were generated or attempted."""
        return sum(map(len, self._attempts.values()))

    def get(self, key: ImageKey) -> Attempt | None:
        """Return the record of an image, whether or not its file exists.

        Scores need its hash alone: a run whose image files were removed to save space is scored
        as before.
        """
        attempt = self._stored(key)
        if attempt is None or attempt.prompt == key.prompt:
            return attempt
        # The row of its prompt is damaged.
        return replace(attempt, key=key)

    def _stored(self, key: ImageKey) -> Attempt | None:
        """Return the record of an image as it is stored; None if there is none."""
        of_prompt = self._attempts.get(key.content)
        return None if of_prompt is None else of_prompt.get(key.index)

    def first(
        self, prompt: str, n: int, source: str | None = None
    ) -> list[Attempt | None]:
        """Return the records of the first n images of a prompt, or of an edit of `source`.

        None stands for those that were not attempted.
        """
        return [self.get(ImageKey.of(prompt, index, source)) for index in range(n)]

    def has_file(self, attempt: Attempt) -> bool:
        """Return whether an image's file exists; always True for an attempt without an image."""
        if attempt.file is None:
            return attempt.status != "ok"
        if self._missing is None:
            files = (
                stored.file
                for stored in self._every_attempt()
                if stored.file is not None
            )
            self._missing = missing_files(self.root, files)
        return attempt.file not in self._missing

    def attempts(self) -> list[Attempt]:
        """Return the records of images whose files exist, ordered by prompt and index."""
        self._missing = None  # files may have been removed since
        attempts = filter(self.has_file, self.all_attempts())
        return in_order(attempts)

    def all_attempts(self) -> Iterator[Attempt]:
        """Return an iterator over records of images of known prompts, with or without files."""
        return (
            attempt
            for attempt in self._every_attempt()
            if content_id(_text_of(attempt.key)) == attempt.key.content
        )

    def is_done(self, key: ImageKey) -> bool:
        """Return whether an image needs no generation; a failed one does."""
        attempt = self._stored(key)
        return (
            attempt is not None
            and attempt.status != "failed"
            and self.has_file(attempt)
        )

    def n_done(self, prompt: str, count: int) -> int:
        """Return how many of a prompt's first `count` images need no generation."""
        if content_id(prompt) not in self._attempts:
            return 0
        keys = (ImageKey.of(prompt, index) for index in range(count))
        return sum(map(self.is_done, keys))

    def lacks(self, keys: Iterable[ImageKey]) -> bool:
        """Return whether any of these images failed or was never attempted."""
        attempts = map(self.get, keys)
        return any(
            attempt is None or attempt.status == "failed" for attempt in attempts
        )

    def path(self, attempt: Attempt) -> Path:
        """Return the path of an image's file."""
        return self.root / (attempt.file or "")

    def image(self, attempt: Attempt) -> StoredImage:
        """Return the file of the image that an attempt generated."""
        assert attempt.sha256 is not None
        return StoredImage(f"{self._base}/{attempt.file}", attempt.sha256, attempt.key)

    def add_image(self, key: ImageKey, seed: int, data: bytes, suffix: str) -> Attempt:
        """Write an image's file, and return the attempt with which to call `record`."""
        self.database.check_still_there()
        name = file_key(self.fingerprint, key)
        file = f"{name[:2]}/{name}{suffix}"
        # Not durable: after a loss of power the hash in its row shows that the file is damaged.
        write_bytes(self.root / file, data, durable=False)
        digest = hashlib.sha256(data).hexdigest()
        return Attempt(key, seed, "ok", file=file, sha256=digest)

    def name(self, keys: Iterable[ImageKey]) -> None:
        """Store the prompts of images, so that rows with their identifiers can be read."""
        ids = {key.content: _text_of(key) for key in keys}
        new = ids.keys() - self._named
        if new:
            self.database.add_texts(ids[number] for number in sorted(new))
            self._named |= new

    def record(
        self,
        attempts: Iterable[Attempt],
        perceptual_hashes: Mapping[str, Float32Array] | None = None,
    ) -> None:
        """Store attempts beside earlier ones at the same images, and perceptual hashes if given."""
        new: dict[ImageKey, Attempt] = {}
        rows = []
        for attempt in attempts:
            key = attempt.key
            before = new.get(key) or self.get(key)
            made = replace(attempt, tries=before.tries + 1) if before else attempt
            if before is None or RANK[made.status] >= RANK[before.status]:
                new[key] = made
            rows.append(
                (
                    self._generator,
                    key.content,
                    key.index,
                    made.tries,
                    made.seed,
                    made.status,
                    made.sha256,
                    made.file,
                    to_text(made.reason),
                    to_text(made.revised_prompt),
                )
            )
        with self.database.writing():
            self.database.add_model(*self._model)
            self.name(new)
            self.database.write("attempts", rows)
            unseen = (
                self.perceptual_hashes.missing("images", perceptual_hashes)
                if perceptual_hashes
                else []
            )
            if perceptual_hashes and unseen:
                seen = np.stack([perceptual_hashes[key] for key in unseen])
                self.perceptual_hashes.add("images", unseen, seen, dtype="float16")
        for key, attempt in new.items():
            self._attempts.setdefault(key.content, {})[key.index] = attempt
        if self._missing is not None:
            self._missing -= {
                attempt.file for attempt in new.values() if attempt.file is not None
            }
