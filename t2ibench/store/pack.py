"""One pack: a tar of images, and what its index says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.store.attempts import Attempt
from t2ibench.store.remote import origin

# Of files; an index has the number.
ORDER = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")


@dataclass(frozen=True, slots=True)
class Member:
    """One image of a pack.

    Attributes:
        key: Which image, 64 hexadecimal digits.
        prompt: What it was generated for.
        index: Which sample of the prompt.
        seed: Its seed.
        sha256: Hash of its bytes.
        suffix: Of its file.
        tries: Attempts before the one that gave it.
        offset: Where in the tar its bytes begin.
        size: How many they are.
    """

    key: str
    prompt: str
    index: int
    seed: int
    sha256: str
    suffix: str
    tries: int
    offset: int
    size: int

    def attempt(self) -> Attempt:
        """The attempt that gave it."""
        file = f"{self.key[:2]}/{self.key}{self.suffix}"
        return Attempt(
            self.key, self.prompt, self.index, self.seed, "ok", file, self.sha256, None, self.tries
        )


class Pack:
    """A tar of images with its index.

    Args:
        path: The tar.
        fingerprint: The generator's.
        columns: The index, as `write_index` writes it.
        lost: Whether the index was damaged or absent, and was read from the tar.
    """

    def __init__(
        self,
        path: Path,
        fingerprint: str,
        columns: dict[str, npt.NDArray[Any]],
        lost: bool = False,
    ) -> None:
        self.path = path
        self.fingerprint = fingerprint
        self.lost = lost
        self._columns = columns
        # One number of a memoryview is several times cheaper than one of an array.
        self._keys = columns["keys"].reshape(-1).data
        self._hashes = columns["hashes"].reshape(-1).data
        self._seeds, self._suffixes = columns["seed"].data, columns["suffix"].data
        self._index = columns["index"].data
        self._tries = columns["tries"].data
        self._starts = columns["starts"].data
        self._elsewhere = None
        try:
            self._bytes = path.stat().st_size
        except OSError:
            self._elsewhere = origin(path)
            self._bytes = self._elsewhere[0].packs[self._elsewhere[1]] if self._elsewhere else 0
        ends = columns["offset"] + columns["size"]
        self.whole = bool(not len(ends) or int(ends.max()) <= self._bytes)

    def __len__(self) -> int:
        """Images in it."""
        return len(self._columns["index"])

    def prompts(self) -> list[str]:
        """The prompts, in the order of the rows."""
        text = self._columns["texts"].tobytes()
        ends = self._columns["ends"].tolist()
        starts = [0, *ends[:-1]]
        return [
            text[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip(starts, ends, strict=True)
        ]

    def rows_of(self, number: int) -> tuple[int, int]:
        """The rows of one prompt."""
        return self._starts[number], self._starts[number + 1]

    def row(self, start: int, end: int, index: int) -> int | None:
        """The row of one sample among those of its prompt."""
        guess = start + index - self._index[start]
        if start <= guess < end and self._index[guess] == index:
            return guess
        place = start + int(np.searchsorted(self._columns["index"][start:end], index))
        return place if place < end and self._index[place] == index else None

    def index(self, row: int) -> int:
        """Which sample of its prompt a row is."""
        return int(self._index[row])

    def tries(self, row: int) -> int:
        """How many attempts came before the one in a row."""
        return int(self._tries[row])

    def has(self, row: int) -> bool:
        """Whether the tar is there, and reaches as far as the bytes of a row."""
        if self.whole:
            return True
        columns = self._columns
        return bool(columns["offset"][row] + columns["size"][row] <= self._bytes)

    def has_tar(self) -> bool:
        """Whether the tar is there at all, and not the index alone."""
        return self._bytes > 0

    def member(self, row: int, prompt: str) -> Member:
        """What the index says of a row."""
        columns = self._columns
        return Member(
            self._keys[32 * row : 32 * row + 32].hex(),
            prompt,
            self._index[row],
            self._seeds[row],
            self.sha256(row),
            ORDER[self._suffixes[row]],
            self._tries[row],
            int(columns["offset"][row]),
            int(columns["size"][row]),
        )

    def sha256(self, row: int) -> str:
        """Hash of an image, as hex."""
        return self._hashes[32 * row : 32 * row + 32].hex()

    def attempt(self, row: int, prompt: str) -> Attempt:
        """The attempt that gave the image of a row."""
        key = self._keys[32 * row : 32 * row + 32].hex()
        return Attempt(
            key,
            prompt,
            self._index[row],
            self._seeds[row],
            "ok",
            f"{key[:2]}/{key}{ORDER[self._suffixes[row]]}",
            self.sha256(row),
            None,
            self._tries[row],
        )

    def members(self) -> Iterator[Member]:
        """Every image, in the order of prompts and indices."""
        for number, prompt in enumerate(self.prompts()):
            for row in range(*self.rows_of(number)):
                yield self.member(row, prompt)

    def heads(self) -> npt.NDArray[np.uint64]:
        """The first eight bytes of each key, as numbers; shape (n,)."""
        keys = np.ascontiguousarray(self._columns["keys"][:, :8])
        return keys.view(">u8").reshape(-1).astype(np.uint64)

    def read(self, row: int) -> tuple[str, bytes]:
        """The bytes of an image."""
        columns = self._columns
        key = columns["keys"][row].tobytes().hex()
        offset, size = int(columns["offset"][row]), int(columns["size"][row])
        if self._elsewhere is not None and not self.path.is_file():
            remote, name = self._elsewhere
            return key, remote.read(name, offset, size)
        with self.path.open("rb") as file:
            file.seek(offset)
            return key, file.read(size)
