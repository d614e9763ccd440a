"""Tables as people have them, of many programs: read back equal, or refused in one line."""

from __future__ import annotations

import csv
import io
import json
import re
import time
import unicodedata
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from t2ibench.errors import T2IBenchError
from t2ibench.store.people_tables import workbook as workbook_module
from t2ibench.store.people_tables.cells import MARKS, cleaned_cell
from t2ibench.store.people_tables.headings import KNOWN_HEADINGS, known_column
from t2ibench.store.people_tables.reader import Table, read_table


def table_of(path: Path, content: str | bytes, **options: Any) -> Table:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **options)


def error_of(path: Path, content: str | bytes, **options: Any) -> str:
    with pytest.raises(T2IBenchError) as caught:
        table_of(path, content, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def saved(path: Path, *rows: list[Any]) -> Workbook:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return book


WANTED = [
    {"file": "a b.jpg", "prompt": "a nurse, at work; or | so", "n": ""},
    {"file": "b.jpg", "prompt": "", "n": "2"},
]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiter_encoding_and_line_ends(
    tmp_path: Path, delimiter: str, encoding: str, end: str
) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(
        out, list(WANTED[0]), delimiter=delimiter, lineterminator=end
    )
    writer.writeheader()
    writer.writerows(WANTED)
    table = table_of(tmp_path / "a.csv", out.getvalue().encode(encoding))
    assert table.columns == ["file", "prompt", "n"]
    assert [row for _, row in table.rows] == WANTED
    assert [line for line, _ in table.rows] == [2, 3]
    assert not table.notes


_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
_CELL = st.one_of(
    _TEXT, st.sampled_from(['say "x"', "a, b", "a; b", "1\n2", "=1+1", "|", "\t"])
)
_CELL = _CELL.filter(lambda cell: cleaned_cell(cell) not in MARKS)
_ROWS = st.lists(st.lists(_CELL, min_size=3, max_size=3), min_size=1, max_size=6)


def stripped(rows: list[list[str]]) -> list[list[str]]:
    """Rows as they are read: without empty ones, and without spaces around cells."""
    cells = [[cleaned_cell(cell) for cell in row] for row in rows]
    return [row for row in cells if any(row)]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=_ROWS,
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    sep=st.booleans(),
)
def test_csv_tables_are_read_back_unchanged(
    tmp_path: Path,
    rows: list[list[str]],
    delimiter: str,
    quoting: Any,
    end: str,
    encoding: str,
    sep: bool,
) -> None:
    if end == "\r":  # csv leaves other line breaks without quotes then
        quoting = csv.QUOTE_ALL
    out = io.StringIO()
    if sep:
        out.write(f"sep={delimiter}{end}")
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerow(["file", "prompt", "note"])
    writer.writerows(rows)
    table = table_of(tmp_path / "a.csv", out.getvalue().encode(encoding))
    assert table.columns == ["file", "prompt", "note"]
    assert [[*row.values()] for _, row in table.rows] == stripped(rows)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=_ROWS)
def test_workbooks_of_openpyxl_are_read_back_unchanged(
    tmp_path: Path, rows: list[list[str]]
) -> None:
    # XLSX has no empty text, and openpyxl takes '=' for the beginning of a formula.
    cells = [[cell.replace("=", "") for cell in row] for row in rows]
    saved(tmp_path / "a.xlsx", ["file", "prompt", "note"], *cells)
    table = read_table(tmp_path / "a.xlsx")
    assert [[*row.values()] for _, row in table.rows] == stripped(cells)


def test_a_records_line_is_its_first_line(tmp_path: Path) -> None:
    text = '"What is\r\nthe gender?",file\r\n"fe\r\nmale",a.png\r\n\r\nmale,b.png,c\r\n'
    assert ":6: 3 cells, but the header has 2: 'c'" in error_of(
        tmp_path / "a.csv", text
    )
    table = table_of(tmp_path / "a.csv", text.replace(",c\r\n", ",\r\n"))
    assert table.columns == ["What is the gender?", "file"]
    assert [(line, row["file"]) for line, row in table.rows] == [
        (3, "a.png"),
        (6, "b.png"),
    ]
    shifted = table_of(
        tmp_path / "a.csv", f"sep=,\r\n{text}".replace(",c\r\n", ",\r\n")
    )
    assert [line for line, _ in shifted.rows] == [4, 7]


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("caption\nA man, a dog\n", ["caption"], [["A man, a dog"]]),
        # A delimiter in the heading that rows do not have, and the other way round.
        (
            "gender, as seen;file\nmale;a.png\n",
            ["gender, as seen", "file"],
            [["male", "a.png"]],
        ),
        (
            "file;prompt\na.png;a, b\nb.png;c, d\n",
            ["file", "prompt"],
            [["a.png", "a, b"]] * 1,
        ),
        # Excel's empty columns, a short row, a space before a quote.
        (
            "file,n,,,\na.png,1,,,\nb.png\n",
            ["file", "n"],
            [["a.png", "1"], ["b.png", ""]],
        ),
        (
            'file, note\na.png, "yes, sure"\n',
            ["file", "note"],
            [["a.png", "yes, sure"]],
        ),
        # pandas and R put row numbers into a first column without a heading.
        (
            ',file\n0,a.png\n"1",b.png\n',
            ["Unnamed: 0", "file"],
            [["0", "a.png"], ["1", "b.png"]],
        ),
        (
            '"";"file";"n"\n"1";"a.png";1,5\n',
            ["Unnamed: 0", "file", "n"],
            [["1", "a.png", "1,5"]],
        ),
        ('\n\n "File" ,n\na.png,1\n', ["File", "n"], [["a.png", "1"]]),
        # The same column twice, or one of two of the same name without a cell.
        ("file,n,n\na.png,1,1\n", ["file", "n"], [["a.png", "1"]]),
        ("file,n,N\na.png,,2\n", ["file", "n"], [["a.png", "2"]]),
    ],
)
def test_dialects(
    tmp_path: Path, text: str, columns: list[str], rows: list[list[str]]
) -> None:
    table = table_of(tmp_path / "a.csv", text)
    assert table.columns == columns
    assert [[*row.values()] for _, row in table.rows][: len(rows)] == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "file,prompt\na,b, c\n",
            ":2: 3 cells, but the header has 2: .*a comma into double",
        ),
        (
            'file,prompt\na,"b\n',
            ":2: .*the quote that opens in this row is never closed",
        ),
        ("file;prompt\n\na;b;c\n", ":3: .*a semicolon"),
        ('file,prompt\n\n"a "x" b",c\n', ":3: text follows a closing quote"),
        (b"file,prompt\na\x00\xff\xfe,b\n", ":2 is not UTF-8"),
        (b"\x81\x8d", ":1 is not UTF-8"),
    ],
)
def test_a_slip_is_one_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert re.search(message, error_of(tmp_path / "a.csv", text))


def test_windows_1252_is_the_last_resort_and_is_named(tmp_path: Path) -> None:
    table = table_of(
        tmp_path / "a.csv", "Datei;Prompt\na.png;Ärztin – müde\n".encode("cp1252")
    )
    assert table.rows == [(2, {"Datei": "a.png", "Prompt": "Ärztin – müde"})]
    (note,) = table.notes
    assert "read as Windows-1252: check line 2, 'a.png;Ärztin – müde'" in note


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "File",
            " FILE ",
            "filename",
            "file_name",
            "File Name",
            "File\r\nname",
            '"file"',
            "img",
        ),
        *(
            "Dateiname",
            "Datei",
            "Bild",
            "archivo",
            "fichier",
            "\ufefffile",
            "文件名",
            "Nome-File",
        ),
        unicodedata.normalize("NFD", "Имя файла"),
    ],
)
def test_known_headings_of_images(heading: str) -> None:
    assert known_column("image", ["n", heading]) == heading


def test_headings_that_mean_the_same_are_listed_once() -> None:
    for role, names in KNOWN_HEADINGS.items():
        assert len(names) == len(set(names)), role
    assert not set(KNOWN_HEADINGS["image"]) & set(KNOWN_HEADINGS["prompt"])


def test_a_doubled_heading_matters_where_its_column_is_used(tmp_path: Path) -> None:
    table = table_of(tmp_path / "a.csv", "file,n,n,prompt\na.png,1,2,x\n")
    assert table.find("image") == "file"
    with pytest.raises(
        T2IBenchError, match=r":2: the heading 'n' is there twice, with '1' and"
    ):
        table.check_used("n")


def test_columns_that_a_user_names(tmp_path: Path) -> None:
    content = "Name,Text,file\na.png,x,17\n"
    table = table_of(
        tmp_path / "a.csv", content, columns={"image": "NAME", "prompt": "text"}
    )
    assert (table.find("image"), table.find("prompt")) == ("Name", "Text")
    assert (
        table_of(tmp_path / "a.csv", content, columns={"file": "Name"}).find("image")
        == "Name"
    )
    absent = table_of(tmp_path / "a.csv", content, columns={"image": "Nmae"})
    assert absent.find("image") == "file" and "has no column 'Nmae'" in absent.notes[0]
    with pytest.raises(
        T2IBenchError, match=r"no column 'answer'\. Its columns are 'Name', 'Text'"
    ):
        absent.need("answer", "each row has one")


def test_qualtrics_has_three_rows_of_headings(tmp_path: Path) -> None:
    text = 'file,Q1\nfile,Which?\n"{""ImportId"":""f""}","{""ImportId"":""QID1""}"\na.png,male\n'
    table = table_of(tmp_path / "a.csv", text)
    assert table.rows == [(4, {"file": "a.png", "Q1": "male"})]
    assert "line 2 and 3 is a further heading of Qualtrics" in table.notes[0]


# JSON


ROWS = [{"file": "a.png", "n": 1}, {"file": "b.png", "n": None}]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, ROWS)),
        "\r\n\r\n".join(map(json.dumps, ROWS)),
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps({"rows": ROWS}),
        json.dumps({"file": {"0": "a.png", "1": "b.png"}, "n": {"0": 1, "1": None}}),
        json.dumps({"file": ["a.png", "b.png"], "n": [1, None]}, indent=1),
    ],
)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.txt"])
def test_json_as_lines_lists_and_columns(tmp_path: Path, text: str, name: str) -> None:
    if name == "a.txt" and "\r" in text:
        text = text.replace("\r\n\r\n", "\n")
    if name == "a.txt" and not text.startswith(('{"', "[{")):
        return  # nothing in it says that it is JSON
    assert [row for _, row in table_of(tmp_path / name, text).rows] == ROWS


def test_lines_of_json_lists(tmp_path: Path) -> None:
    table = table_of(tmp_path / "a.json", '[\n{"a": 1},\n\n{"a":\n 2}]')
    assert [line for line, _ in table.rows] == [2, 4]
    assert ":3: not a JSON object in the list" in error_of(
        tmp_path / "a.json", '[\n{"a": 1},\n3]'
    )
    assert ":2: not a JSON object." in error_of(tmp_path / "a.jsonl", '{"a": 1}\nx\n')


def test_label_studio_json_is_a_row_an_annotation(tmp_path: Path) -> None:
    choice = {"from_name": "gender", "type": "choices", "value": {"choices": ["male"]}}
    task = {
        "id": 1,
        "data": {"image": "a.png"},
        "annotations": [
            {"completed_by": 1, "result": [choice]},
            {"completed_by": 2, "result": [], "was_cancelled": True},
        ],
    }
    table = table_of(tmp_path / "a.json", json.dumps([task]))
    ((line, row),) = table.rows
    assert row == {"image": "a.png", "completed_by": 1, "gender": ["male"]}
    assert table.text(line, row, "gender") == "male"


# XLSX


def test_cells_of_a_workbook_as_they_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = Workbook()
    sheet = book.active
    sheet.append(["file", "int", "float", "date", "time", "share", "zeros", "yes"])
    when = datetime(2026, 5, 1, 10, 30)
    sheet.append(["a.png", 3, 1.0, date(2026, 5, 1), when, 0.25, 12, True])
    sheet["F2"].number_format = "0%"
    sheet["G2"].number_format = "00000"
    book.save(path)
    ((line, row),) = read_table(path).rows
    assert line == 2
    values = [
        "a.png",
        "3",
        "1",
        "2026-05-01",
        "2026-05-01 10:30:00",
        "25%",
        "00012",
        "TRUE",
    ]
    assert [*row.values()] == values


def test_merged_cells_sheets_and_formulas(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = Workbook()
    sheet = book.active
    for row in (
        ["prompt", "file", "n"],
        ["a nurse", "a.png", "=1+1"],
        [None, "b.png"],
        [],
        ["c"],
    ):
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    other = book.create_sheet("Zweite Runde")
    other.append(["file"])
    other.append(["z.png"])
    book.save(path)
    table = read_table(path)
    assert [(line, row["prompt"], row["file"]) for line, row in table.rows] == [
        (2, "a nurse", "a.png"),
        (3, "a nurse", "b.png"),
        (5, "c", ""),
    ]
    assert any(
        "'Sheet' is read; there are also 'Zweite Runde'" in note for note in table.notes
    )
    assert any("1 formulas have no stored value" in note for note in table.notes)
    assert read_table(path, sheet="zweite  runde").rows == [(2, {"file": "z.png"})]
    with pytest.raises(
        T2IBenchError, match=r"no sheet 'Zweite'.*Its sheets: Sheet, Zweite Runde"
    ):
        read_table(path, sheet="Zweite")


def test_the_stored_value_of_a_formula_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file", "n"], ["a.png", "=1+1"])
    parts = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            parts[name] = archive.read(name)
    name = "xl/worksheets/sheet1.xml"
    before = parts[name]
    parts[name] = before.replace(b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>").replace(
        b"<f>1+1</f><v />", b"<f>1+1</f><v>2</v>"
    )
    assert parts[name] != before
    with zipfile.ZipFile(path, "w") as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
    table = read_table(path)
    assert table.rows == [(2, {"file": "a.png", "n": "2"})] and not table.notes


def test_a_hidden_first_sheet_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["x"], ["1"])
    book = load_workbook(path)
    book.create_sheet("Daten").append(["file"])
    book["Daten"].append(["a.png"])
    book["Sheet"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    assert read_table(path).columns == ["file"]


def rewritten_zip(path: Path, change: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | change
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def test_a_workbook_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    rewritten_zip(path, {"xl/media/image1.png": b"\0" * 2**21})
    monkeypatch.setattr(workbook_module, "_LARGEST", 2**20)
    with pytest.raises(T2IBenchError, match="unpacks to more than 1 MiB"):
        read_table(path)
    monkeypatch.undo()
    monkeypatch.setattr(workbook_module, "_MOST_CELLS", 1)
    with pytest.raises(T2IBenchError, match="more than 1 cells"):
        read_table(path)


def test_entities_of_a_workbook_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    bomb = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bb">]><sst>&b;</sst>'
    rewritten_zip(path, {"xl/sharedStrings.xml": bomb})
    with pytest.raises(T2IBenchError, match="has entities of its own"):
        read_table(path)


DECLARED = '<!DOCTYPE a [%s<!ENTITY b "bb">]><sst>&b;</sst>'


@pytest.mark.parametrize(
    "part",
    [
        # Another encoding, and declarations that lie across what is read at once.
        ('<?xml version="1.0" encoding="UTF-16"?>' + DECLARED % "").encode("utf-16"),
        f"<!--{'x' * (2**16 - 11)}-->{DECLARED % ''}".encode(),
        f"<!--{'x' * (2**16 - 50)}-->{DECLARED % ('<!--' + 'y' * 19 + '-->')}".encode(),
    ],
    ids=["UTF-16", "<!DOC across", "<!ENT across"],
)
def test_entities_are_refused_however_they_are_written(
    part: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    rewritten_zip(path, {"xl/sharedStrings.xml": part})
    with pytest.raises(T2IBenchError, match="has entities of its own"):
        read_table(path)


PIECE = "x>y <a/> " * 400_000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "long",
    [f"<!--{PIECE}-->", f"<?x {PIECE}?>", f"<a b='{PIECE.replace('<', '')}'/>"],
    ids=["comment", "instruction", "attribute"],
)
@pytest.mark.parametrize("part", ["xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"])
def test_pieces_that_an_old_expat_reads_again_and_again_are_refused(
    part: str, long: str, encoding: str, tmp_path: Path
) -> None:
    """A comment of 30 MB cost an expat before 2.6 more than a minute."""
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    declared = f'<?xml version="1.0" encoding="{encoding}"?>'
    rewritten_zip(path, {part: f"{declared}<sst>{long}</sst>".encode(encoding)})
    start = time.process_time()
    with pytest.raises(T2IBenchError, match="a tag or comment of more than 256 KiB"):
        read_table(path)
    assert time.process_time() - start < 5


def test_long_texts_of_a_workbook_are_read(tmp_path: Path) -> None:
    """As long as a cell may be, many of them, and comments of people."""
    path = tmp_path / "a.xlsx"
    texts = [f"{number} {'x>y & ' * 5_000}".strip() for number in range(40)]
    saved(path, ["file"], *([text] for text in texts))
    assert [row["file"] for _, row in read_table(path).rows] == texts


CELL = '<c r="A%d" t="inlineStr"><is><t>%s</t></is></c>'
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    f'<row r="1">{CELL % (1, "file")}</row><row r="2">{CELL % (2, "a.png")}</row>%s'
    "</sheetData>%s</worksheet>"
)
FAR = '<row r="1000000000000"><c r="A1000000000000"><v>1</v></c></row>'
MERGED = "<mergeCells>%s</mergeCells>"
TALL = '<mergeCell ref="A1:A100000"/>' * 100_000
WIDE = '<mergeCell ref="B1:ZZ3000"/>' * 3000


# Seconds are of a slow machine; what they replace took minutes, hours or all memory.
@pytest.mark.parametrize(
    ("rows", "behind", "message"),
    [
        (FAR, "", "more than 1,048,576 rows"),
        ("", MERGED % TALL, "more than 5,000,000 merged cells"),
        ("", MERGED % WIDE, "more than 5,000,000 merged cells"),
        ("", MERGED % '<mergeCell ref="B5:A1"/>', "cannot be read"),
        ("", MERGED % '<mergeCell ref="ZZZ1:ZZZ2"/>', ""),
        ("", MERGED % '<mergeCell ref="A0:B0"/>', "cannot be read"),
        ('<row r="3"><c r="ZZZZZ3"><v>1</v></c></row>', "", "cannot be read"),
        ("", f"<x>{'<f a=' * 200_000}</x>", "cannot be read"),
        ("", f"<x><f>{'</f><f>'.join([' ' * 200_000] * 9)}</f></x>", ""),
    ],
    ids=[
        "far row",
        "tall",
        "wide",
        "reversed",
        "far column",
        "row 0",
        "column",
        "<f",
        "spaces",
    ],
)
def test_a_hostile_sheet_costs_seconds(
    rows: str, behind: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    sheet = SHEET % (rows, behind)
    rewritten_zip(path, {"xl/worksheets/sheet1.xml": sheet.encode()})
    start = time.process_time()
    if message:
        with pytest.raises(T2IBenchError, match=message) as caught:
            read_table(path)
        assert "\n" not in str(caught.value)
    else:
        assert read_table(path).rows == [(2, {"file": "a.png"})]
    assert time.process_time() - start < 8


def test_merged_cells_all_have_the_first_ones_value(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = saved(path, ["file", "gender"], ["a.png", "male"], ["b.png"], ["c.png"])
    book.active.merge_cells("B2:B3")
    book.save(path)
    rows = [[*row.values()] for _, row in read_table(path).rows]
    assert rows == [["a.png", "male"], ["b.png", "male"], ["c.png", ""]]


@pytest.mark.parametrize(
    "kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_damage_in_a_packed_part_is_one_line(kind: int, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("xl/workbook.xml").header_offset + 50
    data[start : start + 60] = b"\xff" * 60
    assert "cannot be unpacked" in error_of(path, bytes(data))


def test_a_sheet_that_a_workbook_names_and_lacks_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    with zipfile.ZipFile(path) as archive:
        links = archive.read("xl/_rels/workbook.xml.rels")
    other = links.replace(b"/xl/worksheets/sheet1.xml", b"../../../etc/passwd")
    assert other != links
    rewritten_zip(path, {"xl/_rels/workbook.xml.rels": other})
    with pytest.raises(T2IBenchError, match=r"no sheet|is not in it|cannot be read"):
        read_table(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....",
            "before 2007 (.xls), or has a password",
        ),
        (b"<html><table>", "is a web page"),
        (b"PK\x03\x04 torn", "cannot be unpacked"),
    ],
)
def test_files_that_only_look_like_workbooks_are_refused(
    tmp_path: Path, data: bytes, message: str
) -> None:
    assert message in error_of(tmp_path / "a.xlsx", data)


def test_an_open_document_sheet_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.ods", "w") as archive:
        archive.writestr("content.xml", "<x/>")
    with pytest.raises(T2IBenchError, match=r"OpenDocument sheet.*Save it as \.xlsx"):
        read_table(tmp_path / "a.ods")


@pytest.mark.slow
def test_a_hundred_thousand_rows_take_seconds(tmp_path: Path) -> None:
    rows = [
        [f"{number}.png", f"a nurse, {number}", "female"] for number in range(100_000)
    ]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["file", "prompt", "gender"], *rows])
    start = time.process_time()
    assert len(read_table(tmp_path / "a.csv").rows) == 100_000
    assert time.process_time() - start < 5


def test_the_documentation_lists_every_known_heading() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(
        encoding="utf-8"
    )
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE))
    assert {role: tuple(names.split(", ")) for role, names in rows.items()} == dict(
        KNOWN_HEADINGS
    )


# Notes around a table, marks in its cells, and what is not seen

NOTHING_ABOVE = "file,gender\na.png,female\n"


@pytest.mark.parametrize(
    "above",
    [
        "# exported on 1 May, by Anna\n",
        "# tool: x\n# by: anna\n#\n",
        "Gender study\n",
        "Project,Gender study\nDate,2026-05-01\n\n",
    ],
)
def test_notes_above_the_headings_are_left_out(tmp_path: Path, above: str) -> None:
    table = table_of(tmp_path / "a.csv", above + NOTHING_ABOVE)
    assert table.columns == ["file", "gender"]
    assert [row for _, row in table.rows] == [{"file": "a.png", "gender": "female"}]
    assert "above its headings stands" in table.notes[0]


def test_the_headings_that_a_user_named_are_found_below_a_title(tmp_path: Path) -> None:
    text = "Studie;Mai\nAbbildung;Wert\na.png;1\n"
    table = table_of(tmp_path / "a.csv", text, columns={"image": "Abbildung"})
    assert table.rows == [(3, {"Abbildung": "a.png", "Wert": "1"})]


def test_a_merged_title_is_no_heading(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = saved(path, ["Study"], ["file", "gender"], ["a.png", "male"])
    book.active.merge_cells("A1:B1")
    book.save(path)
    assert read_table(path).rows == [(3, {"file": "a.png", "gender": "male"})]


def test_row_names_of_r_have_no_heading(tmp_path: Path) -> None:
    text = '"file"\t"n"\n"1"\t"a.png"\t"x"\n"2"\t"b.png"\t"y"\n'
    table = table_of(tmp_path / "a.txt", text)
    assert [(row["file"], row["n"]) for _, row in table.rows] == [
        ("a.png", "x"),
        ("b.png", "y"),
    ]
    # Without the numbers it is a comma in a text, as before.
    assert "under no heading" in error_of(
        tmp_path / "a.csv", "file,n\na.png,x, y\nb.png,x, y\n"
    )


def test_marks_of_missing_values_and_errors_are_empty(tmp_path: Path) -> None:
    text = "file,n\na.png,#N/A\nb.png,<NA>\n#BEZUG!,1\nc.png,Nana\n"
    table = table_of(tmp_path / "a.csv", text)
    assert [[*row.values()] for _, row in table.rows] == [
        ["a.png", ""],
        ["b.png", ""],
        ["", "1"],
        ["c.png", "Nana"],
    ]
    (note,) = table.notes
    assert (
        "(#N/A 1, <NA> 1, #BEZUG! 1; the first in line 2, 'n') count as empty" in note
    )
    path = tmp_path / "a.xlsx"
    saved(path, ["file", "n"], ["a.png", "#REF!"])
    assert read_table(path).rows == [(2, {"file": "a.png", "n": ""})]
    rows = table_of(tmp_path / "a.jsonl", '{"file": "a.png", "n": "NULL"}\n').rows
    assert rows == [(1, {"file": "a.png", "n": ""})]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("\u200bfe\u00admale\u00a0\u200e", "female"),
        ("\u202aC:\\a.png", "C:\\a.png"),
        ('"=""00012"""', "00012"),
    ],
)
def test_what_nobody_sees_in_a_cell_is_removed(
    tmp_path: Path, cell: str, text: str
) -> None:
    table = table_of(tmp_path / "a.csv", f"file,n\na.png,{cell}\n")
    assert table.rows[0][1]["n"] == text


def test_line_breaks_as_excel_writes_them(tmp_path: Path) -> None:
    saved(tmp_path / "a.xlsx", ["file", "n"], ["a.png", "male_x000D_\n"])
    assert read_table(tmp_path / "a.xlsx").rows[0][1]["n"] == "male"


def test_hidden_rows_and_columns_are_read_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = saved(path, ["file", "n", "m"], ["a.png", "1", "x"], ["b.png", "2", "y"])
    book.active.row_dimensions[3].hidden = True
    book.active.column_dimensions["B"].hidden = True
    book.active.column_dimensions["F"].hidden = True  # empty
    book.save(path)
    table = read_table(path)
    assert [row["n"] for _, row in table.rows] == ["1", "2"]
    assert any("1 row is hidden and is read" in note for note in table.notes)
    assert any("1 column is hidden" in note and "(B)" in note for note in table.notes)


def test_a_sheet_with_the_name_of_the_person_is_theirs(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = saved(path, ["file"], ["a.png"])
    book.create_sheet("Ben").append(["file"])
    book["Ben"].append(["b.png"])
    book.save(path)
    assert read_table(path, person="ben").rows == [(2, {"file": "b.png"})]
    assert read_table(path, person="ben").sheet_of == "ben"
    assert read_table(path, person="anna").rows == [(2, {"file": "a.png"})]
    assert not read_table(path, person="anna").sheet_of


def test_a_workbook_may_have_any_ending(tmp_path: Path) -> None:
    saved(tmp_path / "a.xlsx", ["file"], ["a.png"])
    path = (tmp_path / "a.xlsx").rename(tmp_path / "a.csv")
    assert read_table(path).rows == [(2, {"file": "a.png"})]


def test_strict_open_xml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    saved(path, ["file"], ["a.png"])
    with zipfile.ZipFile(path) as archive:
        main = archive.read("xl/workbook.xml")
    usual = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    strict = main.replace(usual, b"http://purl.oclc.org/ooxml/spreadsheetml/main")
    assert strict != main
    rewritten_zip(path, {"xl/workbook.xml": strict})
    with pytest.raises(T2IBenchError, match="Strict Open XML"):
        read_table(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x1f\x8b\x08\x00", "is compressed by gzip"),
        (b"%PDF-1.7\n%\xe2\xe3", "is a PDF"),
        (b"PAR1\x15\x04", "is a Parquet file"),
        (b"\x89PNG\r\n", "is an image"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS"),
        (b"\xef\xbb\xbf <!doctype HTML>\n<title>Sign in</title>", "is a web page"),
        (b'<?xml version="1.0"?><Workbook/>', "is an XML file"),
    ],
)
def test_files_of_other_kinds_are_named(
    tmp_path: Path, data: bytes, message: str
) -> None:
    assert message in error_of(tmp_path / "a.csv", data)


def test_a_quote_too_many_takes_no_rows_away(tmp_path: Path) -> None:
    rows = ["a.png,ok", 'b.png,"ok', "c.png,ok", "d.png,ok", 'e.png,ok"', "f.png,ok"]
    message = error_of(tmp_path / "a.csv", "\n".join(["file,note", *rows]))
    assert "a.csv:3: a quote opens in this row and closes 3 lines below" in message
    assert "'c.png,ok'" in message
    prose = 'file,note\na.png,"one,\ntwo, three\nfour"\n'
    assert table_of(tmp_path / "a.csv", prose).rows[0][1]["note"].count("\n") == 2


def test_a_backslash_before_a_quote_is_read(tmp_path: Path) -> None:
    table = table_of(tmp_path / "a.csv", 'file,n\n"a.png","say \\"x\\", ok"\n')
    assert table.rows[0][1]["n"] == 'say "x", ok'


def test_a_declared_delimiter_that_no_line_has_is_ignored(tmp_path: Path) -> None:
    table = table_of(tmp_path / "a.csv", "sep=,\nfile;n\na.png;1\n")
    assert table.rows == [(3, {"file": "a.png", "n": "1"})]


def test_an_empty_file_is_said_to_be_empty(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match=r"a\.csv is empty\."):
        table_of(tmp_path / "a.csv", "").need("image", "each row has one")


@pytest.mark.parametrize(
    "text",
    [
        '[{"file": "a.png", "n": 1}][{"file": "b.png", "n": 2}]',
        '[["file", "n"], ["a.png", 1], ["b.png", 2]]',
        '{"values": [["file", "n"], ["a.png", 1], ["b.png", 2]]}',
        '{"headers": ["file", "n"], "rows": [["a.png", 1], ["b.png", 2]]}',
        '{"version": 1, "rows": [{"file": "a.png", "n": 1}, {"file": "b.png", "n": 2}]}',
        '{"file": "a.png", "n": 1},\n{"file": "b.png", "n": 2},\n',
    ],
)
def test_json_of_other_programs(tmp_path: Path, text: str) -> None:
    rows = [row for _, row in table_of(tmp_path / "a.json", text).rows]
    assert rows == [{"file": "a.png", "n": 1}, {"file": "b.png", "n": 2}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a.png": "male",\n"a.png": "female"}', ":1: 'a.png' is there twice"),
        ('{"n": 1}\n{"n": 1, "n": 2}', ":2: 'n' is there twice, with '1' and '2'"),
        ('[{"n": 1},\n{"n": 1, "n": 2}]', ":2: 'n' is there twice"),
        ('[{"n": 1}] {"n": 2}', """:1: behind its list stands '{"n": 2}'"""),
    ],
)
def test_nothing_of_json_is_dropped_in_silence(
    tmp_path: Path, text: str, message: str
) -> None:
    assert message in error_of(tmp_path / "a.json", text)
    assert table_of(tmp_path / "a.json", '[{"n": 1, "n": 1}]').rows == [(1, {"n": 1})]


def test_people_whose_names_differ_in_case_are_one(tmp_path: Path) -> None:
    text = "file,annotator\na.png,Anna\nb.png,anna \nc.png,\nd.png,Ben\n"
    table = table_of(tmp_path / "a.csv", text)
    by_labeller = table.rows_by_labeller()
    assert {name: len(rows) for name, rows in by_labeller.items()} == {
        "Anna": 2,
        "Ben": 1,
    }
    assert [line for line, _ in table.rows_of_nobody()] == [4]


def test_cells_with_spaces_between_them_are_refused_with_the_way_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.txt"
    path.write_text('"file" "gender"\n"1" "a.png" "female"\n')
    with pytest.raises(T2IBenchError) as caught:
        read_table(path)
    assert "r.txt:1: nothing that is read as a separator" in str(caught.value)
    assert "write.csv" in str(caught.value) and "x1f" not in str(caught.value)
