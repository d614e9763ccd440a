"""Simulated data sets that a folder keeps, so that a calibration that was stopped goes on."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from t2ibench.arrays import Float64Array
from tools.calibration.cells import Cell

_ROOT = Path(__file__).resolve().parents[2]
# What decides a figure: the methods with their statistics, what compares runs, and the worlds.
_SOURCES = (
    "t2ibench/stats",
    "t2ibench/methods",
    "t2ibench/results",
    "tools/calibration",
)


def code_sha256(root: Path = _ROOT) -> str:
    """Return the SHA-256 over the source files that decide the figures of a calibration."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
            digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


class KeptChunks:
    """The data sets that were simulated by this code, in a folder of its hash.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path, code: str) -> None:
        self.folder = folder / code[:16]
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, seed: int, cell: Cell, numbers: range) -> Float64Array | None:
        """Return the data sets of a chunk; None if they were not simulated yet."""
        path = self._path(seed, cell, numbers)
        return np.load(path, allow_pickle=False) if path.exists() else None

    def add(self, seed: int, cell: Cell, numbers: range, rows: Float64Array) -> None:
        """Keep the data sets of a chunk."""
        path = self._path(seed, cell, numbers)
        unfinished = path.with_suffix(".tmp.npy")
        np.save(unfinished, rows, allow_pickle=False)
        unfinished.replace(path)

    def _path(self, seed: int, cell: Cell, numbers: range) -> Path:
        name = "\0".join(cell.key)
        cell_id = hashlib.sha256(name.encode()).hexdigest()[:16]
        return self.folder / f"{cell_id}-{seed}-{numbers.start}-{numbers.stop}.npy"
