"""Embeddings on disk, one folder an encoder, keyed by what was embedded."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.store.checks import Damage
from t2ibench.store.files import set_aside
from t2ibench.store.parts import Kind, Part, read_part, write_part
from t2ibench.store.problems import disk_errors


def slug(name: str) -> str:
    """Turn a name into a file name.

    Args:
        name: Any name.

    Returns:
        ASCII letters, digits, '.', '_' and '-', at most 80 of them; 'unnamed' if none is left.
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "unnamed"


def text_key(text: str) -> str:
    """SHA-256 hex of a text.

    Args:
        text: The text.

    Returns:
        The key under which its embedding is stored.
    """
    return hashlib.sha256(text.encode()).hexdigest()


class EvidenceStore:
    """The embeddings one encoder made.

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
        self._rows: dict[Kind, dict[str, Float32Array]] = {"images": {}, "texts": {}}
        self._damaged: dict[Path, Part | None] = {}
        self._writer = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._parts = 0
        self._read: set[str] = set()
        self.refresh()

    def refresh(self) -> bool:
        """Load the parts that other processes have written since.

        Returns:
            Whether there were any.
        """
        paths = [p for p in sorted(self.folder.glob("*.safetensors")) if p.name not in self._read]
        read = [(path, read_part(path)) for path in paths]
        self._read.update(path.name for path in paths)
        width = self.width
        if width is None:
            widths = Counter[int]()
            for _, part in read:
                if part is not None:
                    widths[part.rows.shape[1]] += int(part.good.sum())
            width = widths.most_common(1)[0][0] if widths else 0
        for path, part in read:
            self._index(path, part, width)
        return bool(read)

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
        known = self._rows[part.kind]
        for key, row, good in zip(part.keys, part.rows, part.good, strict=True):
            if good:
                known.setdefault(key.tobytes().hex(), row)

    def mend(self) -> None:
        """Take what is damaged out of the parts, so that nobody is told of it any more.

        A part without a good row is set aside.

        Raises:
            T2IBenchError: the disk is full or read-only.
        """
        for path, part in self._damaged.items():
            if part is not None and part.good.any():
                write_part(path, part.keys[part.good], part.rows[part.good])
            else:
                with disk_errors(path), suppress(FileNotFoundError):  # another process was faster
                    set_aside(path)
        self._damaged = {}
        self.damage.pieces = self.damage.files = 0

    def has(self, kind: Kind, key: str) -> bool:
        """Whether an embedding is there.

        Args:
            kind: 'images' or 'texts'.
            key: SHA-256 of the file or text, as hex.

        Returns:
            True if it can be read with `get`.
        """
        return key in self._rows[kind]

    def get(self, kind: Kind, key: str) -> Float32Array:
        """Read one embedding.

        Args:
            kind: 'images' or 'texts'.
            key: SHA-256 of the file or text, as hex.

        Returns:
            Shape (d,).

        Raises:
            KeyError: it is not there.
        """
        return self._rows[kind][key]

    def missing(self, kind: Kind, keys: Iterable[str]) -> list[str]:
        """The keys that have no embedding yet, in order, each once.

        Args:
            kind: 'images' or 'texts'.
            keys: SHA-256 of files or texts, as hex.

        Returns:
            The keys.
        """
        return [key for key in dict.fromkeys(keys) if key not in self._rows[kind]]

    @property
    def width(self) -> int | None:
        """Numbers in one embedding; None while there is none."""
        for rows in self._rows.values():
            for row in rows.values():
                return len(row)
        return None

    def add(self, kind: Kind, keys: Sequence[str], embeddings: Float32Array) -> None:
        """Store embeddings.

        Args:
            kind: 'images' or 'texts'.
            keys: One for each row.
            embeddings: Shape (n, d).

        Raises:
            T2IBenchError: the path cannot be written to.
        """
        raw = np.frombuffer(bytes.fromhex("".join(keys)), dtype=np.uint8).reshape(len(keys), -1)
        rows = np.ascontiguousarray(embeddings, dtype=np.float32)
        path = self.folder / f"{kind}-{self._writer}-{self._parts:06d}.safetensors"
        self._parts += 1
        self._read.add(path.name)
        write_part(path, raw, rows)
        for key, row in zip(keys, rows, strict=True):
            self._rows[kind][key] = row
