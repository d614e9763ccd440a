"""Reader of user tables in CSV, XLSX, JSON Lines and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, shown, shown_path
from t2ibench.store.file_errors import read_data, reading
from t2ibench.store.people_tables.delimited import (
    DELIMITER_NAMES,
    Record,
    delimited_records,
)
from t2ibench.store.people_tables.encoding import decode_text
from t2ibench.store.people_tables.headings import (
    KNOWN_HEADINGS,
    cleaned_heading,
    heading_key,
    known_column,
    role_of,
)
from t2ibench.store.people_tables.json_records import JsonRecord, json_records, text_of
from t2ibench.store.people_tables.workbook import is_workbook, workbook_records

TABLE_SUFFIXES = frozenset(
    {".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".jsonl", ".ndjson", ".json"}
)
_LARGEST = 64 * 2**20  # bytes
_MOST_TITLES = 5  # lines above the headings
_SHOWN = 20  # columns in a message
_JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
_EXAMPLE = '{"file": "a.png", "prompt": "a photo of a nurse"}'
_QUALTRICS = re.compile(r'\s*\{"ImportId"')
_INDEX_COLUMN = "Unnamed: 0"  # as pandas calls a first column without a heading


@dataclass(slots=True)
class Table:
    """A table of rows with line numbers; cells are text, or any JSON value.

    Attributes:
        path: The file.
        columns: Its headings as a person reads them, without empty ones.
        rows: The line on which each row begins, and its cells by heading; missing cells are empty.
        heading_line: The line of the headings.
        notes: Lines about how the file was read, where that was a choice.
        is_json: Whether cells are values of JSON; else they are texts.
    """

    path: Path
    columns: list[str]
    rows: list[tuple[int, dict[str, Any]]]
    heading_line: int = 1
    notes: list[str] = field(default_factory=list)
    is_json: bool = False
    # heading to where its columns differ
    doubled: dict[str, str] = field(default_factory=dict)
    # role to the heading a user named for it
    mapped: dict[str, str] = field(default_factory=dict)
    # the same, of headings it lacks
    not_there: dict[str, str] = field(default_factory=dict)

    def find(self, role: str) -> str | None:
        """Return the heading of the column with a role such as 'image'; None if there is none."""
        column = self.mapped.get(heading_key(role)) or known_column(role, self.columns)
        if column is None:
            return None
        self.check_used(column)
        wanted = self.not_there.pop(heading_key(role), None)
        if wanted is not None:
            self.notes.append(
                f"{shown_path(self.path)} has no column '{shown(wanted)}' (--columns {role}=…), so "
                f"'{shown(column)}' is read. {self.listed()}"
            )
        return column

    def need(self, role: str, purpose: str) -> str:
        """Return the heading of the column with a role; raise an error if there is none."""
        column = self.find(role)
        if column is None:
            raise self.lacks(role, purpose)
        return column

    def lacks(self, role: str, purpose: str) -> T2IBenchError:
        """Return the error for a missing column, which says for what `purpose` it is needed."""
        names = KNOWN_HEADINGS.get(role, (role,))
        wanted = self.not_there.get(heading_key(role))
        what = f"no column '{names[0]}'"
        if wanted is not None:
            what = f"no column '{shown(wanted)}' (--columns {role}=…)"
        near = did_you_mean(wanted or names[0], self.columns)
        others = (
            f"Known headings: {', '.join(names[:6])}, …; or" if len(names) > 1 else "Or"
        )
        return T2IBenchError(
            " ".join([f"{self.where()}: {what}.{near} {self.listed()}", *self.notes]),
            f"{purpose[:1].upper()}{purpose[1:]}. {others} name it: --columns {role}=NAME.",
        )

    def check_used(self, column: str) -> None:
        """Raise an error for a duplicate heading whose columns differ."""
        if column in self.doubled:
            raise T2IBenchError(
                self.doubled[column], "Keep one of the columns, or rename one."
            )

    def rows_by_labeller(self) -> dict[str, list[tuple[int, dict[str, Any]]]]:
        """Return the rows of each person in the labeller column; empty without such a column."""
        by_labeller: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        if (
            self.mapped.get("labeller", known_column("labeller", self.columns))
            in self.doubled
        ):
            return by_labeller  # which of the columns has the answer is ambiguous
        column = self.find("labeller")
        for line, row in self.rows:
            name = (
                ""
                if column is None
                else " ".join((text_of(row.get(column)) or "").split())
            )
            if name:
                by_labeller.setdefault(name, []).append((line, row))
        return by_labeller

    def listed(self) -> str:
        """Return a sentence that lists the table's columns."""
        if not self.columns:
            return "It has no columns."
        names = ", ".join(f"'{shown(name, 60)}'" for name in self.columns[:_SHOWN])
        more = (
            f" and {len(self.columns) - _SHOWN} more"
            if len(self.columns) > _SHOWN
            else ""
        )
        return f"Its columns are {names}{more}."

    def where(self, line: int | None = None) -> str:
        """Return 'FILE:LINE' for messages; the default is the line of the headings."""
        return f"{shown_path(self.path)}:{self.heading_line if line is None else line}"

    def text(self, line: int, row: Mapping[str, Any], column: str | None) -> str:
        """Return a cell as text; raise an error for a JSON value that is no text."""
        text = text_of(row.get(column)) if column is not None else ""
        if text is None:
            raise T2IBenchError(
                f"{self.where(line)}: '{shown(row[column or ''])}' is not text."
            )
        return text


def read_table(
    path: Path,
    hint: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    sheet: str | None = None,
    expected: str = _EXAMPLE,
) -> Table:
    """Return a table that a user made, read from CSV, XLSX, JSON Lines or JSON.

    Args:
        path: The file; its content, not its ending, says what it is.
        hint: The next step for a user whose file cannot be read.
        columns: Roles, or names of questions, with the headings that hold them here.
        sheet: The sheet of a workbook; None for the first.
        expected: A row of JSON Lines as an example in messages.

    Returns:
        The table, its cells without the spaces around them.
    """
    data = read_data(path, _LARGEST, hint)
    with reading(path, hint):
        if is_workbook(data, path):
            read = workbook_records(path, sheet)
            table = _from_records(path, read.records, None)
            table.notes[:0] = read.notes
        else:
            text, note = decode_text(data, path)
            del data
            if _is_json(path, text):
                table = _from_json(path, json_records(text, path, expected))
            else:
                table = _from_records(path, *delimited_records(text, path))
            if note is not None:
                table.notes.insert(0, note)
    _apply(table, columns or {})
    return table


def _is_json(path: Path, text: str) -> bool:
    """Return whether a text is JSON, judging by the file's ending or its first character."""
    if path.suffix.lower() in _JSON_SUFFIXES:
        return True
    return text.lstrip().startswith(('{"', '[{"'))


def _from_json(path: Path, records: Sequence[JsonRecord]) -> Table:
    columns: dict[str, str] = {}  # key of a record to its heading
    for _, record in records:
        for name in record:
            if name not in columns:
                columns[name] = cleaned_heading(name) or name
    rows: list[tuple[int, dict[str, Any]]] = []
    for line, record in records:
        rows.append((line, {columns[name]: value for name, value in record.items()}))
    return Table(path, list(dict.fromkeys(columns.values())), rows, is_json=True)


def _from_records(
    path: Path, records: Sequence[Record], delimiter: str | None
) -> Table:
    if not records:
        return Table(path, [], [])
    rows = list(records)
    notes = _without_title(path, rows)
    heading_line, first = rows.pop(0)
    headings = [cleaned_heading(cell) for cell in first]
    notes += _without_second_headings(path, rows)
    if headings and not headings[0] and any(headings):
        headings[0] = _INDEX_COLUMN  # row numbers of pandas and R
    last = max(
        (number for number, heading in enumerate(headings, 1) if heading), default=0
    )
    table = Table(path, [], [], heading_line, notes)
    if delimiter is not None:
        for line, cells in rows:
            _check_beyond(table, line, cells, last, delimiter)
    places = _places(table, headings, rows)
    table.columns = list(places)
    for line, cells in rows:
        width = len(cells)
        values = {
            heading: cells[place].strip() if place < width else ""
            for heading, place in places.items()
        }
        table.rows.append((line, values))
    return table


def _without_title(path: Path, rows: list[Record]) -> list[str]:
    """Remove title lines above the headings, and return notes on them."""
    first_wide = next(
        (number for number, (_, cells) in enumerate(rows) if _filled(cells) > 1), 0
    )
    if not 0 < first_wide <= _MOST_TITLES:
        return []
    titles = [
        next(cell for cell in cells if cell.strip()) for _, cells in rows[:first_wide]
    ]
    if any(role_of(title) is not None for title in titles):
        return []
    del rows[:first_wide]
    lines = "; ".join(f"'{shown(title.strip(), 60)}'" for title in titles)
    return [
        f"{shown_path(path)}: above its headings stands {lines}, which is left out."
    ]


def _filled(cells: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def _without_second_headings(path: Path, rows: list[Record]) -> list[str]:
    """Remove the two additional heading rows of Qualtrics exports, and return notes on them."""
    for number, (_, cells) in enumerate(rows[:2]):
        if any(_QUALTRICS.match(cell) for cell in cells):
            lines = " and ".join(str(before) for before, _ in rows[: number + 1])
            del rows[: number + 1]
            return [
                f"{shown_path(path)}: line {lines} is a further heading of Qualtrics, no row."
            ]
    return []


def _check_beyond(
    table: Table, line: int, cells: Sequence[str], last: int, delimiter: str
) -> None:
    """Raise an error for text beyond the last heading, usually caused by an unquoted comma."""
    beyond = next((cell for cell in cells[last:] if cell.strip()), None)
    if beyond is not None:
        width = max(_filled(cells), last + 1)
        raise T2IBenchError(
            f"{table.where(line)}: {width} cells, but the header has {last}: "
            f"'{shown(beyond.strip(), 60)}' is under no heading.",
            f"Put texts that contain {DELIMITER_NAMES[delimiter]} into double quotes, or give the "
            "column a heading.",
        )


def _places(
    table: Table, headings: Sequence[str], rows: Sequence[Record]
) -> dict[str, int]:
    """Return the column index of each heading; for duplicates, the first non-empty column."""
    places: dict[str, int] = {}
    by_key: dict[str, str] = {}
    for place, heading in enumerate(headings):
        if not heading:
            continue
        earlier = by_key.setdefault(heading_key(heading) or heading, heading)
        if earlier not in places:
            places[heading] = place
            continue
        if _is_empty(rows, places[earlier]):
            places[earlier] = place
        elif not _is_empty(rows, place) and earlier not in table.doubled:
            differing = _first_difference(rows, places[earlier], place)
            if differing is not None:
                table.doubled[earlier] = (
                    f"{table.where(differing[0])}: {_twice(earlier, differing)}"
                )
    return places


def _is_empty(rows: Iterable[Record], place: int) -> bool:
    return not any(place < len(cells) and cells[place].strip() for _, cells in rows)


def _twice(heading: str, differing: tuple[int, str, str]) -> str:
    _, cell, other = differing
    return (
        f"the heading '{shown(heading)}' is there twice, with '{shown(cell, 60)}' and "
        f"'{shown(other, 60)}'."
    )


def _first_difference(
    rows: Iterable[Record], place: int, other: int
) -> tuple[int, str, str] | None:
    for line, cells in rows:
        cell = cells[place].strip() if place < len(cells) else ""
        other_cell = cells[other].strip() if other < len(cells) else ""
        if cell != other_cell:
            return line, cell, other_cell
    return None


def _apply(table: Table, columns: Mapping[str, str]) -> None:
    """Give the columns that the user named precedence over recognised headings."""
    by_key = {heading_key(column): column for column in table.columns}
    for role, heading in columns.items():
        column = by_key.get(heading_key(heading))
        for key in {heading_key(role), role_of(role) or ""} - {""}:
            if column is not None:
                table.mapped[key] = column
            else:
                table.not_there[key] = heading
