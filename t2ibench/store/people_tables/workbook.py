"""Reading of XLSX workbooks as the values that they display, without following links."""

from __future__ import annotations

import codecs
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.store.people_tables.delimited import Record

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_WIDTH = 400  # characters of a path that a message shows
_LARGEST = 512 * 2**20  # bytes of all parts, unpacked
_MOST_CELLS = 5_000_000
_MOST_COLUMNS = 1_000
_MOST_ROWS = 1_048_576  # as many as Excel has
_MOST_TAGS = 30_000_000  # of all parts: three times those of the most cells
_LONGEST_MERGE = 100_000  # rows; a whole column that is merged has no meaning
_CHUNK = 2**16
_MOST_SHOWN = 8  # columns in a message
# Bytes of a tag, comment or instruction. Before 2.6 (CVE-2023-52425), expat reads such a piece
# again with every chunk until it ends, which takes minutes where it is megabytes long.
_LONGEST_PIECE = 2**18
_SAVE_AS = "Save it as .xlsx or as CSV UTF-8."
# How files begin that are given by mistake, and what they are.
_OTHER_KINDS = (
    (b"\x1f\x8b", "is compressed by gzip", "Unpack it."),
    (b"%PDF-", "is a PDF", _SAVE_AS),
    (
        b"PAR1",
        "is a Parquet file",
        "Save it as CSV UTF-8, such as by pandas' to_csv().",
    ),
    (b"\x89PNG", "is an image", "Give the table."),
    (b"\xff\xd8\xff", "is an image", "Give the table."),
    (b"version https://git-lfs", "is a pointer of Git LFS", "Run: git lfs pull"),
)
_WEB_PAGE = re.compile(rb"<(?:!doctype html|html|head|table)\b", re.IGNORECASE)
# What the zip files of other programs contain.
_OTHER_ZIPS = {
    "content.xml": "an OpenDocument sheet",
    "Index/Document.iwa": "a file of Apple Numbers",
    "xl/workbook.bin": "a binary workbook (.xlsb)",
    "word/document.xml": "a document of Word",
}
_STRICT = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
_ZIP = b"PK\x03\x04"
# Excel before 2007, and files with a password
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MERGED = re.compile(
    rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"'
)
# Bounded, and no two repetitions match the same text: else a hostile file takes hours.
_SPACE = rb"\s{0,40}"
_NO_VALUE = re.compile(
    rb"(?:</f>|<f\b[^<>]*/>)S(?:<v\s?/>S|<v>S</v>S)?</c>".replace(b"S", _SPACE)
)
# A row without cells has nothing to read.
_HIDDEN_ROW = re.compile(
    rb'<(?:\w{1,9}:)?row\b[^<>]{0,400}?\shidden="(?:1|true)"[^<>]{0,400}>S<(?:\w{1,9}:)?c\b'.replace(
        b"S", _SPACE
    )
)
_HIDDEN_COLUMN = re.compile(
    rb'<(?:\w{1,9}:)?col\b(?=[^<>]{0,400}\shidden="(?:1|true)")'
    rb'(?=[^<>]{0,400}\smin="(\d{1,5})")(?=[^<>]{0,400}\smax="(\d{1,5})")'
)
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
    for beginning, kind, advice in _OTHER_KINDS:
        if data.startswith(beginning):
            raise T2IBenchError(f"{where} {kind}.", advice)
    beginning = data[:200].removeprefix(codecs.BOM_UTF8).lstrip()
    if _WEB_PAGE.match(beginning):
        raise T2IBenchError(
            f"{where} is a web page.",
            f"If it shows a table, open it in a spreadsheet program. {_SAVE_AS}",
        )
    if beginning.startswith(b"<?xml"):
        raise T2IBenchError(f"{where} is an XML file.", _SAVE_AS)
    return False


@dataclass(slots=True)
class SheetRecords:
    """The non-empty records of one sheet, and notes on reading it."""

    records: list[Record]
    notes: list[str] = field(default_factory=list)
    is_of_person: bool = False


def workbook_records(path: Path, sheet: str | None, person: str = "") -> SheetRecords:
    """Return the records of a sheet.

    Args:
        path: The workbook.
        sheet: The sheet's name; None for the one that is named like the person, or else for the
            first one that is not hidden.
        person: Who answered; '' if nobody is named.
    """
    where = shown(path, _WIDTH)
    _check_parts(path)
    # A file, because openpyxl refuses the paths of workbooks with another ending.
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        workbook = _opened(file, where)
        try:
            worksheet = _chosen(workbook.worksheets, sheet, person, where)
            titles = [part.title for part in workbook.worksheets]
            read = _read(path, worksheet, titles, sheet)
            read.is_of_person = (
                sheet is None
                and worksheet is not _first_visible(workbook.worksheets)
                and _named(worksheet, person)
            )
            return read
        finally:
            workbook.close()


def _opened(file: IO[bytes], where: str) -> Workbook:
    from openpyxl import load_workbook

    try:
        # Read only: rows come one by one. Formulas give the value that was stored with them.
        return load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except Exception as error:  # openpyxl may raise anything for a damaged part
        raise T2IBenchError(
            f"{where} cannot be read as a workbook ({type(error).__name__}).", _SAVE_AS
        ) from None


def _check_parts(path: Path) -> None:
    """Raise an error for zip files that are no XLSX workbook, or that would exceed memory."""
    where = shown(path, _WIDTH)
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "xl/workbook.xml" not in names:
                kinds = [_OTHER_ZIPS[name] for name in _OTHER_ZIPS if name in names]
                kind = kinds[0] if kinds else "a zip file, no XLSX workbook"
                raise T2IBenchError(f"{where} is {kind}.", _SAVE_AS)
            if _STRICT in archive.read("xl/workbook.xml")[:_CHUNK]:
                raise T2IBenchError(
                    f"{where} is saved as 'Strict Open XML'.",
                    "Save it as 'Excel Workbook (.xlsx)' or as CSV UTF-8.",
                )
            size = _Size()
            for name in sorted(names):
                with archive.open(name) as part:
                    _check_part(part, where, size)
    except T2IBenchError:
        raise
    except Exception as error:  # each kind of compression raises its own
        reason = str(error) or type(error).__name__
        raise T2IBenchError(
            f"{where} cannot be unpacked: {reason}.", _SAVE_AS
        ) from None


@dataclass(slots=True)
class _Size:
    """How much was unpacked so far: a zip file may declare wrong sizes."""

    n_bytes: int = 0
    n_tags: int = 0


def _check_part(part: IO[bytes], where: str, size: _Size) -> None:
    """Raise an error for a part that is too large or slow, or that declares a type or entities."""
    parser: expat.XMLParserType | None = _parser(where)
    n_before = size.n_bytes
    while chunk := part.read(_CHUNK):
        size.n_bytes += len(chunk)
        size.n_tags += chunk.count(b"<")
        if size.n_bytes > _LARGEST:
            raise T2IBenchError(
                f"{where} unpacks to more than {_LARGEST // 2**20} MiB.",
                "Give the table alone, or as CSV.",
            )
        if size.n_tags > _MOST_TAGS:
            raise T2IBenchError(
                f"{where} has more than {_MOST_TAGS:,} tags.", "Give a part."
            )
        if parser is None:
            continue
        try:
            parser.Parse(chunk, False)
        # A picture, or no XML from here on: nobody reads further.
        except expat.ExpatError:
            parser = None
            continue
        unread = size.n_bytes - n_before - parser.CurrentByteIndex
        if unread > _LONGEST_PIECE:
            raise T2IBenchError(
                f"{where} has a tag or comment of more than {_LONGEST_PIECE // 2**10} KiB.",
                _SAVE_AS,
            )


def _parser(where: str) -> expat.XMLParserType:
    """Return a parser that raises an error for a declared type, in any encoding of the part."""

    def refuse(*_: object) -> None:
        raise T2IBenchError(f"{where} has entities of its own.", _SAVE_AS)

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    return parser


def _chosen(
    worksheets: list[Any], sheet: str | None, person: str, where: str
) -> ReadOnlyWorksheet:
    titles = [worksheet.title for worksheet in worksheets]
    if sheet is not None:
        for worksheet in worksheets:
            if _named(worksheet, sheet):
                return worksheet
        raise T2IBenchError(
            f"{where} has no sheet '{shown(sheet)}'.{did_you_mean(sheet, titles)}",
            f"Its sheets: {', '.join(map(shown, titles))}.",
        )
    for worksheet in worksheets:
        if _named(worksheet, person):
            return worksheet
    first = _first_visible(worksheets)
    if first is None:
        raise T2IBenchError(
            f"{where} has no sheet that is not hidden.", "Name one: sheet=NAME."
        )
    return first


def _named(worksheet: Any, name: str) -> bool:
    """Return whether a sheet has a name; case and further spaces do not count."""
    title, wanted = (
        " ".join(text.split()).casefold() for text in (worksheet.title, name)
    )
    return title == wanted


def _first_visible(worksheets: list[Any]) -> Any:
    """Return the first sheet that is not hidden; None if there is none."""
    visible = (sheet for sheet in worksheets if sheet.sheet_state == "visible")
    return next(visible, None)


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
    xml = _xml_of(path, worksheet, where)
    without_value = len(_NO_VALUE.findall(xml))
    if without_value:
        notes.append(
            f"{where}: {without_value} formulas have no stored value and count as empty: open and "
            "save it in a spreadsheet program."
        )
    areas = _merged_areas(xml, where)
    merged_lines = {line for area in areas for line in area.lines()}
    records: list[Record] = []
    cells = 0
    for line, values in enumerate(_texts(worksheet, where), start=1):
        cells += len(values)
        _check_size(cells, line, where)
        if any(values) or line in merged_lines:
            records.append((line, values))
    _fill_merged(records, areas)
    notes += _hidden_notes(xml, records, where)
    return SheetRecords([record for record in records if any(record[1])], notes)


def _hidden_notes(xml: bytes, records: Sequence[Record], where: str) -> list[str]:
    """Return notes on hidden rows and columns, which are read, such as those of a filter."""
    from openpyxl.utils.cell import get_column_letter

    notes = []
    n_hidden = len(_HIDDEN_ROW.findall(xml))
    if n_hidden:
        are = "row is hidden and is" if n_hidden == 1 else "rows are hidden and are"
        notes.append(f"{where}: {n_hidden} {are} read like the others.")
    width = max((len(cells) for _, cells in records), default=0)
    columns: set[int] = set()
    for first, last in _HIDDEN_COLUMN.findall(xml):
        columns.update(range(int(first), min(int(last), width) + 1))
    filled = [
        column
        for column in sorted(columns)
        if any(cells[column - 1 : column] > [""] for _, cells in records)
    ]
    if filled:
        letters = ", ".join(map(get_column_letter, filled[:_MOST_SHOWN]))
        more = ", …" if len(filled) > _MOST_SHOWN else ""
        are = (
            "column is hidden and is"
            if len(filled) == 1
            else "columns are hidden and are"
        )
        notes.append(
            f"{where}: {len(filled)} {are} read like the others ({letters}{more})."
        )
    return notes


def _check_size(n_cells: int, n_rows: int, where: str) -> None:
    """Raise an error for a sheet with too many cells or rows."""
    if n_cells > _MOST_CELLS:
        most = f"{_MOST_CELLS:,} cells"
    elif n_rows > _MOST_ROWS:
        most = f"{_MOST_ROWS:,} rows"
    else:
        return
    raise T2IBenchError(f"{where} has more than {most}.", "Give a part.")


def _xml_of(path: Path, worksheet: ReadOnlyWorksheet, where: str) -> bytes:
    """Return the XML of a sheet; raise an error where the workbook has none for it."""
    name = _part(worksheet)
    with zipfile.ZipFile(path) as archive, suppress(KeyError):
        return archive.read(name)
    raise T2IBenchError(
        f"{where}: its sheet '{shown(worksheet.title)}' is not in it.", _SAVE_AS
    )


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
        return (_unescaped(value) if "_x" in value else value).strip()
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


def _unescaped(text: str) -> str:
    """Return a text with its control characters, such as the line break that _x000D_ stands for."""
    from openpyxl.utils.escape import unescape

    return str(unescape(text))


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


@dataclass(frozen=True, slots=True)
class _Area:
    """A range of merged cells, from its first to its last line and column, counted from 1."""

    first_line: int
    first_column: int
    last_line: int
    last_column: int

    def lines(self) -> range:
        """Return the lines of the area."""
        return range(self.first_line, self.last_line + 1)

    def size(self) -> int:
        """Return how many cells it has."""
        return len(self.lines()) * (self.last_column - self.first_column + 1)


def _merged_areas(xml: bytes, where: str) -> list[_Area]:
    """Return the merged ranges of a sheet, without those that no person would fill."""
    from openpyxl.utils.cell import column_index_from_string as number_of

    areas: list[_Area] = []
    n_cells = 0
    for first_column, first_line, last_column, last_line in _MERGED.findall(xml):
        area = _Area(
            first_line=int(first_line),
            first_column=number_of(first_column.decode()),
            last_line=int(last_line),
            last_column=number_of(last_column.decode()),
        )
        is_whole_column = len(area.lines()) > _LONGEST_MERGE
        if is_whole_column or area.last_column > _MOST_COLUMNS or area.size() < 1:
            continue
        # Merged cells do not overlap, so all of them are cells of the sheet.
        n_cells += area.size()
        if n_cells > _MOST_CELLS:
            raise T2IBenchError(
                f"{where} has more than {_MOST_CELLS:,} merged cells.",
                "Undo the merging, or give the table as CSV.",
            )
        areas.append(area)
    return areas


def _fill_merged(records: list[Record], areas: Sequence[_Area]) -> None:
    """Fill every cell of a merged range with the value of its first cell."""
    by_line = dict(records)
    for area in areas:
        first = by_line.get(area.first_line, [])
        place = area.first_column - 1
        text = first[place] if 0 <= place < len(first) else ""
        if not text:
            continue
        for line in area.lines():
            cells = by_line.get(line)
            if cells is None:
                continue
            cells.extend([""] * (area.last_column - len(cells)))
            for column in range(place, area.last_column):
                cells[column] = cells[column] or text
