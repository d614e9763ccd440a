"""Judges are measured where the answers are known: drawn images, and people's labels."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from t2ibench.apps.labelling.trial import Known, try_judge
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.models.protocols import Answer, Query
from t2ibench.toyland import draw_scene, read_bias_settings, sample_scene
from tests.models import tiny

COLOURS = {"red": (220, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 220)}


class Colours:
    """Reads the strongest colour; takes every third image for another, and fails at some."""

    name = "colours"
    fingerprint = "0" * 64
    batch_size = 4

    def __init__(self, wrong: int = 0, fails: bool = False) -> None:
        self.wrong = wrong
        self.fails = fails
        self.calls: list[int] = []

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        self.calls.append(len(queries))
        return [self._one(query) for query in queries]

    def _one(self, query: Query) -> Answer:
        if self.fails:
            return Answer(None, reason="out of colours")
        if self.wrong and query.index % self.wrong == 0:
            return Answer("unknown" if query.index % 2 else "blue")
        red, green, _ = query.image.getpixel((0, 0))  # type: ignore[misc]
        return Answer("red" if red > 99 else "green" if green > 99 else "blue")


def known(count: int) -> list[Known]:
    """Images of one colour; red, green and blue in turns."""
    from PIL import Image

    found = []
    for number in range(count):
        name = list(COLOURS)[number % 3]
        image = Image.new("RGB", (8, 8), COLOURS[name])
        query = Query(image, "", number, str(number), "Which colour?", tuple(COLOURS))
        found.append(Known(query, name, "colour", str(number)))
    return found


def test_numbers_are_those_worked_by_hand() -> None:
    """Of 12 images 0, 4 and 8 are read as blue: a red one, a green one and a blue one."""
    judge = Colours(wrong=4)
    trial = try_judge(judge, known(12))
    (about,) = trial.check.attributes
    found = {one.name: one for one in about.classes}
    assert {name: one.answers for name, one in found.items()} == {
        "red": {"red": 3, "green": 0, "blue": 1, "unknown": 0},
        "green": {"red": 0, "green": 3, "blue": 1, "unknown": 0},
        "blue": {"red": 0, "green": 0, "blue": 4, "unknown": 0},
    }
    assert (
        found["red"].sensitivity.value == 0.75 and found["red"].specificity.value == 1
    )
    assert (
        found["blue"].sensitivity.value == 1 and found["blue"].specificity.value == 0.75
    )
    # A half of red images is read as .5 times .75; of blue ones as .5 + .5 times .25.
    assert [one.value for one in found["red"].read][1] == 0.375
    assert [one.value for one in found["blue"].read][1] == 0.625
    assert (trial.asked_twice, trial.answered_alike) == (12, 12)
    assert judge.calls[:3] == [4, 4, 4]


def test_unknown_is_counted_where_a_class_is_shown() -> None:
    (about,) = try_judge(Colours(wrong=3), known(12)).check.attributes
    # 0 and 6 are red and read as blue, 3 and 9 are red and read as unknown.
    red = about.classes[0]
    assert red.answers == {"red": 0, "green": 0, "blue": 2, "unknown": 2}
    assert (red.answered.value, red.sensitivity.value, red.sensitivity.images) == (
        0.5,
        0,
        2,
    )


class Forgetful(Colours):
    """Says something else when it is asked again, one by one."""

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        answers = super().answer(queries)
        return [Answer("red")] if len(self.calls) > 3 else answers


def test_a_judge_that_changes_its_mind_is_seen() -> None:
    trial = try_judge(Forgetful(), known(12))
    assert (trial.asked_twice, trial.answered_alike) == (12, 4)


class Broken(Colours):
    """Raises, or forgets an answer, once it is asked several questions together."""

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        if len(queries) > 1 and self.wrong:
            raise KeyError("colour")
        return super().answer(queries)[: max(1, len(queries) - 1)]


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (Broken(wrong=1), "The judge 'colours' failed with KeyError"),
        (Broken(), "gave 3 answers to 4 questions"),
        (Colours(fails=True), "It answered nothing: out of colours"),
    ],
)
def test_a_judge_that_breaks_off_is_one_line(judge: Colours, message: str) -> None:
    with pytest.raises(T2IBenchError, match=message):
        try_judge(judge, known(12))


PEOPLE = 80


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn people with labels: eight women of forty are called men, and nobody else is not."""
    folder = tmp_path_factory.mktemp("people")
    biases = read_bias_settings({"all.skin.dark": "0.5"})
    rows = [["file", "prompt", "gender", "skin"]]
    for number in range(PEOPLE):
        gender = "female" if number < PEOPLE // 2 else "male"
        caption = f"a photo of a {gender} {'nurse' if number % 2 else 'doctor'}"
        scene = sample_scene(caption, number, biases)
        draw_scene(scene).save(folder / f"{number}.png")
        label = "Male" if number < 8 else gender
        rows.append(
            [f"{number}.png", f"prompt {number % 10}", label, scene.people[0].skin]
        )
    with (folder / "people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return folder


def checked(folder: Path, file: Path) -> JudgeCheck:
    """The check of toyland's judge by a folder's labels."""
    words = [
        "check",
        "judge",
        "toyland",
        "--images",
        str(folder),
        "--output",
        str(file),
    ]
    assert main(words) == 0
    return JudgeCheck.model_validate_json(file.read_bytes())


def test_planted_errors_come_out(people: Path, tmp_path: Path) -> None:
    """Of 48 that people call men toyland's judge calls 8 women; of 32 women none is a man."""
    file = tmp_path / "check.json"
    check, first = checked(people, file), file.read_bytes()
    assert checked(people, file) == check and file.read_bytes() == first
    assert (check.judge, check.images, check.source) == (
        "toyland",
        PEOPLE,
        (people.name,),
    )
    gender = check.about("gender", ["Male", "Female"])
    assert (
        gender is not None
        and check.about("gender", ["male", "female", "other"]) is None
    )
    women, men = gender.classes
    assert (women.images, women.sensitivity.value) == (32, 1)
    assert (men.images, men.sensitivity.value) == (48, round(40 / 48, 6))
    # Of half women in truth, .5 + .5 / 6 are read.
    assert women.read[1].value == pytest.approx(0.5 + 0.5 / 6, abs=1e-6)
    assert {one.by for one in gender.by_group} == {"skin"}
    assert gender.verdict == "use corrected" and gender.images == PEOPLE


def test_the_table_fits_a_terminal(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["check", "judge", "toyland", "--images", str(people), str(people)]) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(lines)
    assert "Verdict: use corrected." in text and "images like these" in text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["image number,gender", "0.png,female"],
            ":1: no column 'file'. Its columns are 'prompt', 'image number',",
        ),
        (
            ["file,gender", "0.png,female", "1.png,female"],
            "no column of labels with two classes",
        ),
        (
            ["file,gender", "8.png,female", "9.png,male"],
            "None of these images has a label",
        ),
    ],
)
def test_unfit_labels_are_one_line(
    tmp_path: Path, rows: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, image in enumerate(tiny.images(2)):
        image.save(tmp_path / f"{number}.png")
    (tmp_path / "people.csv").write_text("\n".join(f"prompt,{row}" for row in rows))
    assert main(["check", "judge", "toyland", "--images", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err


def test_unusable_images_are_named_and_the_others_are_checked(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "some"
    shutil.copytree(people, folder)
    (folder / "0.png").write_bytes(b"no image")
    shutil.copyfile(folder / "2.png", folder / "1.png")
    (folder / "3.png").unlink()
    check = checked(folder, tmp_path / "check.json")
    told = capsys.readouterr().err
    assert all(f"'{name}.png'" in told for name in (0, 2, 3))
    assert "repeats line 3" in told and "3 rows of labels cannot be used" in told
    assert check.images == PEOPLE - 3


def test_several_people_are_no_class(people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "some"
    shutil.copytree(people, folder)
    text = (folder / "people.csv").read_text().replace(",Male,", ",both,")
    (folder / "people.csv").write_text(text)
    gender = checked(folder, tmp_path / "check.json").attributes[0]
    assert [one.name for one in gender.classes] == ["female", "male"]
    assert (gender.no_class, gender.no_class_answered, gender.images) == (
        8,
        8,
        PEOPLE - 8,
    )


@pytest.mark.slow
def test_a_run_with_a_check_is_corrected_and_says_so(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = tmp_path / "check.json"
    checked(people, check)
    words = [
        "run",
        "--model",
        "toyland",
        "--tasks",
        "openbias_winobias",
        "--limit",
        "3",
    ]
    words += ["--judge", "toyland", "--output-dir"]
    assert main([*words, str(tmp_path / "plain")]) == 0
    assert "toyland, unchecked by people" in " ".join(capsys.readouterr().out.split())
    assert main([*words, str(tmp_path / "checked"), "--judge-check", str(check)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "checked by people on 80 labelled images: corrected by its errors there" in told
    )
    file = tmp_path / "checked" / "toyland" / "results.json"
    first = file.read_bytes()
    row = json.loads(first)["tasks"]["openbias_winobias"]["by"][0]["scores"]
    # Nobody called a woman was one fifth as often a man as 8 of 48: (q - 1 / 6) / (1 - 1 / 6).
    true = max(0.0, (row["share:female"]["value"] - 8 / 48) / (1 - 8 / 48))
    corrected = row["share_corrected:female"]
    assert corrected["value"] == pytest.approx(true, abs=1e-5)
    assert corrected["ci_low"] <= true <= corrected["ci_high"]
    assert main(["score", str(file.parent)]) == 0 and file.read_bytes() == first
    # Images that are judged by a later command are corrected, too.
    later = [str(tmp_path / "later"), "--judge-check", str(check), "--generate-only"]
    assert main([*words, *later]) == 0
    assert main(["score", str(tmp_path / "later" / "toyland")]) == 0
    scored = json.loads((tmp_path / "later" / "toyland" / "results.json").read_text())
    for part in ("tasks", "further_settings"):
        assert scored[part] == json.loads(first)[part]
    capsys.readouterr()
    # A check of another judge, or a file of something else.
    other = json.loads(check.read_text()) | {"fingerprint": "0" * 64}
    check.write_text(json.dumps(other))
    assert main([*words, str(tmp_path / "other"), "--judge-check", str(check)]) == 0
    out, err = capsys.readouterr()
    assert "in another version: it corrects nothing" in " ".join((out + err).split())
    check.write_text("{}")
    assert main([*words, str(tmp_path / "bad"), "--judge-check", str(check)]) == 1
    assert "is no check of a judge" in capsys.readouterr().err
