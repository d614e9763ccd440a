"""JSON Lines: one codec for the rows of stores, manifests, replies and samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonlines

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.files import UNWRITABLE, write_text
from t2ibench.store.problems import disk_errors, reading


def dump_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON Lines.

    Args:
        rows: Mappings of JSON values.

    Returns:
        One line a row, each with its newline.
    """
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of rows atomically.

    Args:
        path: Where the file goes; folders are created.
        rows: Mappings of JSON values.

    Raises:
        T2IBenchError: the path cannot be written to.
    """
    write_text(path, dump_rows(rows))


def append_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a file that no other process writes to.

    Args:
        path: The file; it is created where there is none.
        rows: Mappings of JSON values.

    Raises:
        T2IBenchError: the path cannot be written to.
    """
    text = dump_rows(rows)
    if not text:
        return
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors=UNWRITABLE) as file:
            file.write(text)


def _loads(line: str | bytes) -> Any:
    try:
        return json.loads(line)
    except (RecursionError, OverflowError):
        raise ValueError("nested too deeply") from None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of rows; a line torn by a killed writer is skipped.

    Args:
        path: The file.

    Yields:
        The rows, in the order of the file.

    Raises:
        T2IBenchError: it cannot be read.
    """
    with reading(path), path.open(encoding="utf-8", errors="replace") as file:
        yield from jsonlines.Reader(file, loads=_loads).iter(
            type=dict, skip_invalid=True, skip_empty=True
        )


def read_rows_strictly(path: Path, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file that a person wrote, with their line numbers.

    Args:
        path: The file, UTF-8, with or without a byte-order mark.
        expected: An example of a row, for the message.

    Yields:
        Line number from 1, and row.

    Raises:
        T2IBenchError: it cannot be read, or a line is not a JSON object.
    """
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
