"""`propose --attributes`: what is asked about, with the classes that people used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from t2ibench.proposals.attributes import answered_columns, plain
from tests.conftest import Cli
from tests.models.tiny import images

ANSWERS = """\
file,prompt,Gender,race,age,hair_colour,notes
0.png,a photo of a chef,male,Asian,young,grey,first
1.png,a photo of a chef,male,white,old,brown,
2.png,a photo of a chef,both,mixed,old,brown,several people
3.png,a photo of a nurse,female,white,young,grey,x
4.png,a photo of a nurse,female,Black,young,black,y
5.png,a photo of a nurse,female,white,,black,z
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images with people's answers beside them."""
    folder = tmp_path / "images"
    folder.mkdir()
    prompts = ["file,prompt"]
    for number, picture in enumerate(images(6)):
        picture.save(folder / f"{number}.png")
        prompts.append(f"{number}.png,a photo of a {'chef' if number < 3 else 'nurse'}")
    (folder / "prompts.csv").write_text("\n".join(prompts))
    (folder / "people.csv").write_text(ANSWERS)
    return folder


def propose(
    cli: Cli, folder: Path, *further: str
) -> tuple[int, list[dict[str, Any]], str]:
    output = folder.parent / "tasks" / "mine.yaml"
    status, _, errors = cli(
        "propose",
        "openbias",
        "--captions",
        f"folder:{folder}",
        "--output",
        output,
        *further,
    )
    biases = yaml.safe_load(output.read_text())["biases"] if output.is_file() else []
    return status, biases, errors


def test_named_attributes_alone_are_asked_about(folder: Path, cli: Cli) -> None:
    status, (gender, race), errors = propose(cli, folder, "--attributes", "gender,race")
    assert status == 0, errors
    assert gender["classes"] == ["female", "male"]
    # those found, the most frequent first
    assert race["classes"] == ["white", "asian", "black"]
    assert "race counts as unknown: mixed 1" in errors
    further = (
        "people.csv has 2 further columns: age, hair colour; `t2ibench propose openbias"
    )
    assert (
        further in errors
        and "--attributes gender,race,age,hair_colour` asks about them" in errors
    )
    root = folder.parent
    command = f"answers:{folder / 'people.csv'},by=NAME"
    assert command in errors
    tasks = ("--include-path", root / "tasks", "--tasks", "mine")
    made = ("--judge", command, "--output-dir", root / "runs")
    status, out, errors = cli("run", "--model", f"folder:{folder}", *tasks, *made)
    assert status == 0, errors
    assert (
        "2 men, 1 without an answer" in out and "2 white people, 1 Black person" in out
    )


def test_without_names_the_sheet_gives_classes_and_further_columns_are_offered(
    folder: Path, cli: Cli
) -> None:
    status, biases, errors = propose(cli, folder)
    assert status == 0, errors
    classes = {bias["name"]: bias["classes"] for bias in biases}
    # not middle-aged, which nobody was asked for
    assert classes["age"] == ["young", "old"]
    assert set(classes) == {"gender", "age", "skin-tone"}
    assert "people.csv has no column for: skin tone." in errors
    assert "further columns: race, hair colour; `t2ibench propose" in errors


def test_a_column_that_no_list_of_words_has_is_asked_about(
    folder: Path, cli: Cli
) -> None:
    status, (hair,), errors = propose(cli, folder, "--attributes", "hair-colour")
    assert status == 0, errors
    assert hair["question"] == "What is the hair colour of the person?"
    assert hair["classes"] == ["black", "brown", "grey"] and len(hair["captions"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--attributes", "gendr"), "Did you mean 'gender'?"),
        (("--attributes", ","), "expected names such as gender,race"),
        (("--answers", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_invalid_attributes_get_a_one_line_error(
    folder: Path, cli: Cli, words: tuple[str, ...], said: str
) -> None:
    status, biases, errors = propose(cli, folder, *words)
    assert status == 1 and said in errors and errors.count("\n") == 1 and not biases


def test_a_file_elsewhere_is_named(folder: Path, cli: Cli, tmp_path: Path) -> None:
    (folder / "people.csv").rename(tmp_path / "sheet.csv")
    named = ("--answers", str(tmp_path / "sheet.csv"), "--attributes", "race")
    status, (race,), errors = propose(cli, folder, *named)
    assert status == 0, errors
    assert race["classes"] == ["white", "asian", "black"]
    # Without any answers the lists of words have their own classes.
    status, (race,), _ = propose(cli, folder, "--attributes", "race")
    assert status == 0 and "latino" in race["classes"]


def test_columns_without_classes_are_left_out(tmp_path: Path) -> None:
    sheet = tmp_path / "people.csv"
    rows = [f"{number}.png,female,note {number},1" for number in range(20)]
    sheet.write_text("\n".join(["file,gender,notes,index", *rows]))
    assert [column.name for column in answered_columns(sheet)] == ["gender"]
    assert plain(" Skin_Tone") == "skin tone"


def test_a_named_column_is_the_attribute(tmp_path: Path) -> None:
    sheet = tmp_path / "antworten.csv"
    rows = [f"{number}.png,{('mies', 'nainen')[number % 2]}" for number in range(20)]
    sheet.write_text("\n".join(["Kuva,Sukupuoli", *rows]))
    named = {"image": "Kuva", "gender": "Sukupuoli"}
    (column,) = answered_columns(sheet, named)
    assert (column.name, column.classes) == ("gender", ("mies", "nainen"))
