"""Reader of user tables in CSV, XLSX, JSON Lines and JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, shown, shown_path
from t2ibench.store.file_errors import read_data, reading
from t2ibench.store.file_names import IMAGE_SUFFIXES
from t2ibench.store.people_tables.cells import MARKS, cleaned_cell
from t2ibench.store.people_tables.delimited import (
    DELIMITER_NAMES,
    MOST_ABOVE,
    Record,
    delimited_records,
)
from t2ibench.store.people_tables.encoding import decode_text
from t2ibench.store.people_tables.headings import (
    KNOWN_HEADINGS,
    cleaned_heading,
    heading_key,
    heading_row,
    known_column,
    role_of,
)
from t2ibench.store.people_tables.json_records import JsonRecord, json_records, text_of
from t2ibench.store.people_tables.workbook import is_workbook, workbook_records

TABLE_SUFFIXES = frozenset(
    {".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".jsonl", ".ndjson", ".json"}
)
_LARGEST = 64 * 2**20  # bytes
_SHOWN = 20  # columns in a message
_JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
_EXAMPLE = '{"file": "a.png", "prompt": "a photo of a nurse"}'
_QUALTRICS = re.compile(r'\s*\{"ImportId"')
_SWALLOWED = re.compile(
    rf"(?:{'|'.join(map(re.escape, sorted(IMAGE_SUFFIXES)))})(?![\w.])", re.IGNORECASE
)
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
        sheet_of: The person whose sheet was read because it has their name; else ''.
    """

    path: Path
    columns: list[str]
    rows: list[tuple[int, dict[str, Any]]]
    heading_line: int = 1
    notes: list[str] = field(default_factory=list)
    is_json: bool = False
    # the person whose sheet of a workbook it is, if a sheet has their name
    sheet_of: str = ""
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
        if not self.columns:
            return T2IBenchError(
                " ".join([f"{shown_path(self.path)} is empty.", *self.notes]),
                f"{purpose[:1].upper()}{purpose[1:]}.",
            )
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
        by_labeller = self._rows_by_name()
        by_labeller.pop("", None)
        return by_labeller

    def rows_of_nobody(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the rows without a name in the labeller column, if others have one."""
        by_name = self._rows_by_name()
        return by_name.get("", []) if len(by_name) > 1 else []

    def _rows_by_name(self) -> dict[str, list[tuple[int, dict[str, Any]]]]:
        """Return the rows of each name in the labeller column, '' for none."""
        by_name: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        if (
            self.mapped.get("labeller", known_column("labeller", self.columns))
            in self.doubled
        ):
            return by_name  # which of the columns has the name is ambiguous
        column = self.find("labeller")
        spelt: dict[str, str] = {}  # a name without case to its first spelling
        for line, row in self.rows:
            text = text_of(row.get(column)) if column is not None else None
            name = " ".join((text or "").split())
            name = spelt.setdefault(name.casefold(), name)
            by_name.setdefault(name, []).append((line, row))
        return by_name

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
    person: str = "",
    expected: str = _EXAMPLE,
) -> Table:
    """Return a table that a user made, read from CSV, XLSX, JSON Lines or JSON.

    Args:
        path: The file; its content, not its ending, says what it is.
        hint: The next step for a user whose file cannot be read.
        columns: Roles, or names of questions, with the headings that hold them here.
        sheet: The sheet of a workbook; None for the first, or for the one that `person` names.
        person: Who answered. A sheet of this name is theirs.
        expected: A row of JSON Lines as an example in messages.

    Returns:
        The table, its cells without the spaces around them.
    """
    data = read_data(path, _LARGEST, hint)
    named = list((columns or {}).values())
    with reading(path, hint):
        if is_workbook(data, path):
            read = workbook_records(path, sheet, person)
            table = _from_records(path, read.records, None, named)
            table.notes[:0] = read.notes
            table.sheet_of = person if read.is_of_person else ""
        else:
            text, note = decode_text(data, path)
            del data
            if _is_json(path, text):
                table = _from_json(path, json_records(text, path, expected))
            else:
                records, delimiter = delimited_records(text, path, named)
                table = _from_records(path, records, delimiter, named)
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
    table = Table(path, list(dict.fromkeys(columns.values())), [], is_json=True)
    marks = _Marks()
    for line, record in records:
        row = {columns[name]: value for name, value in record.items()}
        for heading, value in row.items():
            if isinstance(value, str) and value in MARKS:
                row[heading] = marks.without(value, line, heading)
        table.rows.append((line, row))
    table.notes += marks.lines(path)
    return table


def _from_records(
    path: Path,
    records: Sequence[Record],
    delimiter: str | None,
    named: Collection[str] = (),
) -> Table:
    if not records:
        return Table(path, [], [])
    rows = list(records)
    notes = _without_title(path, rows, named)
    heading_line, first = rows.pop(0)
    headings = [cleaned_heading(cell) for cell in first]
    notes += _without_second_headings(path, rows)
    if delimiter is not None and _has_row_names(len(first), rows):
        headings.insert(0, "")
    if headings and not headings[0] and any(headings):
        headings[0] = _INDEX_COLUMN  # row numbers of pandas and R
    last = _width(headings)
    table = Table(path, [], [], heading_line, notes)
    if delimiter is not None:
        for line, cells in rows:
            _check_beyond(table, line, cells, last, delimiter)
            _check_swallowed(table, line, cells, delimiter)
    places = _places(table, headings, rows)
    table.columns = list(places)
    _add_rows(table, rows, places)
    return table


def _add_rows(table: Table, rows: Sequence[Record], places: Mapping[str, int]) -> None:
    """Add the rows to a table, their cells cleaned; a note counts marks such as #N/A."""
    marks = _Marks()
    for line, cells in rows:
        width = len(cells)
        values = {
            heading: cleaned_cell(cells[place]) if place < width else ""
            for heading, place in places.items()
        }
        if not any(values.values()) and not any(map(cleaned_cell, cells)):
            continue
        for heading, text in values.items():
            if text in MARKS:
                values[heading] = marks.without(text, line, heading)
        table.rows.append((line, values))
    table.notes += marks.lines(table.path)


class _Marks:
    """Counts cells with marks of missing values and of errors, which count as empty."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first = ""

    def without(self, mark: str, line: int, heading: str) -> str:
        """Count a mark, and return the empty text in its place."""
        self._first = self._first or f"line {line}, '{shown(heading, 60)}'"
        self._counts[mark] += 1
        return ""

    def lines(self, path: Path) -> list[str]:
        """Return a note on the marks; none if there are none."""
        if not self._counts:
            return []
        listed = ", ".join(f"{mark} {count}" for mark, count in self._counts.items())
        return [
            f"{shown_path(path)}: cells with an error or a missing value ({listed}; the first in "
            f"{self._first}) count as empty."
        ]


def _has_row_names(n_headings: int, rows: Sequence[Record]) -> bool:
    """Return whether rows begin with their number, which R's write.table gives no heading."""
    return bool(rows) and all(
        len(cells) == n_headings + 1 and cells[0].strip() == str(number)
        for number, (_, cells) in enumerate(rows, start=1)
    )


def _without_title(path: Path, rows: list[Record], named: Collection[str]) -> list[str]:
    """Remove lines above the headings, and return notes on them."""
    first_rows = [cells for _, cells in rows[: MOST_ABOVE + 1]]
    place = heading_row(first_rows, named)
    if place is None:
        filled = (
            number for number, cells in enumerate(first_rows) if _filled(cells) > 1
        )
        place = next(filled, 0)
    if not place:
        return []
    titles = [next(cell for cell in cells if cell.strip()) for _, cells in rows[:place]]
    del rows[:place]
    lines = "; ".join(f"'{shown(title.strip(), 60)}'" for title in titles)
    return [
        f"{shown_path(path)}: above its headings stands {lines}, which is left out."
    ]


def _width(headings: Sequence[str]) -> int:
    """Return the number of columns up to the last one with a heading."""
    numbers = (number for number, heading in enumerate(headings, 1) if heading)
    return max(numbers, default=0)


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


def _check_swallowed(
    table: Table, line: int, cells: Sequence[str], delimiter: str
) -> None:
    """Raise an error for a quoted cell that contains whole rows: there is a quote too many."""
    for cell in cells:
        if "\n" not in cell and "\r" not in cell:
            continue
        lines = cell.splitlines()
        for inner in lines[1:-1]:
            is_row = inner.count(delimiter) >= len(cells) - 1 and len(cells) > 1
            if is_row and _SWALLOWED.search(inner):
                raise T2IBenchError(
                    f"{table.where(line)}: a quote opens in this row and closes {len(lines) - 1} "
                    f"lines below, so that the row '{shown(inner.strip(), 60)}' stands inside of "
                    "it.",
                    'Remove the quote, or write a quote inside a cell twice ("").',
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
