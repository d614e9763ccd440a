"""Embeddings on disk, one folder an encoder, keyed by what was embedded."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.store.checksums import Damage
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import set_aside
from t2ibench.store.parts import Kind, Part, read_part, width_of, write_part

_ROW_BITS = 32  # of a place, which is the number of a part and the number of a row in it
_HELD_BYTES = 128 * 2**20  # of rows; a run of 40,000 images of width 768 stays in memory


def slug(name: str) -> str:
    """Turn a name into a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "unnamed"


def text_key(text: str) -> str:
    """SHA-256 hex of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Source:
    """One part: its file, and the checksums of its rows as they were when it was read."""

    path: Path
    sums: npt.NDArray[np.uint32]

    def load(self) -> Float32Array:
        part = read_part(self.path)
        if part is None or not np.array_equal(part.sums, self.sums):
            raise T2IBenchError(
                f"{self.path} was changed or deleted while it was in use.",
                "Run the command again.",
            )
        return part.rows


def _common_width(paths: Sequence[Path]) -> int:
    """The width of most good rows of several parts; 0 without any."""
    widths = {width_of(path) for path in paths} - {None}
    if len(widths) > 1:  # hardly ever: parts are read twice, never all of them held
        counts = Counter[int]()
        for path in paths:
            part = read_part(path)
            if part is not None:
                counts[part.rows.shape[1]] += int(part.good.sum())
        return counts.most_common(1)[0][0] if counts else 0
    return widths.pop() or 0 if widths else 0


class _Held:
    """The rows of the parts used last; the others are read again when they are asked for."""

    def __init__(self) -> None:
        self._rows: OrderedDict[int, Float32Array] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[_Held], tuple[()]]:
        return _Held, ()  # another process reads them itself

    def get(self, number: int) -> Float32Array | None:
        with self._lock:
            rows = self._rows.get(number)
            if rows is not None:
                self._rows.move_to_end(number)
            return rows

    def keep(self, number: int, rows: Float32Array) -> None:
        with self._lock:
            if number not in self._rows:
                self._rows[number] = rows
                self._bytes += rows.nbytes
            while self._bytes > _HELD_BYTES and len(self._rows) > 1:
                self._bytes -= self._rows.popitem(last=False)[1].nbytes


class EvidenceStore:
    """The embeddings one encoder made.

    What is where is kept in memory, and the rows used last (see `_HELD_BYTES`); the others stay on
    disk.

    Images are keyed by the SHA-256 of their file, texts by that of their UTF-8 bytes; the folder
    carries the encoder's fingerprint. A part is written once, atomically, with a checksum for each
    row. A row that is damaged counts as missing: one that does not match its checksum, has another
    width than the rest, or is not of unit length (a text's may be all NaN). Parts of older
    versions and of submissions carry no checksums.

    Args:
        root: The run folder's evidence/.
        name: The encoder's name.
        fingerprint: The encoder's fingerprint.

    Attributes:
        damage: What is damaged, and so counts as missing.
    """

    def __init__(self, root: Path, name: str, fingerprint: str) -> None:
        self.folder = root / f"{slug(name)}-{fingerprint[:12]}"
        self.damage = Damage(f"embedding by {name}", f"embeddings by {name}")
        self._places: dict[Kind, dict[str, int]] = {"images": {}, "texts": {}}
        self._sources: list[_Source] = []
        self._held = _Held()
        self._width: int | None = None
        self._damaged: dict[Path, Part | None] = {}
        self._writer = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._parts = 0
        self._read: set[str] = set()
        self.refresh()

    def refresh(self) -> bool:
        """Load the parts that other processes have written since."""
        paths = [p for p in sorted(self.folder.glob("*.safetensors")) if p.name not in self._read]
        self._read.update(path.name for path in paths)
        width = self._width if self._width is not None else _common_width(paths)
        for path in paths:
            self._index(path, read_part(path), width)
        return bool(paths)

    def _index(self, path: Path, part: Part | None, width: int) -> None:
        """Add a part's good rows, and count the others as damaged."""
        if part is None:
            self.damage.files += 1
            self._damaged[path] = None
            return
        if part.rows.shape[1] != width:
            part.good[:] = False
        bad = len(part.good) - int(part.good.sum())
        if bad:
            self.damage.pieces += bad
            self._damaged[path] = part
        self._add(path, part)

    def _add(self, path: Path, part: Part) -> None:
        """Make a part's good rows known; those of earlier parts stay."""
        number, known = len(self._sources), self._places[part.kind]
        self._sources.append(_Source(path, part.sums))
        self._held.keep(number, part.rows)
        names, width = part.keys.tobytes().hex(), 2 * part.keys.shape[1]
        for row in np.flatnonzero(part.good).tolist():
            known.setdefault(names[row * width : (row + 1) * width], number << _ROW_BITS | row)
            self._width = part.rows.shape[1]

    def mend(self) -> None:
        """Take what is damaged out of the parts, so that nobody is told of it any more.

        A part without a good row is set aside.
        """
        for path, part in self._damaged.items():
            if part is not None and part.good.any():
                self._rewrite(path, part)
            else:
                with disk_errors(path), suppress(FileNotFoundError):  # another process was faster
                    set_aside(path)
        self._damaged = {}
        self.damage.pieces = self.damage.files = 0

    def _rewrite(self, path: Path, part: Part) -> None:
        """Write a part without its damaged rows, and forget where its rows were."""
        keys, rows = part.keys[part.good], part.rows[part.good]
        sums = write_part(path, keys, rows)
        number = next(n for n, source in enumerate(self._sources) if source.path == path)
        known = self._places[part.kind]
        gone = [key for key, place in known.items() if place >> _ROW_BITS == number]
        for key in gone:
            del known[key]
        good = np.ones(len(keys), dtype=np.bool_)
        self._add(path, Part(part.kind, keys, rows, good, sums))

    def keys(self, kind: Kind) -> list[str]:
        """What has an embedding."""
        return list(self._places[kind])

    def has(self, kind: Kind, key: str) -> bool:
        """Whether an embedding is there."""
        return key in self._places[kind]

    def get(self, kind: Kind, key: str) -> Float32Array:
        """Read one embedding."""
        number, row = divmod(self._places[kind][key], 1 << _ROW_BITS)
        found: Float32Array = self._part(number)[row]
        return found

    def rows(self, kind: Kind, keys: Sequence[str]) -> Float64Array:
        """Read several embeddings."""
        found = np.empty((len(keys), self._width or 1))
        places = [divmod(self._places[kind][key], 1 << _ROW_BITS) for key in keys]
        at = 0
        for number, group in groupby(places, key=itemgetter(0)):
            chosen = [row for _, row in group]
            found[at : at + len(chosen)] = self._part(number)[chosen]
            at += len(chosen)
        return found

    def _part(self, number: int) -> Float32Array:
        rows = self._held.get(number)
        if rows is None:
            rows = self._sources[number].load()
            self._held.keep(number, rows)
        return rows

    def checksum(self, kind: Kind, key: str) -> int:
        """What an embedding is known by, without reading it."""
        number, row = divmod(self._places[kind][key], 1 << _ROW_BITS)
        return int(self._sources[number].sums[row])

    def missing(self, kind: Kind, keys: Iterable[str]) -> list[str]:
        """The keys that have no embedding yet, in order, each once."""
        return [key for key in dict.fromkeys(keys) if key not in self._places[kind]]

    @property
    def width(self) -> int | None:
        """Numbers in one embedding; None while there is none."""
        return self._width

    def add(self, kind: Kind, keys: Sequence[str], embeddings: Float32Array) -> None:
        """Store embeddings."""
        raw = np.frombuffer(bytes.fromhex("".join(keys)), dtype=np.uint8).reshape(len(keys), -1)
        rows = np.ascontiguousarray(embeddings, dtype=np.float32)
        path = self.folder / f"{kind}-{self._writer}-{self._parts:06d}.safetensors"
        self._parts += 1
        self._read.add(path.name)
        sums = write_part(path, raw, rows)
        # What is embedded again replaces what was there.
        known = self._places[kind]
        for key in keys:
            known.pop(key, None)
        self._add(path, Part(kind, raw, rows, np.ones(len(keys), dtype=np.bool_), sums))
