"""JSON Lines: one codec for the rows of stores, manifests, replies and samples."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonlines

from t2ibench.errors import T2IBenchError
from t2ibench.store.files import disk_errors, write_text


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
        T2IBenchError: the disk is full or read-only.
    """
    write_text(path, dump_rows(rows))


def append_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a file that no other process writes to.

    Args:
        path: The file; it is created where there is none.
        rows: Mappings of JSON values.

    Raises:
        T2IBenchError: the disk is full or read-only.
    """
    text = dump_rows(rows)
    if not text:
        return
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def _loads(line: str | bytes) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of rows; a line torn by a killed writer is skipped.

    Args:
        path: The file.

    Yields:
        The rows, in the order of the file.

    Raises:
        OSError: it cannot be opened.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from _valid_rows(file)


def _valid_rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    yield from jsonlines.Reader(lines, loads=_loads).iter(
        type=dict, skip_invalid=True, skip_empty=True
    )


class RowReader:
    """Reads the files of rows in one folder, and later what was appended to them since.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ends: dict[Path, int] = {}
        self._own: set[Path] = set()

    def leave_out(self, path: Path) -> None:
        """Read no further rows of a file.

        Args:
            path: The file that this process itself appends to.
        """
        self._own.add(path)

    def new_rows(self) -> Iterator[dict[str, Any]]:
        """The rows that this reader has not given yet, file by file in the order of their names.

        Yields:
            The rows. One whose line has no end yet is given again once it has.
        """
        for path in sorted(set(self._folder.glob("*.jsonl")) - self._own):
            try:
                size, start = path.stat().st_size, self._ends.get(path, 0)
                if size == start:
                    continue
                with path.open("rb") as file:
                    file.seek(start if size > start else 0)
                    data = file.read()
            except OSError:
                continue
            self._ends[path] = (start if size > start else 0) + data.rfind(b"\n") + 1
            yield from _valid_rows(io.StringIO(data.decode("utf-8", errors="replace")))


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
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    raise T2IBenchError(
                        f"{path}:{number}: not a JSON object.",
                        f"Expected one a line, such as {expected}.",
                    )
                yield number, row
    except UnicodeDecodeError:
        raise T2IBenchError(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from None
    except OSError as error:
        raise T2IBenchError(f"{path} cannot be read: {error.strerror}.") from None
