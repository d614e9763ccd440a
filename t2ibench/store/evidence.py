"""Storage of the embeddings of one encoder, keyed by the hash of the image or text."""

from __future__ import annotations

import copy
import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float32Array, Float64Array, IntArray
from t2ibench.errors import T2IBenchError
from t2ibench.identity import content_id
from t2ibench.store.checksums import row_checksums
from t2ibench.store.database import BrokenDatabaseError, Database
from t2ibench.store.held_parts import HeldPart, HeldParts
from t2ibench.store.schema import blob_checksum

Kind = Literal["images", "texts"]
KINDS: tuple[Kind, ...] = ("images", "texts")
# of a place, which is the number of a part and the number of a row in it
_ROW_BITS = 32
_ROW_MASK = (1 << _ROW_BITS) - 1
# embeddings that are copied as one part
_COPIED_TOGETHER = 256
_UNIT = 2e-3  # how far from 1 the length of a row may be, in half precision too
_KEY = 32  # bytes of a SHA-256
_TYPES: dict[str, np.dtype[Any]] = {
    "float32": np.dtype("<f4"),
    "float16": np.dtype("<f2"),
}
_Rows = npt.NDArray[np.floating[Any]]


def slug(name: str) -> str:
    """Return a name in which hyphens replace the characters that file names should not have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "unnamed"


def text_key(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal, under which its embedding is stored."""
    return hashlib.sha256(text.encode()).hexdigest()


def off_length(rows: _Rows, *, may_lack: bool) -> npt.NDArray[np.bool_]:
    """Return which embeddings do not have unit length; if `may_lack`, rows of NaN are accepted."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))
        # A comparison with NaN is False.
        off: npt.NDArray[np.bool_] = ~(np.abs(lengths - 1) <= _UNIT)
    if may_lack and off.any():
        off[off] = ~np.isnan(rows[off]).all(axis=1)
    return off


def _numbers_by_part(places: Collection[int]) -> dict[int, IntArray]:
    """Return the numbers of the rows at some places by part, each once and ascending."""
    ordered = np.unique(np.array(places, np.int64))
    parts, first = np.unique(ordered >> _ROW_BITS, return_index=True)
    bounds = pairwise([*first.tolist(), len(ordered)])
    numbers = ordered & _ROW_MASK
    return {
        part: numbers[start:end]
        for part, (start, end) in zip(parts.tolist(), bounds, strict=True)
    }


class EvidenceStore:
    """The embeddings of one encoder.

    What is where is kept in memory, and the rows used last (see `store.held_parts`); the others
    stay on disk. Images are keyed by the SHA-256 of their file, texts by that of their UTF-8 bytes.
    A part is what was embedded together. One that is damaged counts as missing: it does not match
    its checksum, has another width than the rest, or a row that is not of unit length (one that is
    all NaN is of what the encoder has no vector for).
    """

    def __init__(
        self,
        database: Database,
        name: str,
        fingerprint: str,
        embeds_images: bool = True,
    ) -> None:
        self.database, self.name = database, name
        self.fingerprint, self.embeds_images = fingerprint, embeds_images
        self._model = ("encoder", name, fingerprint)
        self._id = content_id(*self._model)
        self._places: dict[Kind, dict[str, int]] = {kind: {} for kind in KINDS}
        self._sums: dict[int, npt.NDArray[np.uint32]] = {}
        self._held = HeldParts()
        # By part, the rows that may be asked for; None for all rows.
        self._needed: Mapping[int, IntArray] | None = None
        self._width: int | None = None
        self._load()

    def _load(self) -> None:
        parts = self.database.read(
            "SELECT part, width, length(keys) FROM embeddings WHERE model = ? ORDER BY part",
            self._id,
        )
        widths = Counter[int]()
        for _, width, length in parts:
            if isinstance(width, int) and isinstance(length, int):
                widths[width] += length
        self._width = widths.most_common(1)[0][0] if widths else None
        for part, _, _ in parts:
            self._index(part)

    def _index(self, part: int) -> None:
        """Index the embeddings of one stored part, or record that the part is damaged."""
        stored = self.database.read(
            "SELECT kind, width, dtype, keys, rows, sums, crc FROM embeddings WHERE part = ?",
            part,
        )
        if not stored:
            raise BrokenDatabaseError(
                self.database.path, "an index names a row that is not there"
            )
        ((kind, width, dtype, keys, data, sums, crc),) = stored
        types = (type(keys), type(data), type(sums), type(width))
        n = len(keys) // _KEY if types == (bytes, bytes, bytes, int) else 0
        size = _TYPES[dtype].itemsize if dtype in _TYPES else 0
        if (
            kind in self._places
            and n
            and size
            and width == self._width
            and (len(data), len(sums)) == (n * width * size, 4 * n)
            and crc == blob_checksum(keys, data, sums)
        ):
            rows = np.frombuffer(data, dtype=_TYPES[dtype]).reshape(n, width)
            if not off_length(rows, may_lack=True).any():
                self._add(part, kind, keys, rows, np.frombuffer(sums, dtype="<u4"))
                return
        self.database.damaged["embeddings"].add((part,))

    def _add(
        self,
        part: int,
        kind: Kind,
        keys: bytes,
        rows: _Rows,
        sums: npt.NDArray[np.uint32],
    ) -> None:
        """Index the embeddings of a part; a newer one of the same key replaces the older one."""
        self._sums[part] = sums
        self._held.hold(part, HeldPart(rows))
        names, step = keys.hex(), 2 * _KEY
        self._places[kind].update(
            (names[row * step : (row + 1) * step], part << _ROW_BITS | row)
            for row in range(len(rows))
        )

    def keys(self, kind: Kind) -> list[str]:
        """Return the hashes of the images or texts that have an embedding."""
        return list(self._places[kind])

    def has_any(self, kind: Kind) -> bool:
        """Return whether any image, or any text, has a stored embedding."""
        return bool(self._places[kind])

    def has(self, kind: Kind, key: str) -> bool:
        """Return whether an image or text, given by its hash, has a stored embedding."""
        return key in self._places[kind]

    def get(self, kind: Kind, key: str) -> Float32Array:
        """Return the embedding of one image or text, given by its hash."""
        return self.rows(kind, [key]).astype(np.float32)[0, :]

    def rows(self, kind: Kind, keys: Sequence[str]) -> Float64Array:
        """Return the embeddings of images or texts, given by their hashes, shape (n, d)."""
        places = self._places[kind]
        return self.rows_at(np.array([places[key] for key in keys], np.int64))

    def find(self, kind: Kind, keys: Sequence[str]) -> IntArray:
        """Return the place of each embedding, for `rows_at`; -1 where there is none."""
        places = self._places[kind]
        return np.array([places.get(key, -1) for key in keys], np.int64)

    def rows_at(self, places: IntArray) -> Float64Array:
        """Return the embeddings at the places that `find` returned, shape (n, d).

        Every embedding is read here, so a store that overrides this method replaces all of them.
        """
        rows = np.empty((len(places), self._width or 1))
        parts = places >> _ROW_BITS
        numbers = places & _ROW_MASK
        # Rows of one part are mostly together, and are read together.
        changes = np.flatnonzero(parts[1:] != parts[:-1]) + 1
        for first, last in pairwise([0, *changes.tolist(), len(places)]):
            if first < last:
                part = self._part(int(parts[first]))
                rows[first:last] = part.at(numbers[first:last])
        return rows

    def only(self, images: Iterable[str]) -> EvidenceStore:
        """Return a store for reading that has only some of the images, for another process."""
        places = self._places["images"]
        part = copy.copy(self)
        chosen = {key: places[key] for key in images if key in places}
        part._places = {"images": chosen, "texts": self._places["texts"]}
        of_texts = part._places["texts"].values()
        part._needed = _numbers_by_part([*chosen.values(), *of_texts])
        part._sums = {number: self._sums[number] for number in part._needed}
        part._held = HeldParts()
        return part

    def are_scattered(self, images: Sequence[str]) -> bool:
        """Return whether images lie in more than twice as many parts as they would fill."""
        every_image = self._places["images"]
        n_parts = len({place >> _ROW_BITS for place in every_image.values()})
        parts = {every_image[key] >> _ROW_BITS for key in images if key in every_image}
        filled = len(images) * n_parts / max(len(every_image), 1)
        return len(parts) > 2 * (filled + 1)

    def release(self) -> None:
        """Hold no rows any more; those that are asked for are read again."""
        self._held = HeldParts()

    def _part(self, part: int) -> HeldPart:
        held = self._held.get(part)
        if held is None:
            blobs = self.database.read(
                "SELECT width, dtype, keys, rows, sums, crc FROM embeddings WHERE part = ?",
                part,
            )
            stored = self._sums[part].tobytes()
            if (
                not blobs
                or blobs[0][4] != stored
                or blobs[0][5] != blob_checksum(*blobs[0][2:5])
            ):
                raise self._changed()
            width, dtype, _, data, _, _ = blobs[0]
            rows = np.frombuffer(data, dtype=_TYPES[dtype]).reshape(-1, width)
            needed = None if self._needed is None else self._needed[part]
            held = HeldPart.of(rows, needed)
            self._held.hold(part, held)
        return held

    def _changed(self) -> T2IBenchError:
        return T2IBenchError(
            f"{self.database.path} was changed while it was in use.",
            "Run the command again.",
        )

    def checksum(self, kind: Kind, key: str) -> int | None:
        """Return the checksum of an embedding without reading it; None if there is none."""
        if not self.has(kind, key):
            return None
        part, row = divmod(self._places[kind][key], 1 << _ROW_BITS)
        return int(self._sums[part][row])

    def missing(self, kind: Kind, keys: Iterable[str]) -> list[str]:
        """Return the hashes of images or texts that have no embedding yet, in order, each once."""
        return [key for key in dict.fromkeys(keys) if key not in self._places[kind]]

    def copy_from(
        self, source: EvidenceStore, images: Collection[str] | None = None
    ) -> None:
        """Store what another store of the same encoder has and this one lacks.

        Args:
            source: The other store.
            images: SHA-256 of the images whose embeddings are copied; None for all. Those of texts
                are copied in any case.
        """
        for kind in KINDS:
            keys = sorted(source.keys(kind))
            if kind == "images" and images is not None:
                keys = [key for key in keys if key in images]
            missing = self.missing(kind, keys)
            for start in range(0, len(missing), _COPIED_TOGETHER):
                part = missing[start : start + _COPIED_TOGETHER]
                self.add(kind, part, source.rows(kind, part).astype("float32"))

    @property
    def width(self) -> int | None:
        """The dimension of the embeddings; None while there are none."""
        return self._width

    def add(
        self,
        kind: Kind,
        keys: Sequence[str],
        embeddings: Float32Array,
        dtype: str = "float32",
    ) -> None:
        """Store embeddings, shape (n, d), as one part, in float32 or in the given `dtype`."""
        rows = np.ascontiguousarray(embeddings, dtype=_TYPES[dtype])
        raw = np.frombuffer(bytes.fromhex("".join(keys)), dtype=np.uint8).reshape(
            len(keys), _KEY
        )
        sums = row_checksums(raw, rows)
        blobs = (raw.tobytes(), rows.tobytes(), sums.astype("<u4").tobytes())
        with self.database.writing():
            self.database.add_model(*self._model)
            self.database.execute(
                "INSERT INTO embeddings(model, kind, width, dtype, keys, rows, sums, crc) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                self._id,
                kind,
                rows.shape[1],
                dtype,
                *blobs,
                blob_checksum(*blobs),
            )
            ((part,),) = self.database.read("SELECT last_insert_rowid()")
            if part in self._sums:
                # Another file took its place, so that the index is that of parts which are gone;
                # the error takes the row out of it again.
                raise self._changed()
        self._width = rows.shape[1]
        self._add(part, kind, blobs[0], rows, sums)
