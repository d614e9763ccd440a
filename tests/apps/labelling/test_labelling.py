"""A sample of a run is exported, answered, imported, and corrects what a judge says."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from t2ibench import evaluate
from t2ibench.apps.labelling.sample import Item, stratified
from t2ibench.apps.labelling.sheet import page
from t2ibench.errors import T2IBenchError
from t2ibench.models.judges import create_judges
from t2ibench.results.run import open_run
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.database import Database
from t2ibench.store.labels import COPY, LabelStore
from tests import hand
from tests.conftest import Cli

TASK = """
id: hand
version: 1
method: openbias
title: t
description: d
citation: c
images_per_prompt: 30
biases:
  - {name: gender, about: person, classes: [male, female],
     question: "What is the gender of the person?",
     captions: [A nurse., A carpenter., A person., A chef., A teacher., A farmer., A doctor.,
                A secretary., A tailor., A librarian.]}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of toyland, judged by its own reader."""
    root = tmp_path_factory.mktemp("labels")
    (root / "tasks").mkdir()
    (root / "tasks" / "hand.yaml").write_text(TASK)
    quick = {"n_permutations": 500, "n_bootstrap": 200, "output_dir": root / "runs"}
    evaluate("toyland", "hand", include_path=[root / "tasks"], judge="toyland", **quick)
    return root / "runs" / "toyland"


def sheet_of(folder: Path) -> Any:
    return pandas.read_csv(folder / "sheet.csv", dtype=str, keep_default_na=False)


def write(rows: Any, file: Path, separator: str = ",") -> Path:
    rows.to_csv(file, index=False, sep=separator)
    return file


def scores(run: Path) -> Any:
    return json.loads((run / "results.json").read_text())["tasks"]["hand"]["by"][0][
        "scores"
    ]


def fill(folder: Path, run: Path, wrong: int = 0) -> Path:
    """Answer a sheet as the judge did, but for the first `wrong` rows."""
    judged = {row["image"][:16]: row["answer"] for row in hand.stored(run, "answers")}
    rows = sheet_of(folder)
    rows["answer"] = [judged[Path(file).stem] for file in rows.file]
    other = {"male": "female", "female": "male"}
    rows.loc[: wrong - 1, "answer"] = [other[one] for one in rows.answer[:wrong]]
    return write(rows, folder / "filled.csv")


def test_a_sample_is_stratified_and_repeats() -> None:
    sizes = {"a": 60, "b": 30, "c": 10}
    strata = {
        name: [Item(f"{name}{k}", "", "", "", ()) for k in range(n)]
        for name, n in sizes.items()
    }
    of_c = 0
    for seed in range(200):
        drawn = stratified(strata, 15, np.random.default_rng(seed))
        assert len({item.id for item in drawn}) == 15
        found = Counter(item.id[0] for item in drawn)
        assert found["a"] == 9 and found["b"] in {4, 5} and found["c"] in {1, 2}
        of_c += found["c"]
    assert abs(of_c / 200 - 1.5) < 0.12  # every image has the same chance
    again = stratified(strata, 15, np.random.default_rng(7))
    assert again == stratified(strata, 15, np.random.default_rng(7))


@pytest.mark.slow
def test_export_import_agree(run: Path, cli: Cli, tmp_path: Path) -> None:
    status, out, _ = cli(
        "label", "export", run, "--images", "210", "--output", tmp_path / "l"
    )
    assert status == 0 and "210 images of 1 question:" in out
    rows = sheet_of(tmp_path / "l")
    assert len(rows) == 210
    text = (tmp_path / "l" / "sheet.csv").read_text() + (
        tmp_path / "l" / "label.html"
    ).read_text()
    # blind: nothing says what an image was generated for
    assert "nurse" not in text.casefold()
    assert all((tmp_path / "l" / file).is_file() for file in rows.file)
    filled = fill(tmp_path / "l", run, wrong=21)
    for new in (210, 0):
        status, out, _ = cli("label", "import", run, filled, "--labeller", "anna")
        assert status == 0 and f"210 answers of anna, {new} of them new." in out
    status, out, _ = cli("label", "agree", run)
    assert status == 0
    line = next(line for line in out.splitlines() if "gender" in line)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2] == "210" and cells[3] == "0.90"  # 189 of 210


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "femal"}, "Did you mean 'female'?"),
        ({"id": "0123456789abcdef"}, "no image of this run has the id"),
    ],
)
def test_a_wrong_sheet_is_one_line_and_stores_nothing(
    run: Path, cli: Cli, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    cli("label", "export", run, "--images", "5", "--output", tmp_path / "l")
    rows = sheet_of(tmp_path / "l")
    rows["answer"] = "female"
    rows.loc[2, list(change)] = list(change.values())
    filled = write(rows, tmp_path / "filled.csv")
    status, _, error = cli("label", "import", run, filled, "--labeller", "eve")
    assert status == 1 and message in error and error.count("\n") == 1
    assert "eve" not in {label.labeller for label in LabelStore(Database(run)).all()}


@pytest.mark.slow
def test_a_sheet_in_the_folder_of_a_run_leaves_the_images_of_the_run(
    run: Path, cli: Cli, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    images = {path for path in (copy / "images").rglob("*") if path.is_file()}
    for seed in ("0", "1"):
        words = ("label", "export", copy, "--output", copy, "--images", "5")
        assert cli(*words, "--seed", seed)[0] == 0
    shown = {copy / file for file in sheet_of(copy).file}
    after = {path for path in (copy / "images").rglob("*") if path.is_file()}
    assert images and after == images | shown


@pytest.mark.parametrize(
    "name", ["", "  ", "anna\nben", "x" * 5000, "anna\u202e", "\x1b[2J"]
)
def test_a_labeller_has_a_name(name: str, run: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("id,answer\n", encoding="utf-8")
    status, _, error = cli(
        "label", "import", run, tmp_path / "sheet.csv", f"--labeller={name}"
    )
    assert status == 1 and "--labeller '" in error and "no name of 1 to 80" in error
    assert error.count("\n") == 1 and len(error) < 400
    with pytest.raises(T2IBenchError, match="no name of 1 to 80 characters"):
        create_judges([f"answers:{tmp_path / 'sheet.csv'},by={name}"])


def test_a_sheet_has_its_columns_and_bounds(
    run: Path, cli: Cli, tmp_path: Path
) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("id,anwser\n", encoding="utf-8")
    command = ("label", "import", run, sheet, "--labeller", "anna")
    assert "no column 'answer'. Did you mean 'anwser'?" in cli(*command)[2]
    with sheet.open("wb") as file:
        file.truncate(10**11)  # with a hole: no byte of it is on the disk
    status, _, error = cli(*command)
    assert status == 1 and "larger than 64 MiB" in error
    status, _, error = cli(
        "label", "export", run, "--question", "What is the gender of the persn?"
    )
    assert status == 1 and "Did you mean 'What is the gender of the person?'?" in error


def test_labels_of_unknown_images_restore_the_shares(
    run: Path, cli: Cli, tmp_path: Path
) -> None:
    """A judge that is silent about a third of the women; people label a quarter of those."""
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    answers = hand.stored(copy, "answers")
    women = [row["image"] for row in answers if row["answer"] == "female"]
    true = {row["image"][:16]: row["answer"] for row in answers}
    lost = set(sorted(women)[::3])
    ((name, fingerprint),) = open_run(copy).record.judges.items()
    asked = (answers[0]["question"], ("male", "female"))
    database = Database(copy)
    # and those of other tests
    for words in ("answers", "labels", "run WHERE key = 'labels'"):
        database.execute(f"DELETE FROM {words}")
    AnswerStore(database, name, fingerprint).add(
        StoredAnswer(
            row["image"], *asked, "unknown" if row["image"] in lost else row["answer"]
        )
        for row in answers
    )
    options = ("--unknown", "--images", len(lost) // 4, "--output", tmp_path / "l")
    assert cli("label", "export", copy, *options)[0] == 0
    rows = sheet_of(tmp_path / "l")
    assert len(rows) == len(lost) // 4
    stems = [Path(file).stem for file in rows.file]
    assert set(stems) <= {image[:16] for image in lost}
    rows["answer"] = [true[stem] for stem in stems]
    filled = write(rows, tmp_path / "l" / "filled.csv")
    assert cli("label", "import", copy, filled, "--labeller", "anna")[0] == 0
    assert cli("score", copy)[0] == 0
    share, known = (
        scores(copy)[name] for name in ("share_corrected:female", "share:female")
    )
    assert share["ci_low"] < len(women) / len(answers) < share["ci_high"]
    assert share["value"] == pytest.approx(len(women) / len(answers), abs=1e-6)
    assert known["value"] < share["value"] < known["ci_high"]
    assert (
        cli("label", "export", run, "--unknown", "--output", tmp_path / "none")[0] == 1
    )


@pytest.mark.smoke
def test_the_page_answers_by_keyboard_and_saves(
    run: Path, cli: Cli, tmp_path: Path, browser: Any
) -> None:
    cli("label", "export", run, "--images", "3", "--output", tmp_path / "l")
    opened = browser.new_page()
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.goto((tmp_path / "l" / "label.html").as_uri())
    opened.fill("#name", "Anna")
    opened.keyboard.press("Enter")
    opened.wait_for_function("document.getElementById('image').naturalWidth > 0")
    for key in ("1", "2", "n"):
        opened.keyboard.press(key)
    assert "3 answered, none left" in opened.inner_text("#progress")
    opened.reload()
    assert "3 answered" in opened.inner_text("#progress")  # kept in this browser
    assert opened.locator("#answers button kbd").all_inner_texts() == list("120N")
    with opened.expect_download() as download:
        opened.click("#save")
    saved = tmp_path / "saved.csv"
    download.value.save_as(saved)
    table = pandas.read_csv(saved, keep_default_na=False)
    assert list(table.answer) == ["male", "female", "not in the picture"]
    assert set(table.labeller) == {"Anna"}
    assert cli("label", "import", run, saved, "--labeller", "page")[0] == 0
    assert not problems


def test_texts_of_the_page_are_data(tmp_path: Path, browser: Any) -> None:
    evil = "</script><img src=x onerror=\"document.title='owned'\">"
    rows: list[dict[str, object]] = [
        {"id": "a", "file": "none.jpg", "question": evil, "classes": [evil, "b"]}
    ]
    file = tmp_path / "label.html"
    file.write_text(page(rows), encoding="utf-8")
    opened = browser.new_page()
    opened.goto(file.as_uri())
    opened.fill("#name", "Anna")
    opened.keyboard.press("Enter")
    assert opened.title() == "Label images"
    assert opened.inner_text("#question") == evil


@pytest.mark.slow
def test_scores_are_corrected_by_labels(run: Path, cli: Cli, tmp_path: Path) -> None:
    """People who agree with the judge on every image change no share."""
    cli("label", "export", run, "--images", "240", "--output", tmp_path / "l")
    Database(run).execute("DELETE FROM labels")
    (run / COPY).unlink(missing_ok=True)
    filled = fill(tmp_path / "l", run)
    assert cli("label", "import", run, filled)[0] == 0
    assert cli("score", run)[0] == 0
    row = scores(run)
    assert row["n_labels"]["value"] == 240
    for name in ("male", "female"):
        corrected, judged = row[f"share_corrected:{name}"], row[f"share:{name}"]
        assert corrected["value"] == pytest.approx(judged["value"], abs=0.01)
        assert corrected["ci_low"] < judged["value"] < corrected["ci_high"]
    lean = row["squared_lean"]["value"]
    assert row["squared_lean_corrected"]["value"] == pytest.approx(lean, abs=0.03)
    # The command of the run scores with the labels, too.
    corrected = (run / "results.json").read_bytes()
    command = json.loads(corrected)["command"]
    assert cli(*command[1:])[0] == 0
    assert (run / "results.json").read_bytes() == corrected


@pytest.mark.slow
def test_people_alone_are_a_judge(tmp_path: Path, cli: Cli) -> None:
    """Of a run without a judge, labels give the numbers."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "hand.yaml").write_text(TASK)
    words = (
        "--model",
        "toyland",
        "--include-path",
        tmp_path / "tasks",
        "--tasks",
        "hand",
    )
    draws = ("--images-per-prompt", "4", "--permutations", "200", "--bootstrap", "100")
    cli(*words, *draws, "--generate-only", "--output-dir", tmp_path / "runs")
    run = tmp_path / "runs" / "toyland"
    assert cli("label", "export", run, "--images", "30")[0] == 0
    rows = sheet_of(run / "labels")
    rows["answer"] = [
        "female" if number % 3 else "Not in the picture" for number in rows.index
    ]
    filled = write(rows, tmp_path / "filled.csv", ";")
    assert cli("label", "import", run, filled, "--labeller", "anna")[0] == 0
    for _ in range(2):  # what is scored again is the same
        status, _, error = cli("score", run)
        assert status == 0, error
        assert "Judges: labels by anna" in (run / "results.md").read_text()
    task = json.loads((run / "results.json").read_text())["tasks"]["hand"]
    assert Counter(task["excluded"]) == Counter({"unknown": 10, "not labelled": 10})
    assert task["by"][0]["scores"]["share:female"]["value"] == 1
    assert list(task["settings"]["judges"]) == ["labels by anna"]
