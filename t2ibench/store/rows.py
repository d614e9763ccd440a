"""A folder of rows that several writers append to, each to a file of its own."""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from t2ibench.store.checksums import Damage
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.jsonl import append_rows, read_checked_rows

_EVERY = 1.0  # seconds of work that a loss of power may cost; each wait takes milliseconds
_KNOWN = "damaged"  # a row of this key names damaged lines that a run has made good


class RowFolder:
    """Rows with checksums, and which of them are damaged.

    Files of other writers are never changed: they may be writing. A run that makes good what is
    damaged notes it in its own file instead.

    Args:
        folder: The folder.
        prefix: How names of files begin.
        damage: What damaged lines are called; it counts those that no run has made good.
    """

    def __init__(self, folder: Path, prefix: str, damage: Damage) -> None:
        self.folder = folder
        self.damage = damage
        self._prefix = prefix
        self._writer: Path | None = None
        self._synced = -math.inf
        self._ends: dict[Path, int] = {}
        self._sizes: dict[Path, int] = {}  # of files, as they were when they were read
        self._found: list[str] = []
        self._known: set[str] = set()

    def read(self) -> Iterator[dict[str, Any]]:
        """The rows that other writers have added since the last time; damaged lines are counted."""
        for path in sorted(self.folder.glob("*.jsonl")):
            if path == self._writer or not path.is_file():
                continue
            start = self._ends.get(path, 0)
            size = path.stat().st_size
            if size == start:
                continue
            new = read_checked_rows(path, start if size > start else 0)
            self._ends[path], self._sizes[path] = new.end, size
            self._found += [f"{path.name} {line}" for line in new.damaged]
            for row in new.rows:
                if isinstance(row.get(_KNOWN), list):
                    self._known.update(map(str, row[_KNOWN]))
                else:
                    yield row
        self.damage.pieces = len(self._open())

    def _open(self) -> list[str]:
        """The damaged lines that no run has made good."""
        return [line for line in self._found if line not in self._known]

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to this process's own file; once a second the disk holds all of them."""
        if self._writer is None:
            self._writer = self._new()
        now = time.monotonic()
        durable = now - self._synced >= _EVERY
        append_rows(self._writer, rows, checked=True, durable=durable)
        if durable:
            self._synced = now

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows to a file of their own; the disk holds them afterwards."""
        append_rows(self._new(), rows, checked=True)

    def replace(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Put rows in the place of the files that were read."""
        new = self._new()
        append_rows(new, rows, checked=True)
        for path, size in self._sizes.items():
            # A file that somebody has written to since stays; its rows are then there twice.
            with disk_errors(path), suppress(FileNotFoundError):
                if path.stat().st_size == size:
                    path.unlink()
        self._ends, self._sizes, self._found = {}, {}, []
        self.damage.pieces = 0
        if new.is_file():
            self._ends[new] = self._sizes[new] = new.stat().st_size

    def _new(self) -> Path:
        return self.folder / f"{self._prefix}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"

    def mend(self) -> None:
        """Note that what is damaged is made again, so that nobody is told of it any more."""
        lines = self._open()
        if lines:
            self.append([{_KNOWN: lines}])
        self._known.update(lines)
        self.damage.pieces = 0
