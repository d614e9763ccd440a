"""Embeddings on disk, one folder an encoder, keyed by what was embedded."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from t2ibench.arrays import Float32Array
from t2ibench.store.files import write_bytes

Kind = Literal["images", "texts"]


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
    carries the encoder's fingerprint. A part is written once, atomically, and never changed.

    Args:
        root: The run folder's evidence/.
        name: The encoder's name.
        fingerprint: The encoder's fingerprint.
    """

    def __init__(self, root: Path, name: str, fingerprint: str) -> None:
        self.folder = root / f"{slug(name)}-{fingerprint[:12]}"
        self._rows: dict[Kind, dict[str, Float32Array]] = {"images": {}, "texts": {}}
        self._writer = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._parts = 0
        for path in sorted(self.folder.glob("*.safetensors")):
            self._load(path)

    def _load(self, path: Path) -> None:
        kind: Kind = "texts" if path.name.startswith("texts-") else "images"
        try:
            part = load_file(path)
            keys, embeddings = part["keys"], part["embeddings"]
        except (SafetensorError, OSError, KeyError):
            return  # a broken part is evidence that is not there: it is made again
        if keys.dtype != np.uint8 or keys.ndim != 2 or len(keys) != len(embeddings):
            return
        for key, row in zip(keys, embeddings, strict=True):
            self._rows[kind].setdefault(key.tobytes().hex(), row)

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
        write_bytes(path, save({"keys": raw, "embeddings": rows}))
        for key, row in zip(keys, rows, strict=True):
            self._rows[kind][key] = row
