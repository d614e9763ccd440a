"""Reading and writing JSON Lines, for exports, recordings and user files."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from t2ibench.store.file_errors import could_be_endless, disk_errors, reading
from t2ibench.store.files import sync, sync_folder, write_bytes


def dump_rows(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as the bytes of a JSON Lines file."""
    # Half a surrogate pair has no UTF-8; as an escape it comes back as it was.
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    return b"".join(line.encode("utf-8", "backslashreplace") + b"\n" for line in lines)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a JSON Lines file of rows atomically."""
    write_bytes(path, dump_rows(rows))


def append_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a JSON Lines file that no other process writes to.

    A line that an interrupted write left torn is ended first, so that it costs itself alone.
    """
    data = dump_rows(rows)
    if not data:
        return
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        if not new and could_be_endless(path):
            # A device takes what is written and keeps nothing.
            raise OSError(errno.EINVAL, "it is no ordinary file")
        with path.open("a+b") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    data = b"\n" + data
            file.write(data)
            sync(file)
        if new:
            sync_folder(path.parent)


def _loads(line: str | bytes) -> Any:
    try:
        return json.loads(line)
    except (RecursionError, OverflowError):
        raise ValueError("nested too deeply") from None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file, except a line that a killed process truncated."""
    import jsonlines

    with reading(path), path.open(encoding="utf-8", errors="replace") as file:
        yield from jsonlines.Reader(file, loads=_loads).iter(
            type=dict, skip_invalid=True, skip_empty=True
        )
