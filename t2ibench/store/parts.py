"""One file of embeddings, each row with its key and its checksum."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from t2ibench.arrays import Float32Array
from t2ibench.store.checksums import row_checksums
from t2ibench.store.files import write_atomically

Kind = Literal["images", "texts"]
_UNIT = 2e-3  # how far from 1 the length of a row may be, in half precision too
_TENSORS = {"keys", "embeddings"}
_CHECKSUMS = "checksums"


@dataclass(frozen=True, slots=True)
class Part:
    """The content of one file.

    Attributes:
        kind: What is embedded.
        keys: Shape (n, k); SHA-256 of what is embedded.
        rows: Shape (n, d); their embeddings.
        good: Shape (n,); False where a row is damaged.
        sums: Shape (n,); the checksum of each row with its key, as it was read.
    """

    kind: Kind
    keys: npt.NDArray[np.uint8]
    rows: Float32Array
    good: npt.NDArray[np.bool_]
    sums: npt.NDArray[np.uint32]


def off_length(rows: npt.NDArray[np.floating[Any]], *, may_lack: bool) -> npt.NDArray[np.bool_]:
    """Which rows are not of unit length."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float32))
        # A comparison with NaN is False.
        off: npt.NDArray[np.bool_] = ~(np.abs(lengths - 1) <= _UNIT)
    if may_lack and off.any():
        off[off] = ~np.isnan(rows[off]).all(axis=1)
    return off


def width_of(path: Path) -> int | None:
    """Numbers in a row of a file, which says so at its beginning."""
    try:
        with safe_open(path, framework="np") as file:
            shape = file.get_slice("embeddings").get_shape()
    except (SafetensorError, OSError, ValueError, KeyError):
        return None
    return int(shape[1]) if len(shape) == 2 else None


def read_part(path: Path) -> Part | None:
    """Read a file of embeddings and check its rows."""
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError, ValueError, KeyError):
        return None
    if tensors.keys() - {_CHECKSUMS} != _TENSORS:
        return None
    keys, rows, sums = tensors["keys"], tensors["embeddings"], tensors.get(_CHECKSUMS)
    if keys.dtype != np.uint8 or keys.ndim != 2 or rows.ndim != 2 or len(keys) != len(rows):
        return None
    # Submissions are packed in half precision, and have the SHA-256 of the file instead.
    if rows.dtype != np.float32 and (rows.dtype != np.float16 or sums is not None):
        return None
    kind: Kind = "texts" if path.name.startswith("texts-") else "images"
    good = ~off_length(rows, may_lack=kind == "texts")
    found = row_checksums(keys, rows)
    if sums is not None:
        if sums.dtype != np.uint32 or sums.shape != (len(keys),):
            return None
        good &= sums == found
    return Part(kind, keys, rows, good, found)


def write_part(
    path: Path, keys: npt.NDArray[np.uint8], rows: Float32Array
) -> npt.NDArray[np.uint32]:
    """Write a file of embeddings, atomically."""
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    keys = np.ascontiguousarray(keys)
    sums = row_checksums(keys, rows)
    tensors: dict[str, Any] = {"keys": keys, "embeddings": rows, _CHECKSUMS: sums}
    write_atomically(path, lambda file: save_file(tensors, file))
    return sums
