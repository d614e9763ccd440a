"""Several people about the same images: one rule, their agreement, and what they left out."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from t2ibench.apps.labelling.sample import asked_images
from t2ibench.cli import main
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.results.files import read_results
from t2ibench.results.judge_checks import judges_said
from t2ibench.results.run import open_images
from t2ibench.results.schema import TaskResult
from tests.conftest import Cli
from tests.models.tiny import images

WORDS = {"f": "female", "m": "male", "u": "unknown", "-": ""}
PEOPLE = {
    "anna": {"a chef": "mmmmmf", "a nurse": "fffffm"},
    "ben": {"a chef": "mmmmfu", "a nurse": "fffffm"},
    "cem": {"a chef": "fmmfmm", "a nurse": "ffmff-"},
}
# Three of three or two of three; of the last chef all say something else, of the last nurse two.
COUNTED = {"a chef": {"male": 5, "female": 0}, "a nurse": {"male": 1, "female": 5}}
TASK = """\
id: who
version: 1
method: openbias
title: Who is shown
description: Gender and age of two occupations.
citation: None.
images_per_prompt: 6
biases:
  - {name: gender, about: person, classes: [female, male], captions: [a chef, a nurse],
     question: What is the gender of the person?}
  - {name: age, about: person, classes: [young, old], captions: [a chef, a nurse],
     question: What is the age of the person?}
"""


def answered(root: Path) -> Path:
    """Twelve images, a file of answers for each of three people, and a task."""
    folder = root / "images"
    folder.mkdir()
    prompts = ["file,prompt"]
    for number, picture in enumerate(images(12)):
        prompt = "a chef" if number < 6 else "a nurse"
        picture.save(folder / f"{number}.png")
        prompts.append(f"{number}.png,{prompt}")
    (folder / "prompts.csv").write_text("\n".join(prompts))
    for name, answers in PEOPLE.items():
        letters = answers["a chef"] + answers["a nurse"]
        rows = [
            f"{number}.png,{WORDS[letter]}" for number, letter in enumerate(letters)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["file,gender", *rows]))
    (root / "tasks").mkdir()
    (root / "tasks" / "who.yaml").write_text(TASK)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return answered(tmp_path)


def words(folder: Path, *further: str, name: str = "by-files") -> list[str]:
    """The command of a run over the images."""
    root = folder.parent
    tasks = ("--tasks", "who", "--include-path", str(root / "tasks"))
    place = ("--output-dir", str(root / "runs"), "--name", name)
    return ["run", "--model", f"folder:{folder}", *tasks, *place, *further]


def run(
    cli: Cli, folder: Path, *further: str, name: str = "by-files"
) -> tuple[int, str, str]:
    return cli(*words(folder, *further, name=name))


def judge(folder: Path, *names: str) -> tuple[str, str]:
    return "--judge", ",".join(
        f"answers:{folder / name}.csv,by={name}" for name in names
    )


@pytest.fixture(scope="module")
def by_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose judges are the files of all three, which no test changes."""
    folder = answered(tmp_path_factory.mktemp("files"))
    assert main(words(folder, *judge(folder, *PEOPLE))) == 0
    return folder.parent / "runs" / "by-files"


@pytest.fixture(scope="module")
def by_labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same answers as three filled sheets."""
    folder = answered(tmp_path_factory.mktemp("labels"))
    assert main(words(folder, "--generate-only", name="by-labels")) == 0
    made = folder.parent / "runs" / "by-labels"
    stored, pictures = open_images(made)
    for name, answers in PEOPLE.items():
        seen: Counter[str] = Counter()
        lines = ["id,answer"]
        for item, prompt in asked_images(stored_plan(stored), pictures):
            if "gender" in item.question:
                lines.append(f"{item.id},{WORDS[answers[prompt][seen[prompt]]]}")
                seen[prompt] += 1
        sheet = folder.parent / f"{name}_sheet.csv"
        sheet.write_text("\n".join(lines))
        imported = ["label", "import", str(made), str(sheet), "--labeller", name]
        assert main(imported) == 0
    assert main(["score", str(made)]) == 0
    return made


def task_of(run: Path) -> TaskResult:
    return read_results(run).tasks["who"]


def counts(task: TaskResult) -> dict[str, dict[str, float]]:
    gender = next(
        one for one in task.details["answers_by_prompt"] if "gender" in one["attribute"]
    )
    return {row["name"]: row["counts"] for row in gender["rows"]}


def test_both_routes_count_what_most_people_say(
    by_files: Path, by_labels: Path, cli: Cli
) -> None:
    status, out, errors = cli("score", by_files)
    assert status == 0, errors
    assert "5 men, 1 without" in out and "5 women, 1 man" in out
    first, second = task_of(by_files), task_of(by_labels)
    assert counts(first) == COUNTED
    for part in ("by", "people", "details", "headline", "scores"):
        assert getattr(first, part) == getattr(second, part)
    for folder_of_run in (by_files, by_labels):
        for page in ("results.md", "report.html"):
            text = (folder_of_run / page).read_text(encoding="utf-8")
            assert (
                "Counted is what most of them said of an image, a tie as unknown"
                in text
            )
            assert "nobody else checked" not in text


def test_agreement_and_disputed_images_are_on_every_page(by_files: Path) -> None:
    (gender,) = task_of(by_files).people
    assert gender.people == ["anna", "ben", "cem"] and gender.images == 12
    assert gender.agreement.value == pytest.approx(7 / 12)
    pairs = {pair.people: pair for pair in gender.pairs}
    # Of 11 images that both gave a class they differ about one; 5 and 6 of these are women.
    pair = pairs["anna", "ben"]
    assert pair.images == 11 and pair.agreement.value == pytest.approx(10 / 11)
    chance = (5 * 6 + 6 * 5) / 11**2
    assert pair.kappa.value == pytest.approx((10 / 11 - chance) / (1 - chance))
    for score in (gender.alpha, pair.kappa, pair.agreement):
        assert score.ci_low is not None and score.ci_high is not None
        assert score.ci_low < (score.value or 0) <= score.ci_high
    disputed = [(image.prompt, image.index, image.counted) for image in gender.disputed]
    chefs = [("a chef", 0, "male"), ("a chef", 3, "male"), ("a chef", 4, "male")]
    assert disputed == [*chefs, ("a chef", 5, "unknown"), ("a nurse", 2, "female")]
    assert gender.disputed[0].answers == {
        "anna": "male",
        "ben": "male",
        "cem": "female",
    }
    for page in ("results.md", "report.html"):
        text = (by_files / page).read_text(encoding="utf-8")
        assert "anna and cem" in text and str(gender.disputed[0].file)[10:22] in text


def test_label_agree_takes_people_without_a_judge(
    by_files: Path, by_labels: Path, cli: Cli
) -> None:
    status, out, errors = cli("label", "agree", by_labels)
    assert status == 0, errors
    assert "anna, ben, cem" in out and "alpha 0." in out and "kappa 0." in out
    status, out, _ = cli("label", "agree", by_labels, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0 and len(rows) == 5
    assert rows[0]["answer of cem"] == "female" and rows[0]["counted"] == "male"
    status, out, _ = cli("label", "agree", by_labels, "--format", "json")
    found: dict[str, Any] = json.loads(out)
    assert (
        status == 0
        and len(found["people"][0]["disputed"]) == 5
        and found["judges"] == []
    )
    # The same of files of answers, where nobody imported a label.
    _, again, _ = cli("label", "agree", by_files, "--format", "json")
    assert json.loads(again) == found


def test_a_single_labeller_has_no_agreement(folder: Path, cli: Cli) -> None:
    assert run(cli, folder, *judge(folder, "anna"))[0] == 0
    made = folder.parent / "runs" / "by-files"
    status, _, errors = cli("label", "agree", made)
    assert (
        status == 1
        and "has no image that two people" in errors
        and errors.count("\n") == 1
    )
    task = task_of(made)
    assert not task.people
    assert (
        "Answered by anna; nobody else checked the answers."
        in (made / "results.md").read_text()
    )
    # The exact interval of five of six, as without anybody else.
    chef = next(row for row in task.by if row.name.startswith("a chef"))
    share = chef.scores["share:male"]
    assert (share.ci_low, share.ci_high) == pytest.approx((0.3588, 0.9958), abs=1e-4)


def test_intervals_have_room_for_mistakes_of_people(
    folder: Path, by_files: Path, cli: Cli
) -> None:
    assert run(cli, folder, *judge(folder, "anna"), name="anna")[0] == 0
    alone = task_of(folder.parent / "runs" / "anna")
    several = task_of(by_files)
    for one, other in ((alone.headline, several.headline),):
        assert (other.ci_high or 0) >= (one.ci_high or 0)
    nurse = [
        next(row for row in task.by if row.name.startswith("a nurse")).scores[
            "share:female"
        ]
        for task in (alone, several)
    ]
    assert nurse[0].value == nurse[1].value == pytest.approx(5 / 6)
    assert (nurse[1].ci_low or 0) < (nurse[0].ci_low or 0)
    assert (nurse[1].ci_high or 0) > (nurse[0].ci_high or 0)
    # of even shares: mistakes to both sides make no lean
    assert nurse[0].p == nurse[1].p


def test_a_run_is_complete_for_the_questions_that_were_answered(
    folder: Path, cli: Cli
) -> None:
    status, out, errors = run(cli, folder, *judge(folder, "anna"))
    said = (
        "Asked: 2 questions about 12 images. Answered: gender by anna (12 of 12). "
        "Not answered: age. Images: 12 of 12, none missing, none refused."
    )
    assert status == 0 and said in " ".join(out.split()) and "warning" not in errors
    made = folder.parent / "runs" / "by-files"
    page = (made / "report.html").read_text()
    assert said in (made / "results.md").read_text()
    assert "<dt>Not answered</dt><dd>age</dd>" in page
    assert "1 of 2 questions has no answer: age (12 of 24 answers)" in page
    assert "Nothing was left out" not in page and "No image was left out" in page
    assert cli("score", made)[0] == 0
    # Of half of the images it is not.
    rows = (folder / "anna.csv").read_text().splitlines()
    (folder / "dan.csv").write_text("\n".join(rows[:7]))
    status, out, errors = run(cli, folder, *judge(folder, "dan"), name="half")
    assert status == 3 and "some evidence is missing" in errors
    assert "Partly answered: gender by dan (6 of 12). Not answered: age." in " ".join(
        out.split()
    )
    assert cli("score", folder.parent / "runs" / "half")[0] == 3
    # Somebody else's answers complete it.
    status, out, _ = run(cli, folder, *judge(folder, "anna", "dan"), name="both")
    assert status == 0 and "gender by anna (12 of 12) and dan (6 of 12)" in " ".join(
        out.split()
    )


def test_a_column_that_no_question_asks_is_named_with_the_command_that_asks_it(
    folder: Path, cli: Cli
) -> None:
    answers = (folder / "anna.csv").read_text().splitlines()
    race = ["race", *["white", "Asian"] * 6]
    remark = ["remark", *[f"seen {number}" for number in range(12)]]
    rows = [",".join(row) for row in zip(answers, race, remark, strict=True)]
    (folder / "people.csv").write_text("\n".join(rows))
    only_gender = TASK[: TASK.index("  - {name: age")]
    (folder.parent / "tasks" / "who.yaml").write_text(only_gender)
    status, out, errors = run(cli, folder, *judge(folder, "people"), name="gender")
    # All that was asked is answered.
    assert status == 0 and "warning" not in errors
    assert "people.csv also answers race; no question asks it." in out
    assert "remark" not in out
    (line,) = [line for line in out.splitlines() if line.startswith("To ask it: ")]
    made = folder.parent / "runs" / "gender"
    for page in ("results.md", "report.html"):
        assert "people.csv also answers race" in (made / page).read_text()
    status, card, _ = cli("report", made, "--format", "card")
    assert status == 0 and line in card
    words = shlex.split(line.removeprefix("To ask it: t2ibench "))
    status, _, errors = cli(*words)
    assert status == 0, errors
    task = Path(words[words.index("--output") + 1])
    assert task.name == "gender_race.yaml"
    status, out, errors = cli(
        *("run", "--model", f"folder:{folder}", "--tasks", "gender_race"),
        *("--include-path", task.parent, *judge(folder, "people")),
        *("--output-dir", folder.parent / "runs", "--name", "both"),
    )
    assert status == 0, errors
    assert "race by people (12 of 12)" in " ".join(out.split())
    assert "also answers" not in out


@pytest.mark.parametrize("by", [True, False])
def test_a_sheet_without_an_answer_was_answered_by_nobody(
    by: bool, folder: Path, cli: Cli
) -> None:
    empty = "\n".join(["file,gender", *(f"{number}.png," for number in range(12))])
    (folder / "anna.csv").write_text(empty)
    name = ",by=anna" if by else ""
    run(cli, folder, "--judge", f"answers:{folder}/anna.csv{name}", "--allow-missing")
    made = folder.parent / "runs" / "by-files"
    said = "anna" if by else "answers:anna.csv"
    assert "nswered by" not in (made / "results.md").read_text()
    assert judges_said(task_of(made)) == f"Nobody answered: {said} gave no answer."
    status, out, _ = run(cli, folder, *judge(folder, "anna", "ben"), name="two")
    assert status == 0
    assert "Answered by ben; anna gave no answer" in " ".join(out.split()).replace(
        "who: answered", "who: Answered"
    )
