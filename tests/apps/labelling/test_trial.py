"""Judges are measured where the answers are known: drawn images, and people's labels."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from t2ibench.apps.labelling.trial import Known, labelled_questions, toyland_questions, try_judge
from t2ibench.cli import main
from t2ibench.errors import T2IBenchError
from t2ibench.models.judges import create_judges
from t2ibench.models.protocols import Answer, Query
from tests.models import tiny
from tests.models.chat import serving

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
        found.append(Known(query, name))
    return found


def test_numbers_are_those_worked_by_hand() -> None:
    """Of 12 images 0, 4 and 8 are misread: red and blue as blue, green as blue."""
    judge = Colours(wrong=4)
    trial = try_judge(judge, known(12))
    (question,) = trial.questions
    # 0 is red and read as blue; 4 is green and read as blue; 8 is blue and read as blue.
    assert (question.n, question.unanswered, question.accuracy) == (12, 0, pytest.approx(10 / 12))
    assert {one.truth: (one.n, one.right) for one in question.by_class} == {
        "red": (4, 3),
        "green": (4, 3),
        "blue": (4, 4),
    }
    assert question.by_class[0].answers == {"red": 3, "blue": 1}
    # F1 of red and green is 2 · 3 / (4 + 3), of blue 2 · 4 / (4 + 6).
    assert question.macro_f1 == pytest.approx((6 / 7 + 6 / 7 + 8 / 10) / 3)
    # Wilson's interval of 10 of 12, as Wilson 1927 has it.
    centre, z = 10 / 12, 1.959964
    middle = (centre + z**2 / 24) / (1 + z**2 / 12)
    half = z * (centre * (1 - centre) / 12 + z**2 / (4 * 144)) ** 0.5 / (1 + z**2 / 12)
    assert question.low == pytest.approx(middle - half, abs=1e-5)
    assert question.high == pytest.approx(middle + half, abs=1e-5)
    assert question.unknown == 0
    assert (trial.asked_again, trial.same_again) == (12, 12)
    assert judge.calls[:4] == [1, 4, 4, 3]


def test_unknown_is_counted_where_a_class_is_shown() -> None:
    (question,) = try_judge(Colours(wrong=3), known(12)).questions
    # 0 and 6 are red and read as blue, 3 and 9 are red and read as unknown.
    assert question.unknown == pytest.approx(2 / 12)
    assert question.by_class[0].answers == {"blue": 2, "unknown": 2}


class Forgetful(Colours):
    """Says something else when it is asked again, one by one."""

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        answers = super().answer(queries)
        return [Answer("red")] if len(self.calls) > 4 else answers


def test_a_judge_that_changes_its_mind_is_seen() -> None:
    trial = try_judge(Forgetful(), known(12))
    assert (trial.asked_again, trial.same_again) == (12, 4)


class Broken(Colours):
    """Raises, or forgets an answer, once it is asked several questions together."""

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        if len(queries) > 1 and self.fails:
            raise KeyError("colour")
        return super().answer(queries)[: max(1, len(queries) - 1)]


@pytest.mark.parametrize(
    ("fails", "message"),
    [(True, "The judge 'colours' failed with KeyError"), (False, "gave 3 answers to 4 questions")],
)
def test_a_judge_that_breaks_off_is_one_line(fails: bool, message: str) -> None:
    with pytest.raises(T2IBenchError, match=message):
        try_judge(Broken(fails=fails), known(12))


def test_the_reader_of_toyland_knows_toyland() -> None:
    (judge,) = create_judges(["toyland"])
    trial = try_judge(judge, toyland_questions(60, seed=3))
    assert trial.images == 60 and len(trial.questions) == 4
    assert all(question.accuracy == 1 for question in trial.questions)
    by_truth = {one.truth: one.n for one in trial.questions[0].by_class}
    assert by_truth["unknown"] == 30  # half of the images show no person
    first, again = toyland_questions(4), toyland_questions(4)
    assert [one.query.sha256 for one in first] == [one.query.sha256 for one in again]
    assert first[0].query.sha256 != toyland_questions(4, seed=1)[0].query.sha256


def sheet(folder: Path, rows: list[list[str]], head: str = "file,question,classes,answer") -> Path:
    for number, image in enumerate(tiny.images(2)):
        image.save(folder / f"{number}.png")
    path = folder / "sheet.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head.split(","), *rows])
    return path


def test_labels_of_ones_own(tmp_path: Path) -> None:
    path = sheet(
        tmp_path,
        [
            ["0.png", "Who?", "man | woman", "Man"],
            ["1.png", "Who?", "man|woman|unknown", "unknown"],
            ["1.png", "Where?", "in | out", ""],
        ],
    )
    found = labelled_questions(path)
    assert sorted((one.query.question, one.query.classes, one.truth) for one in found) == [
        ("Who?", ("man", "woman"), "man"),
        ("Who?", ("man", "woman"), "unknown"),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["0.png", "Who?", "man | woman", "wman"], "sheet.csv:2: 'wman' is no answer .* 'woman'"),
        (["9.png", "Who?", "man | woman", "man"], "sheet.csv:2: .*9.png cannot be shown"),
        (["0.png", "Who?", "man", "man"], "two or more classes"),
        (["0.png", "Who?", "man | woman", ""], "holds no answer"),
    ],
)
def test_wrong_labels_are_one_line(
    tmp_path: Path, row: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    assert main(["check", "judge", "toyland", "--labels", str(sheet(tmp_path, [row]))]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_a_sheet_without_its_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sheet(tmp_path, [["0.png", "Who?", "man"]], "file,question,answer")
    assert main(["check", "judge", "toyland", "--labels", str(path)]) == 1
    assert "has no column 'classes'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def speak(body: dict[str, Any]) -> tuple[int, Any]:
        return 200, "female" if "gender" in str(body["messages"]) else "I cannot tell."

    with serving(speak) as (url, _):
        words = ["check", "judge", "openai:eye", "--images", "8", "--judge-args", f"base_url={url}"]
        assert main(words) == 0
        text = capsys.readouterr().out
        assert main([*words, "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
    assert max(map(len, text.splitlines())) <= 80
    assert "'unknown' where a class is shown: 1.00" in text
    gender, age, *_ = record["questions"]
    women = next(one for one in gender["by_class"] if one["truth"] == "female")
    assert women["right"] == women["n"] and gender["unknown"] == 0
    assert age["accuracy"] == pytest.approx(0.5)  # of the eight, four show nobody
    assert record["asked_again"] == record["same_again"] == 32


@pytest.mark.slow
def test_a_judge_that_answers_nothing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lambda _: (400, {"error": {"message": "no images here"}})) as (url, _):
        status = main(["check", "judge", "openai:eye", "--judge-args", f"base_url={url}"])
    assert status == 1
    assert "It answered nothing: the server replied 400: no images" in capsys.readouterr().err
