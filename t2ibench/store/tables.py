"""CSV files of users: the delimiter is the one that the header has."""

from __future__ import annotations

import csv
import io
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.file_errors import read_text, reading

_LARGEST = 64 * 2**20  # bytes
_DELIMITERS = ",;\t|"
_NONE = "\x1f"  # in a file of one column, commas are text
_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", _NONE: "a separator"}


class Table(NamedTuple):
    """A CSV file."""

    columns: list[str]
    rows: list[tuple[int, dict[str, str]]]  # line number and cells; missing ones are empty


def read_table(path: Path, hint: str | None = None) -> Table:
    """Read a CSV file with commas, semicolons, tabs or bars between its cells."""
    text = read_text(path, _LARGEST, hint)
    with reading(path, hint):
        header = text.partition("\n")[0]
        delimiter = max(_DELIMITERS, key=lambda mark: _count(header, mark))
        if _count(header, delimiter) < 2:
            delimiter = _NONE
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = []
        try:
            columns = [name.strip() for name in next(reader, [])]
            for cells in reader:
                if any(cells[len(columns) :]):
                    raise csv.Error(
                        f"{len(cells)} cells, but the header has {len(columns)}: put texts that "
                        f"hold {_NAMES[delimiter]} into double quotes"
                    )
                if any(cells):
                    pairs = zip_longest(columns, cells[: len(columns)], fillvalue="")
                    rows.append((reader.line_num, dict(pairs)))
        except csv.Error as error:
            raise T2IBenchError(f"{shown(path, 400)}:{reader.line_num}: {error}.", hint) from None
    return Table(columns, rows)


def _count(header: str, mark: str) -> int:
    """How many cells a delimiter cuts off; what is in quotes is one cell."""
    try:
        return len(next(csv.reader([header], delimiter=mark), []))
    except csv.Error:
        return 0
