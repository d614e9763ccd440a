"""One pack: a tar of images, and the index of what is in it and where."""

from __future__ import annotations

import json
import mmap
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from t2ibench.store.attempts import Attempt
from t2ibench.store.files import write_bytes
from t2ibench.store.jsonl import checked_row
from t2ibench.store.remote import origin

ORDER = (
    ".png",
    ".jpg",
    ".jpeg",
    ".webp",
    ".bmp",
    ".gif",
    ".tif",
    ".tiff",
)  # an index has the number
_FORMAT = "t2ibench pack 1"
_ABOUT = "t2ibench"
_COLUMNS: dict[str, tuple[str, int]] = {  # name to type and width
    "keys": ("u1", 32),
    "hashes": ("u1", 32),
    "index": ("i8", 0),
    "seed": ("u8", 0),
    "offset": ("i8", 0),
    "size": ("i8", 0),
    "tries": ("i4", 0),
    "suffix": ("u1", 0),
    "starts": ("i8", 0),  # of prompts: their first rows, and the end
    "ends": ("i8", 0),  # of prompts: where their texts end
    "texts": ("u1", 0),
}
_TYPES = {"U8": "u1", "I64": "i8", "U64": "u8", "I32": "i4"}


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
        """The rows of one prompt.

        Args:
            number: Of the prompt.

        Returns:
            The first, and the one behind the last.
        """
        return self._starts[number], self._starts[number + 1]

    def row(self, start: int, end: int, index: int) -> int | None:
        """The row of one sample among those of its prompt.

        Args:
            start: The prompt's first row.
            end: The one behind its last.
            index: Which sample.

        Returns:
            The row; None if the pack does not have it.
        """
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
        """What the index says of a row.

        Args:
            row: The row.
            prompt: Its prompt.

        Returns:
            The image.
        """
        columns = self._columns
        return Member(
            columns["keys"][row].tobytes().hex(),
            prompt,
            self._index[row],
            int(columns["seed"][row]),
            columns["hashes"][row].tobytes().hex(),
            ORDER[columns["suffix"][row]],
            self._tries[row],
            int(columns["offset"][row]),
            int(columns["size"][row]),
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
        """The bytes of an image.

        Args:
            row: Its row.

        Returns:
            Its key, and as many bytes of it as there are.

        Raises:
            OSError: the tar cannot be read.
        """
        columns = self._columns
        key = columns["keys"][row].tobytes().hex()
        offset, size = int(columns["offset"][row]), int(columns["size"][row])
        if self._elsewhere is not None and not self.path.is_file():
            remote, name = self._elsewhere
            return key, remote.read(name, offset, size)
        with self.path.open("rb") as file:
            file.seek(offset)
            return key, file.read(size)


def index_path(pack: Path) -> Path:
    """Where the index of a pack lies.

    Args:
        pack: The tar.

    Returns:
        The path of the index.
    """
    return pack.with_suffix(".index")


def columns_of(members: Sequence[Member]) -> dict[str, npt.NDArray[Any]]:
    """The index of a pack.

    Args:
        members: Its images, in any order; each once.

    Returns:
        Its columns, sorted by prompt and index.
    """
    ordered = sorted(members, key=lambda one: (one.prompt, one.index))
    starts: list[int] = []
    prompts: list[bytes] = []
    before: str | None = None
    for number, one in enumerate(ordered):
        if one.prompt != before:
            starts.append(number)
            prompts.append(one.prompt.encode("utf-8", "surrogatepass"))
            before = one.prompt
    values: dict[str, Any] = {
        "keys": [np.frombuffer(bytes.fromhex(one.key), np.uint8) for one in ordered],
        "hashes": [np.frombuffer(bytes.fromhex(one.sha256), np.uint8) for one in ordered],
        "index": [one.index for one in ordered],
        "seed": [one.seed for one in ordered],
        "offset": [one.offset for one in ordered],
        "size": [one.size for one in ordered],
        "tries": [one.tries for one in ordered],
        "suffix": [ORDER.index(one.suffix) for one in ordered],
        "starts": [*starts, len(ordered)],
        "ends": np.cumsum([len(text) for text in prompts]),
        "texts": np.frombuffer(b"".join(prompts), np.uint8),
    }
    return {
        name: np.asarray(values[name], dtype=kind).reshape((-1, width) if width else -1)
        for name, (kind, width) in _COLUMNS.items()
    }


def write_index(pack: Path, fingerprint: str, members: Sequence[Member]) -> None:
    """Write the index of a pack, atomically: safetensors, with a checksum of all columns.

    Args:
        pack: The tar.
        fingerprint: The generator's.
        members: Its images.

    Raises:
        T2IBenchError: the disk is full or read-only.
    """
    columns = columns_of(members)
    bare = save(columns)
    crc = zlib.crc32(memoryview(bare)[8 + int.from_bytes(bare[:8], "little") :])
    about = {"format": _FORMAT, "fingerprint": fingerprint, "crc32": f"{crc:08x}"}
    # One entry: safetensors writes several in any order.
    write_bytes(index_path(pack), save(columns, {_ABOUT: json.dumps(about)}))


def read_pack(path: Path) -> Pack | None:
    """Open a pack; where its index is damaged or gone, what its tar says is read.

    Args:
        path: The tar, which may be gone: hashes are known from the index.

    Returns:
        The pack; None where neither tells anything.
    """
    try:
        return _read_index(path)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    try:
        fingerprint, members = scan(path)
    except (OSError, ValueError, tarfile.TarError):
        return None
    return Pack(path, fingerprint, columns_of(members), lost=True)


def _read_index(path: Path) -> Pack:
    """Map an index into memory; ValueError and the like say that it is damaged."""
    with index_path(path).open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + int.from_bytes(mapped[:8], "little")
    header = json.loads(mapped[8:begin])
    about = json.loads(header.pop("__metadata__")[_ABOUT])
    if (
        about["format"] != _FORMAT
        or f"{zlib.crc32(memoryview(mapped)[begin:]):08x}" != about["crc32"]
    ):
        raise ValueError("it is damaged")
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, (kind, _) in _COLUMNS.items():
        entry = header[name]
        start, end = entry["data_offsets"]
        if _TYPES.get(entry["dtype"]) != kind or end > len(mapped) - begin:
            raise ValueError(f"its column {name} is of another form")
        size = int(np.prod(entry["shape"], dtype=np.int64))
        column = np.frombuffer(mapped, kind, size, begin + start)
        columns[name] = column.reshape(entry["shape"])
    return Pack(path, about["fingerprint"], columns)


def scan(path: Path) -> tuple[str, list[Member]]:
    """Read what is in a pack from its tar alone.

    Args:
        path: The tar.

    Returns:
        The generator's fingerprint, and the images whose description is as it was written; what
        lies behind a torn end is left out.

    Raises:
        OSError: it cannot be read.
        tarfile.TarError: it is no tar.
    """
    found: dict[str, tuple[str, int, int]] = {}
    rows: dict[str, dict[str, Any]] = {}
    with tarfile.open(path, "r:") as tar:
        try:
            for info in tar:
                key, dot, suffix = info.name.partition(".")
                if suffix != "json":
                    found[key] = (dot + suffix, info.offset_data, info.size)
                    continue
                stream = tar.extractfile(info) if info.size < 1 << 20 else None
                row = checked_row(stream.read().strip()) if stream else None
                if row is not None:
                    rows[key] = row
        except (tarfile.TarError, EOFError, OSError):
            pass  # torn: what came before counts
    members, fingerprint = [], ""
    for key, row in rows.items():
        if key in found and found[key][0] in ORDER and _is_description(row):
            suffix, offset, size = found[key]
            fingerprint = row["fingerprint"]
            members.append(
                Member(
                    key, row["prompt"], row["index"], row["seed"], row["sha256"], suffix,
                    row.get("tries", 0), offset, size,
                )
            )  # fmt: skip
    return fingerprint, members


def _is_description(row: dict[str, Any]) -> bool:
    texts = all(isinstance(row.get(name), str) for name in ("prompt", "sha256", "fingerprint"))
    return texts and all(isinstance(row.get(name), int) for name in ("index", "seed"))
