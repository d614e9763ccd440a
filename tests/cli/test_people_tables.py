"""Tables of people on the command line: --columns and --pattern reach what reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from t2ibench.settings import read_settings
from tests.conftest import Cli
from tests.models.tiny import images

TASK = {
    "id": "mine",
    "version": 1,
    "method": "openbias",
    "title": "t",
    "description": "d",
    "citation": "c",
    "images_per_prompt": 2,
    "biases": [
        {
            "name": "gender",
            "about": "person",
            "classes": ["female", "male"],
            "question": "What is the gender of the person?",
            "captions": ["A nurse", "A chef"],
        }
    ],
}
NAMES = ["A_nurse_1.png", "A_nurse_2.png", "A_chef_1.png", "A_chef_2.png"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "mine.yaml").write_text(yaml.safe_dump(TASK))
    folder = tmp_path / "img"
    folder.mkdir()
    for name, image in zip(NAMES, images(4, 8), strict=True):
        image.save(folder / name)
    rows = [f"{name};{'Nainen' if 'nurse' in name else 'Mies'}" for name in NAMES]
    (folder / "Antworten.csv").write_bytes(
        "\r\n".join(["Name;Geschlecht", *rows]).encode("utf-16")
    )
    return folder


def flags_of(folder: Path) -> list[str]:
    places = [
        "--include-path",
        str(folder.parent / "tasks"),
        "--output-dir",
        str(folder / "runs"),
    ]
    draws = ["--permutations", "100", "--bootstrap", "100"]
    judge = ["--judge", f"answers:{folder / 'Antworten.csv'},by=anna"]
    return ["--model", f"folder:{folder}", "--tasks", "mine", *places, *draws, *judge]


def test_columns_and_pattern_reach_folder_and_answers(folder: Path, cli: Cli) -> None:
    flags = flags_of(folder)
    status, _, error = cli(*flags)
    assert (
        status == 1
        and "holds no images with prompts. 'Antworten.csv' has no images" in error
    )
    assert "Its columns are 'Name', 'Geschlecht'." in error and "--pattern" in error
    pattern = ["--pattern", "{prompt}_{index}.png"]
    status, _, error = cli(*flags, *pattern)
    assert (
        status == 1
        and "no column 'file'. Its columns are 'Name', 'Geschlecht'." in error
    )
    columns = ["--columns", "image=Name,gender=Geschlecht"]
    status, _, error = cli(*flags, *pattern, *columns)
    assert status == 1 and "'Mies' 2, 'Nainen' 2" in error
    text = (folder / "Antworten.csv").read_text(encoding="utf-16")
    words = text.replace("Nainen", "Women").replace("Mies", "man")
    (folder / "Antworten.csv").write_text(words, encoding="utf-16")
    status, out, error = cli(*flags, *pattern, *columns)
    assert status == 0, error
    assert "2 women" in out and "2 men" in out
    assert "read 'man' as male, 'Women' as female." in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--columns", "image=x"],
            "--columns names the headings of a table, and no table is read",
        ),
        (["--pattern", "{prompt}.png"], "goes with --model folder:DIR"),
        (
            ["--columns", "image"],
            "--columns: 'image' is not of the form key=value. Write for exam",
        ),
    ],
)
def test_columns_and_pattern_are_refused_if_no_table_is_read(
    cli: Cli, words: list[str], message: str
) -> None:
    status, _, error = cli(
        "--model", "toyland", "--tasks", "t2iat_flowers_insects", *words
    )
    assert status == 1 and message in error and error.count("\n") == 1


def test_the_command_of_a_run_repeats_its_columns() -> None:
    columns = {"image": "File, name", "gender": "Geschlecht (m/w)"}
    settings = read_settings(
        {"model": "folder:x", "columns": columns, "pattern": "{prompt}.png"}
    )
    words = settings.command()
    text = words[words.index("--columns") + 1]
    assert read_settings({"columns": text}).columns == columns


def test_propose_reads_a_table_by_its_columns(folder: Path, cli: Cli) -> None:
    output = folder / "t.yaml"
    flags = [
        "propose",
        "openbias",
        "--captions",
        f"folder:{folder}",
        "--output",
        str(output),
    ]
    status, _, error = cli(*flags, "--pattern", "{prompt}_{index}")
    assert status == 0 and "--tasks t --pattern '{prompt}_{index}'" in error
    (folder / "Liste.csv").write_text(
        "Bildname,Aufforderung\nA_nurse_1.png,A nurse at work\n"
    )
    status, _, error = cli(*flags, "--columns", "prompt=Aufforderung")
    assert status == 0 and "Images and prompts are read from 'Liste.csv'." in error
    assert "A nurse at work" in output.read_text()
