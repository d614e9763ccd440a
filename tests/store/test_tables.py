"""CSV files as users have them: their delimiters, quotes and slips."""

from __future__ import annotations

from pathlib import Path

import pytest
from t2ibench.store.tables import read_table

from t2ibench.errors import T2IBenchError


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_says_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    file = tmp_path / "a.csv"
    lines = ['file, "prompt" ,n', 'a b.jpg,"a nurse, at work; or | so",', ",,", "b.jpg"]
    text = "\r\n".join(lines).replace(' "prompt" ', " prompt ")
    quoted = text.replace(",", delimiter).replace(f"nurse{delimiter}", "nurse,")
    file.write_text(quoted, encoding="utf-8-sig", newline="")
    table = read_table(file)
    assert table.columns == ["file", "prompt", "n"]
    assert table.rows == [
        (2, {"file": "a b.jpg", "prompt": "a nurse, at work; or | so", "n": ""}),
        (4, {"file": "b.jpg", "prompt": "", "n": ""}),
    ]


def test_a_single_column_holds_commas(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("caption\nA man, a dog\n")
    assert read_table(file).rows == [(2, {"caption": "A man, a dog"})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,prompt\na,b, c\n", ":2: 3 cells, but the header has 2: .*a comma into double"),
        ('file,prompt\na,"b\n', ":2: unexpected end of data"),
        ("file;prompt\n\na;b;c\n", ":3: .*a semicolon"),
    ],
)
def test_a_slip_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(T2IBenchError, match=message):
        read_table(file)
