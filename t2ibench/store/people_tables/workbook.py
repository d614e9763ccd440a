"""Reading of XLSX workbooks as the values that they display, without following links."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.store.people_tables.delimited import Record

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_WIDTH = 400  # characters of a path that a message shows
_LARGEST = 512 * 2**20  # bytes of all parts, unpacked
_MOST_CELLS = 5_000_000
_MOST_COLUMNS = 1_000
_CHUNK = 2**20
_SAVE_AS = "Save it as .xlsx or as CSV UTF-8."
_ZIP = b"PK\x03\x04"
# Excel before 2007, and files with a password
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MERGED = re.compile(
    rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3}\d{1,7}):([A-Z]{1,3}\d{1,7})"'
)
_NO_VALUE = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")
_ZEROS = re.compile("0{2,}")  # the number format of '00012'


def is_workbook(data: bytes, path: Path) -> bool:
    """Return whether a file is an XLSX workbook; raise an error for other spreadsheets."""
    where = shown(path, _WIDTH)
    if data.startswith(_OLE):
        raise T2IBenchError(
            f"{where} is a workbook of Excel before 2007 (.xls), or has a password.",
            _SAVE_AS,
        )
    if data.startswith(_ZIP):
        return True
    if path.suffix.lower() in {".xls", ".xlsx", ".xlsm"} and data.lstrip()[:1] == b"<":
        raise T2IBenchError(
            f"{where} is a web page with the ending of a workbook.", _SAVE_AS
        )
    return False


@dataclass(slots=True)
class SheetRecords:
    """The non-empty records of one sheet, and notes on reading it."""

    records: list[Record]
    notes: list[str] = field(default_factory=list)


def workbook_records(path: Path, sheet: str | None) -> SheetRecords:
    """Return the records of a named sheet, or of the first one that is not hidden."""
    where = shown(path, _WIDTH)
    _check_parts(path)
    from openpyxl import load_workbook

    try:
        # Read only: rows come one by one. Formulas give the value that was stored with them.
        workbook = load_workbook(path, read_only=True, data_only=True, keep_links=False)
    except Exception as error:  # openpyxl may raise anything for a damaged part
        raise T2IBenchError(
            f"{where} cannot be read as a workbook ({type(error).__name__}).", _SAVE_AS
        ) from None
    try:
        worksheet = _chosen(workbook.worksheets, sheet, where)
        return _read(
            path, worksheet, [part.title for part in workbook.worksheets], sheet
        )
    finally:
        workbook.close()


def _check_parts(path: Path) -> None:
    """Raise an error for zip files that are no XLSX workbook, or that would exceed memory."""
    where = shown(path, _WIDTH)
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "xl/workbook.xml" not in names:
                kind = (
                    "an OpenDocument sheet"
                    if "content.xml" in names
                    else "no XLSX workbook"
                )
                raise T2IBenchError(f"{where} is {kind}.", _SAVE_AS)
            total = 0
            for name in sorted(names):
                # A zip file may declare wrong sizes, so what is unpacked is counted.
                with archive.open(name) as part:
                    while chunk := part.read(_CHUNK):
                        total += len(chunk)
                        if total > _LARGEST:
                            raise T2IBenchError(
                                f"{where} unpacks to more than {_LARGEST // 2**20} MiB.",
                                "Give the table alone, or as CSV.",
                            )
                        if b"<!ENTITY" in chunk or b"<!DOCTYPE" in chunk:
                            raise T2IBenchError(
                                f"{where} has entities of its own.", _SAVE_AS
                            )
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise T2IBenchError(f"{where} cannot be unpacked: {error}.", _SAVE_AS) from None


def _chosen(worksheets: list[Any], sheet: str | None, where: str) -> ReadOnlyWorksheet:
    titles = [worksheet.title for worksheet in worksheets]
    if sheet is not None:
        wanted = " ".join(sheet.split()).casefold()
        for worksheet in worksheets:
            if " ".join(worksheet.title.split()).casefold() == wanted:
                return worksheet
        raise T2IBenchError(
            f"{where} has no sheet '{shown(sheet)}'.{did_you_mean(sheet, titles)}",
            f"Its sheets: {', '.join(map(shown, titles))}.",
        )
    visible = [
        worksheet for worksheet in worksheets if worksheet.sheet_state == "visible"
    ]
    if not visible:
        raise T2IBenchError(
            f"{where} has no sheet that is not hidden.", "Name one: sheet=NAME."
        )
    return visible[0]


def _read(
    path: Path, worksheet: ReadOnlyWorksheet, titles: list[str], sheet: str | None
) -> SheetRecords:
    where = shown(path, _WIDTH)
    notes = []
    if sheet is None and len(titles) > 1:
        others = ", ".join(
            f"'{shown(title)}'" for title in titles if title != worksheet.title
        )
        notes.append(
            f"{where}: the sheet '{shown(worksheet.title)}' is read; there are also {others} "
            "(sheet=NAME)."
        )
    with zipfile.ZipFile(path) as archive, archive.open(_part(worksheet)) as part:
        xml = part.read()
    without_value = len(_NO_VALUE.findall(xml))
    if without_value:
        notes.append(
            f"{where}: {without_value} formulas have no stored value and count as empty: open and "
            "save it in a spreadsheet program."
        )
    merged = _merged_cells(xml)
    records: list[Record] = []
    cells = 0
    for line, values in enumerate(_texts(worksheet, where), start=1):
        cells += len(values)
        if cells > _MOST_CELLS:
            raise T2IBenchError(
                f"{where} has more than {_MOST_CELLS:,} cells.", "Give a part."
            )
        if any(values) or line in merged:
            records.append((line, values))
    _fill_merged(records, merged)
    return SheetRecords([record for record in records if any(record[1])], notes)


def _part(worksheet: ReadOnlyWorksheet) -> str:
    return str(worksheet._worksheet_path).lstrip("/")


def _texts(worksheet: ReadOnlyWorksheet, where: str) -> Iterator[list[str]]:
    """Yield a sheet's rows as texts, ignoring the sheet's stated range, which is often wrong."""
    worksheet.reset_dimensions()
    try:
        for row in worksheet.iter_rows():
            yield [_shown_value(cell) for cell in row[:_MOST_COLUMNS]]
    except T2IBenchError:
        raise
    except Exception as error:  # openpyxl may raise anything for a damaged part
        raise T2IBenchError(
            f"{where}: its sheet '{shown(worksheet.title)}' cannot be read "
            f"({type(error).__name__}).",
            _SAVE_AS,
        ) from None


def _shown_value(cell: Any) -> str:
    """Return the displayed text of a cell, or the plainest text for its value."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return _shown_number(value, cell.number_format or "")
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    return str(value).strip()


def _shown_number(value: float, number_format: str) -> str:
    """Return a number as text without binary rounding digits: 1 for 1.0, 0.1, 00012, 50%."""
    if _ZEROS.fullmatch(number_format) and float(value).is_integer():
        return f"{int(value):0{len(number_format)}d}"
    if number_format.rstrip('"').endswith("%"):
        return f"{value * 100:.15g}%"
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}"


def _merged_cells(xml: bytes) -> dict[int, list[tuple[int, int, int, int]]]:
    """Return merged ranges (first row, first column, last row, last column), keyed by row."""
    from openpyxl.utils.cell import column_index_from_string as number_of
    from openpyxl.utils.cell import coordinate_from_string

    merged: dict[int, list[tuple[int, int, int, int]]] = {}
    for first, last in _MERGED.findall(xml):
        first_column, first_row = coordinate_from_string(first.decode())
        last_column, last_row = coordinate_from_string(last.decode())
        area = (first_row, number_of(first_column), last_row, number_of(last_column))
        if last_row - first_row > 100_000 or area[3] > _MOST_COLUMNS:
            continue
        for row in range(first_row, last_row + 1):
            merged.setdefault(row, []).append(area)
    return merged


def _fill_merged(
    records: list[Record], merged: dict[int, list[tuple[int, int, int, int]]]
) -> None:
    """Fill every cell of a merged range with the value of its first cell."""
    by_line = dict(records)
    for line, cells in records:
        for first_row, first_column, _, last_column in merged.get(line, ()):
            origin = by_line.get(first_row, [])
            text = origin[first_column - 1] if first_column <= len(origin) else ""
            if not text:
                continue
            cells.extend([""] * (last_column - len(cells)))
            for column in range(first_column - 1, last_column):
                cells[column] = cells[column] or text
