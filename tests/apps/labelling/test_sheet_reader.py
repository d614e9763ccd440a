"""Filled sheets as spreadsheet programs save them."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook

from t2ibench.apps.labelling.sample import Item
from t2ibench.apps.labelling.sheet import COLUMNS
from t2ibench.apps.labelling.sheet_reader import read_sheet
from t2ibench.errors import T2IBenchError
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import Query
from t2ibench.store.labels import former_item_id, item_id
from tests.models.tiny import images

QUESTION = "=What is the gender?"
CLASSES = ("female", "male")


def item(number: int) -> Item:
    sha256 = hashlib.sha256(str(number).encode()).hexdigest()
    key = item_id(sha256, QUESTION, CLASSES)
    return Item(key, sha256, f"{number}.png", QUESTION, CLASSES)


ITEMS = [item(number) for number in range(4)]
KNOWN = {one.id: one for one in ITEMS}
ANSWERS = ["female", "male", "unknown", "not in the picture"]


def row_of(one: Item, answer: str, key: str | None = None) -> list[str]:
    file = f"images/{one.image[:16]}.jpg"
    return [key or one.id, file, f"'{QUESTION}", "female | male", answer]


def sheet(
    path: Path, rows: list[list[str]], delimiter: str = ",", encoding: str = "utf-8"
) -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=delimiter).writerows([[*COLUMNS], *rows])
    return path


def answers_of(path: Path, **options: object) -> dict[str, str]:
    labels = read_sheet(path, KNOWN, "anna", **options).labels  # type: ignore[arg-type]
    return {label.image: label.answer for label in labels}


RIGHT = {one.image: answer for one, answer in zip(ITEMS, ANSWERS, strict=True)}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_sheets_of_spreadsheet_programs(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    words = ["Woman", " MALE ", "Unknown", "Not in the picture"]
    rows = [row_of(one, word) for one, word in zip(ITEMS, words, strict=True)]
    assert answers_of(sheet(tmp_path / "s.csv", rows, delimiter, encoding)) == RIGHT


def test_a_workbook_that_is_filled_in_part(tmp_path: Path) -> None:
    book = Workbook()
    book.active.append([name.upper() for name in COLUMNS])
    for one, answer in zip(ITEMS, ["female", None, None, None], strict=True):
        book.active.append([*row_of(one, "")[:4], answer])
    book.save(tmp_path / "s.xlsx")
    assert answers_of(tmp_path / "s.xlsx") == {ITEMS[0].image: "female"}


def test_headings_that_a_person_changed(tmp_path: Path) -> None:
    rows = [row_of(one, word) for one, word in zip(ITEMS, ANSWERS, strict=True)]
    path = sheet(tmp_path / "s.csv", rows)
    path.write_text(
        path.read_text().replace("id,file,question,classes,answer", "Nr,file,q,c,was")
    )
    with pytest.raises(
        T2IBenchError, match=r"no column 'answer'.*Its columns are 'Nr', 'file'"
    ):
        answers_of(path)
    assert answers_of(path, columns={"id": "nr", "answer": "Was"}) == RIGHT


@given(st.integers(0, 10**6))
def test_an_id_is_nothing_that_a_spreadsheet_changes(number: int) -> None:
    key = item(number).id
    assert key[0] == "q" and key.isalnum() and len(key) == 17
    with pytest.raises(ValueError, match="could not convert"):
        float(key)


@pytest.mark.parametrize(
    "damage", ["1,23457E+15", "1.23457E+15", "12", "0", "01.05.2026", "", "∞"]
)
def test_ids_that_a_spreadsheet_changed_are_recovered_by_file_and_question(
    tmp_path: Path, damage: str
) -> None:
    rows = [
        row_of(one, word, damage or " ")
        for one, word in zip(ITEMS, ANSWERS, strict=True)
    ]
    assert answers_of(sheet(tmp_path / "s.csv", rows, ";")) == RIGHT


def test_ids_of_earlier_sheets_and_numbers_that_were_ids(tmp_path: Path) -> None:
    former = [former_item_id(one.image, one.question, one.classes) for one in ITEMS]
    rows = [[key, word] for key, word in zip(former, ANSWERS, strict=True)]
    path = tmp_path / "s.csv"
    path.write_text("id,answer\n" + "".join(f"{key},{word}\n" for key, word in rows))
    assert answers_of(path) == RIGHT
    numbers = (item(number) for number in range(100_000))
    digits = next(
        one for one in numbers if former_item_id(one.image, QUESTION, CLASSES)[1:].isdigit()
        and former_item_id(one.image, QUESTION, CLASSES)[0].isdigit()
    )  # fmt: skip
    shown = f"{float(former_item_id(digits.image, QUESTION, CLASSES)):.15g}"
    path.write_text(f"id;answer\n{shown.replace('.', ',')};male\n")
    labels = read_sheet(path, {digits.id: digits}, "anna").labels
    assert [label.image for label in labels] == [digits.image]


def test_an_id_of_another_run_is_refused(tmp_path: Path) -> None:
    other = item(99)
    path = sheet(tmp_path / "s.csv", [row_of(ITEMS[0], "male"), row_of(other, "male")])
    with pytest.raises(
        T2IBenchError, match=r"s\.csv:3: no image of this run has the id 'q"
    ):
        answers_of(path)


def test_cells_that_are_no_answer_are_counted(tmp_path: Path) -> None:
    words = ["Nainen", "Mies", "Nainen", "female"]
    rows = [row_of(one, word) for one, word in zip(ITEMS, words, strict=True)]
    with pytest.raises(
        T2IBenchError, match=r"s\.csv:2: 3 cells are no answer to .*'Nainen' 2"
    ):
        answers_of(sheet(tmp_path / "s.csv", rows))
    rows = [row_of(ITEMS[0], "male"), row_of(ITEMS[0], "female")]
    with pytest.raises(T2IBenchError, match=r":3: .*'female' here, 'male' in line 2"):
        answers_of(sheet(tmp_path / "s.csv", rows))


def test_a_filled_sheet_is_a_file_of_answers(tmp_path: Path) -> None:
    rows = [row_of(one, word) for one, word in zip(ITEMS, ANSWERS, strict=True)]
    (tmp_path / "images").mkdir()
    for one in ITEMS:  # smaller copies, whose content is another
        (tmp_path / "images" / f"{one.image[:16]}.jpg").write_bytes(b"small")
    (judge,) = create_judges([f"answers:{sheet(tmp_path / 's.csv', rows)},by=anna"])
    pixels = images(1, 8)[0]
    queries = [
        Query(pixels, "a", k, one.image, QUESTION, CLASSES)
        for k, one in enumerate(ITEMS)
    ]
    answers = [answer.answer for answer in judge.answer(queries)]
    assert answers == ["female", "male", "unknown", "unknown"]


def test_a_column_says_who_answered(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows = [[*row_of(ITEMS[0], "female"), "anna"], [*row_of(ITEMS[0], "male"), "Ben"]]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*COLUMNS, "labeller"], *rows])
    labels = read_sheet(path, KNOWN).labels
    assert [(label.labeller, label.answer) for label in labels] == [
        ("anna", "female"),
        ("Ben", "male"),
    ]
    (label,) = read_sheet(path, KNOWN, "ben").labels
    assert (label.labeller, label.answer) == ("ben", "male")
    with pytest.raises(
        T2IBenchError, match="names 2 people \\('anna', 'Ben'\\), and none is 'cem'"
    ):
        read_sheet(path, KNOWN, "cem")


def test_a_sheet_without_such_a_column_is_of_one_person(tmp_path: Path) -> None:
    path = sheet(tmp_path / "sheet.csv", [row_of(ITEMS[0], "female")])
    (label,) = read_sheet(path, KNOWN).labels
    assert label.labeller == "1"


def test_the_letters_of_a_spanish_sheet(tmp_path: Path) -> None:
    rows = [row_of(ITEMS[number], "HM"[number % 2]) for number in range(4)]
    assert [*answers_of(sheet(tmp_path / "sheet.csv", rows)).values()] == [
        "male",
        "female",
    ] * 2


def test_an_id_and_a_file_of_two_images_are_refused(tmp_path: Path) -> None:
    """As after sorting one column alone: either the image or its answer is wrong."""
    rows = [row_of(one, word) for one, word in zip(ITEMS, ANSWERS, strict=True)]
    rows[0][0], rows[1][0] = rows[1][0], rows[0][0]
    with pytest.raises(T2IBenchError, match=r":2: its id is that of .*sorted alone"):
        answers_of(sheet(tmp_path / "s.csv", rows))


def test_answers_beside_no_name_are_not_dropped(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    rows = [[*row_of(one, "female"), ""] for one in ITEMS]
    rows[0][-1] = "anna"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*COLUMNS, "labeller"], *rows])
    with pytest.raises(T2IBenchError, match=r":3: 3 answers stand beside no name"):
        read_sheet(path, KNOWN)
    for row in rows[1:]:
        row[4] = ""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*COLUMNS, "labeller"], *rows])
    assert [label.labeller for label in read_sheet(path, KNOWN).labels] == ["anna"]


def test_letters_are_read_beside_those_of_the_same_person(tmp_path: Path) -> None:
    said = {"anna": "MF", "juan": "HM"}
    rows = [
        [*row_of(one, letter), person]
        for person, letters in said.items()
        for one, letter in zip(ITEMS, letters, strict=False)
    ]
    path = tmp_path / "s.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*COLUMNS, "labeller"], *rows])
    labels = read_sheet(path, KNOWN).labels
    assert [label.answer for label in labels] == ["male", "female"] * 2


def test_a_person_may_be_unsure(tmp_path: Path) -> None:
    rows = [row_of(ITEMS[0], "not sure"), row_of(ITEMS[1], "weiß nicht")]
    answers = answers_of(sheet(tmp_path / "s.csv", rows))
    assert set(answers.values()) == {"unknown"} and len(answers) == 2
