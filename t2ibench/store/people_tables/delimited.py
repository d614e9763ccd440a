"""Parsing of text tables separated by commas, semicolons, tabs or vertical bars."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.store.people_tables.headings import heading_row

Record = tuple[int, list[str]]  # the line on which it begins, and its cells
DELIMITERS = ",;\t|"
NO_DELIMITER = "\x1f"  # in a file of one column, commas are text
DELIMITER_NAMES = {
    ",": "a comma",
    ";": "a semicolon",
    "\t": "a tab",
    "|": "a bar",
    NO_DELIMITER: "a separator",
}
_SAMPLE = 50  # records by which the delimiter is chosen
MOST_ABOVE = 10  # rows above the headings
_SEP_LINE = re.compile(r'"?sep=(.)"?[,;\t| ]*(?:\r\n|\r|\n|$)', re.IGNORECASE)
_LONGEST_CELL = 16 * 2**20  # characters


def delimited_records(
    text: str, path: Path, named: Collection[str] = ()
) -> tuple[list[Record], str]:
    """Return the non-empty records of a table, with their line numbers, and its delimiter.

    A quoted cell may contain line breaks. Excel's first line 'sep=;' is followed, and a space
    between a delimiter and a quote is allowed.

    Args:
        text: The table.
        path: Its file, for messages.
        named: Headings that a user named.
    """
    csv.field_size_limit(_LONGEST_CELL)
    lines_before = 0
    declared = _SEP_LINE.match(text)
    if declared is not None:
        text = text[declared.end() :]
        lines_before = 1
    delimiter = choose_delimiter(text, named)
    # A declared delimiter that no line has stayed behind when another program saved the table.
    if declared is not None and (declared[1] in text or delimiter == NO_DELIMITER):
        delimiter = declared[1]
    mark = re.escape(delimiter)
    try:
        return _records(text, path, delimiter, lines_before), delimiter
    except T2IBenchError:
        # Spaces behind a closing quote, which some programs write; nothing is lost without them.
        narrow = re.sub(rf'(?<=") +(?={mark}|\r|\n|$)', "", text)
        if narrow != text:
            return _records(narrow, path, delimiter, lines_before), delimiter
        if '\\"' not in text:
            raise
        # Spark and MySQL write a backslash before a quote.
        return _records(text, path, delimiter, lines_before, escape="\\"), delimiter


def _records(
    text: str,
    path: Path,
    delimiter: str,
    lines_before: int,
    escape: str | None = None,
) -> list[Record]:
    spaced = re.search(f'{re.escape(delimiter)} +"', text) is not None
    records: list[Record] = []
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        strict=True,
        skipinitialspace=spaced,
        escapechar=escape,
        doublequote=escape is None,
    )
    line = lines_before + 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append((line, cells))
            line = lines_before + reader.line_num + 1
    except csv.Error as error:
        raise _slip(error, path, line, delimiter) from None
    return records


def _slip(error: csv.Error, path: Path, line: int, delimiter: str) -> T2IBenchError:
    """Return the error for a defect of a CSV file, in the words of a spreadsheet user."""
    where = f"{shown_path(path)}:{line}"
    words = str(error)
    if "unexpected end of data" in words:
        return T2IBenchError(
            f"{where}: unexpected end of data: the quote that opens in this row is never closed.",
            'Close it, or write a quote inside a cell twice ("").',
        )
    if "expected after" in words and delimiter == NO_DELIMITER:
        return T2IBenchError(
            f"{where}: nothing that is read as a separator stands between its cells.",
            "Separate them by commas, semicolons or tabs; in R: write.csv(…, row.names = FALSE).",
        )
    if "expected after" in words:
        return T2IBenchError(
            f"{where}: text follows a closing quote ({words}).",
            'Write a quote inside a quoted cell twice ("").',
        )
    return T2IBenchError(f"{where}: {words}.")


def choose_delimiter(text: str, named: Collection[str] = ()) -> str:
    r"""Return the delimiter with which heading and most rows have equally many cells.

    Examples:
        >>> choose_delimiter("file;gender, as seen\na.png;female\n")
        ';'
        >>> choose_delimiter("caption\nA man, a dog\n") == NO_DELIMITER
        True
    """
    best = NO_DELIMITER
    best_fit = (0.0, 0)
    for delimiter in DELIMITERS:
        records = _from_headings(_sample(text, delimiter), named)
        heading = _width(records[0]) if records else 0
        if heading < 2:
            continue
        fit = (_share_alike(records, heading), heading)
        if best == NO_DELIMITER or fit > best_fit:
            best = delimiter
            best_fit = fit
    return best


def _from_headings(records: list[list[str]], named: Collection[str]) -> list[list[str]]:
    """Return records without what stands above the headings."""
    place = heading_row(records[: MOST_ABOVE + 1], named)
    if place is not None:
        return records[place:]
    # A title above the headings is a line of one cell, which Excel fills up with empty ones.
    return list(dropwhile(lambda cells: _width(cells) < 2 <= len(cells), records))


def _sample(text: str, delimiter: str) -> list[list[str]]:
    """Return heading and first rows of a text, as far as a delimiter can parse them."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True
    )
    records: list[list[str]] = []
    with suppress(csv.Error):
        for cells in reader:
            if _width(cells):
                records.append(cells)
            if len(records) > _SAMPLE:
                break
    return records


def _width(cells: Sequence[str]) -> int:
    """Return how many cells a row has up to its last non-empty one."""
    return max(
        (number for number, cell in enumerate(cells, 1) if cell.strip()), default=0
    )


def _share_alike(records: Sequence[Sequence[str]], heading: int) -> float:
    """Return the share of rows as wide as the heading, empty last cells aside, to one decimal."""
    rows = records[1:]
    if not rows:
        return 1.0
    alike = sum(len(row) == len(records[0]) or _width(row) == heading for row in rows)
    return round(alike / len(rows), 1)
