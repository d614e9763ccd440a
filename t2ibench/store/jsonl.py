"""JSON Lines: one codec for the rows of stores, manifests, replies and samples."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonlines

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.checksums import checksum
from t2ibench.store.file_errors import disk_errors, reading
from t2ibench.store.files import sync, sync_folder, write_bytes

_CHECK = "crc32"
_TAIL = re.compile(rb', "crc32": "([0-9a-f]{8})"\}$')


def dump_rows(rows: Iterable[Mapping[str, Any]], *, checked: bool = False) -> bytes:
    """Rows as JSON Lines."""
    return b"".join(_line(row, checked) for row in rows)


def _line(row: Mapping[str, Any], checked: bool) -> bytes:
    # Half a surrogate pair has no UTF-8; as an escape it comes back as it was.
    line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace")
    if checked and row:
        line = b'%s, "%s": "%s"}' % (line[:-1], _CHECK.encode(), checksum(line).encode())
    return line + b"\n"


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], *, checked: bool = False) -> None:
    """Write a file of rows atomically."""
    write_bytes(path, dump_rows(rows, checked=checked))


def append_rows(
    path: Path, rows: Iterable[Mapping[str, Any]], *, checked: bool = False, durable: bool = True
) -> None:
    """Append rows to a file that no other process writes to.

    A line that an interrupted write left torn is ended first, so that it costs itself alone.
    """
    data = dump_rows(rows, checked=checked)
    if not data:
        return
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        with path.open("a+b") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            file.write(data)
            if durable:
                sync(file)
        if new and durable:
            sync_folder(path.parent)


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """What was read of a file of rows with checksums.

    Attributes:
        rows: The rows that are as they were written.
        damaged: The checksum of each line that is not. A last line without its end is none of
            them: its writer was killed, or is writing it now.
        end: Where the last line that has its end ends, in bytes.
    """

    rows: list[dict[str, Any]]
    damaged: list[str]
    end: int


def read_checked_rows(path: Path, start: int = 0) -> CheckedRows:
    """Read a file of rows that carry checksums; rows of older files, without one, are read too."""
    with reading(path), path.open("rb") as file:
        file.seek(start)
        data = file.read()
    *lines, last = data.split(b"\n")
    rows, damaged = [], []
    for line in map(bytes.strip, lines):
        row = checked_row(line) if line else None
        if row is not None:
            rows.append(row)
        elif line:
            damaged.append(checksum(line))
    row = checked_row(last.strip())
    if row is not None:
        rows.append(row)
    return CheckedRows(rows, damaged, start + len(data) - len(last))


def checked_row(line: bytes) -> dict[str, Any] | None:
    """The row in a line."""
    tail = _TAIL.search(line)
    if tail and checksum(line[: tail.start()] + b"}") != tail.group(1).decode():
        return None
    try:
        row = _loads(line.decode("utf-8"))
    except ValueError:
        return None
    if not isinstance(row, dict) or (_CHECK in row) != bool(tail):
        return None
    row.pop(_CHECK, None)
    return row


def _loads(line: str | bytes) -> Any:
    try:
        return json.loads(line)
    except (RecursionError, OverflowError):
        raise ValueError("nested too deeply") from None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of rows; a line torn by a killed writer is skipped."""
    with reading(path), path.open(encoding="utf-8", errors="replace") as file:
        yield from jsonlines.Reader(file, loads=_loads).iter(
            type=dict, skip_invalid=True, skip_empty=True
        )


def read_rows_strictly(path: Path, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file that a person wrote, with their line numbers."""
    with reading(path), path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise T2IBenchError(
                    f"{shown(path, 400)}:{number}: not a JSON object.",
                    f"Expected one a line, such as {expected}.",
                )
            yield number, row
