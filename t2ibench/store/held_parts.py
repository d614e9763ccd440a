"""The embeddings that a store holds in memory: those used last, up to a number of rows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import FloatArray, IntArray

# A run of 20,000 images stays in memory, and so does the largest task of a run of 100,000, for
# which other images are not held: 61 MB at width 768.
MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class HeldPart:
    """The rows of a stored part that are held.

    Attributes:
        rows: Embeddings as they are stored, shape (n, d).
        numbers: Shape (n,), ascending, the number in the part of each row; None for all rows.
    """

    rows: FloatArray
    numbers: IntArray | None = None

    @classmethod
    def of(cls, rows: FloatArray, needed: IntArray | None) -> HeldPart:
        """Return the needed rows of a part, given all of its rows.

        Args:
            rows: All rows of the part.
            needed: The numbers of the rows that may be asked for, ascending; None for all.
        """
        if needed is None or len(needed) == len(rows):
            return cls(rows)
        return cls(rows[needed], needed)

    def at(self, numbers: IntArray) -> FloatArray:
        """Return the rows with these numbers in the part."""
        if self.numbers is None:
            return self.rows[numbers]
        return self.rows[np.searchsorted(self.numbers, numbers)]


class HeldParts:
    """The parts that were used last, for several threads; another process starts with none."""

    def __init__(self) -> None:
        self._parts: dict[int, HeldPart] = {}  # the last one used last
        self._n_rows = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return HeldParts, ()

    def get(self, part: int) -> HeldPart | None:
        """Return the rows of a part, which counts as used; None if they are not held."""
        with self._lock:
            held = self._parts.pop(part, None)
            if held is not None:
                self._parts[part] = held
            return held

    def hold(self, part: int, held: HeldPart) -> None:
        """Hold the rows of a part, in the place of those of parts used long ago."""
        with self._lock:
            before = self._parts.pop(part, None)
            self._n_rows += len(held.rows) - (len(before.rows) if before else 0)
            self._parts[part] = held
            while self._n_rows > MOST_ROWS and len(self._parts) > 1:
                oldest = self._parts.pop(next(iter(self._parts)))
                self._n_rows -= len(oldest.rows)
