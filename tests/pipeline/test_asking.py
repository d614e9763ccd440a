"""Asking judges: nothing that was answered is lost, and nothing that was answered is paid twice."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.models.chat_server import ChatServer
from t2ibench.models.judges.answer_classes import words_of_no_class
from t2ibench.models.judges.openai import OpenAiArguments, OpenAiJudge
from t2ibench.models.judges.replies import class_of
from t2ibench.models.protocols import Answer, Query
from t2ibench.pipeline.work_items import Question
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, StoredImage
from tests import hand
from tests.models.chat import serving
from tests.pipeline.storing import ask, open_judge

CLASSES = ("red", "green")


def images(folder: Path, count: int) -> list[StoredImage]:
    store = ImageStore(Database(folder), "0" * 64)
    for number in range(count):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8), (number + 1, 0, 0)).save(buffer, format="PNG")
        store.record(
            [
                store.add_image(
                    ImageKey.of(f"a picture {number}", 0), 7, buffer.getvalue(), ".png"
                )
            ]
        )
    return [store.image(attempt) for attempt in store.attempts()]


def asked_of(
    pictures: Sequence[StoredImage], each: int
) -> list[tuple[StoredImage, list[Question]]]:
    return [
        (picture, [(f"Question {n * each + m}?", CLASSES) for m in range(each)])
        for n, picture in enumerate(pictures)
    ]


def rows(folder: Path) -> list[dict[str, Any]]:
    return hand.stored(folder, "answers") if (folder / "run.db").exists() else []


class Parts:
    """A judge that gives its answers one by one, until something happens."""

    name, fingerprint, batch_size = "parts", "4" * 64, 8

    def __init__(self, happens: Callable[[int], object]) -> None:
        self.happens = happens
        self.closed = False

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        raise AssertionError("answers are asked for in parts")

    def answer_in_parts(
        self, queries: Sequence[Query]
    ) -> Iterator[list[tuple[int, Answer]]]:
        try:
            for number in reversed(range(len(queries))):
                found: Any = self.happens(number)
                yield [(number, Answer("red"))] if found is None else found
        finally:
            self.closed = True


def at_four(found: Any) -> Parts:
    """A judge that gives or raises something in place of its fourth answer."""

    def happens(number: int) -> Any:
        if number == 4 and isinstance(found, BaseException):
            raise found
        return found if number == 4 else None

    return Parts(happens)


@pytest.mark.parametrize(
    ("found", "stopped"),
    [
        (RuntimeError("a defect"), "it failed with RuntimeError: a defect"),
        (T2IBenchError("The server is away."), "The server is away."),
        ([], "it gave 7 answers to 8 questions."),
        ([(99, Answer("red"))], "7 answers to 8"),
        ([(5, Answer("green"))], "7 answers to 8"),
        ("text", "it failed with ValueError"),
        # One thing that is no answer costs one answer.
        ([(4, "no Answer")], ""),
        ([(4, Answer(3))], ""),  # type: ignore[arg-type]
        ([(4, Answer("red", None))], ""),  # type: ignore[arg-type]
    ],
)
def test_a_failing_question_does_not_affect_other_answers(
    found: Any, stopped: str, tmp_path: Path
) -> None:
    judge = at_four(found)
    report = ask(
        asked_of(images(tmp_path, 1), 8), open_judge(judge, Database(tmp_path))
    )
    assert bool(report.stopped) == bool(stopped) and stopped in str(report.stopped)
    kept = {row["question"]: row["answer"] for row in rows(tmp_path)}
    assert len(kept) == report.answered >= 3 and set(kept.values()) == {"red"}
    assert judge.closed and (
        bool(stopped) or (report.answered, report.failed) == (7, 1)
    )


def test_an_interruption_and_a_full_disk_end_the_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = asked_of(images(tmp_path, 1), 8)
    judge = at_four(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ask(questions, open_judge(judge, Database(tmp_path)))
    assert judge.closed and len(rows(tmp_path)) == 3
    full = Parts(lambda _: None)
    run = open_judge(full, Database(tmp_path))
    full_disk = Mock(side_effect=T2IBenchError("The disk is full."))
    monkeypatch.setattr(run.store, "add", full_disk)
    with pytest.raises(T2IBenchError, match="The disk is full"):
        ask(questions, run)
    assert full.closed


def test_a_judge_that_answers_nothing_is_not_asked_for_ever(tmp_path: Path) -> None:
    judge = Parts(lambda n: [(n, Answer(None, reason="no"))])
    report = ask(
        asked_of(images(tmp_path, 2), 50), open_judge(judge, Database(tmp_path))
    )
    assert report.stopped == "24 questions in a row failed."
    assert (report.reasons, report.answered) == ({"no": 24}, 0)


@pytest.mark.parametrize(
    "text", ["a \ud800 man\x1b[2J\x00", "\udc00", "caf\u00e9 \u200d\U0001f373"]
)
def test_free_text_is_stored_verbatim_and_shown_escaped(
    text: str, tmp_path: Path
) -> None:
    (picture,) = images(tmp_path, 1)
    run = open_judge(Parts(lambda n: [(n, Answer(text, text))]), Database(tmp_path))
    assert ask([(picture, [("What is it?", ())])], run).answered == 1
    again = open_judge(run.model, Database(tmp_path)).store
    stored = again.get(picture.sha256, "What is it?", ())
    assert stored.raw == text
    stored.answer.encode()  # UTF-8
    assert not set(stored.answer) & set("\x00\x1b")
    assert "\ud800" in text or "\udc00" in text or stored.answer == text


def test_each_answer_of_a_server_is_on_disk_while_others_wait(tmp_path: Path) -> None:
    """So a kill costs the answers that are under way, and nothing that was paid for."""
    questions, asked = asked_of(images(tmp_path, 1), 18), itertools.count()
    waited: list[int] = []

    def answers(_: dict[str, Any]) -> tuple[int, Any]:
        if next(asked) >= 11:
            end = time.monotonic() + 60
            while len(rows(tmp_path)) < 11 and time.monotonic() < end:
                time.sleep(0.01)
            waited.append(len(rows(tmp_path)))
        return 200, "red"

    with serving(answers) as (url, _):
        args = OpenAiArguments.model_construct(
            base_url=url, api_key_env="MY_KEY", workers=4
        )
        judge = OpenAiJudge("openai:eye", ChatServer("eye", args), args)
        assert ask(questions, open_judge(judge, Database(tmp_path))).answered == 18
    assert len(waited) == 7 and min(waited) >= 11


@pytest.mark.parametrize("word", ["Red", " red ", "RED", "Green\n"])
def test_case_and_spaces_make_no_other_class(word: str, tmp_path: Path) -> None:
    questions = asked_of(images(tmp_path, 1), 3)
    judge = open_judge(Parts(lambda n: [(n, Answer(word, word))]), Database(tmp_path))
    assert ask(questions, judge).answered == 3
    assert {row["answer"] for row in rows(tmp_path)} == {word.strip().lower()}


def test_a_word_that_is_no_class_is_shown_and_asked_for_again(tmp_path: Path) -> None:
    questions = asked_of(images(tmp_path, 1), 8)
    foreign = Parts(lambda n: [(n, Answer("Rouge", "Rouge"))])
    report = ask(questions, open_judge(foreign, Database(tmp_path)))
    assert report.reasons == {"it answered 'Rouge'; classes are red, green": 8}
    assert rows(tmp_path) == []
    assert (
        ask(questions, open_judge(Parts(lambda _: None), Database(tmp_path))).answered
        == 8
    )


def test_words_that_were_taken_for_unknown_are_shown(tmp_path: Path) -> None:
    """By a judge that reads its classes from words, as those on servers do."""

    def happens(number: int) -> list[tuple[int, Answer]]:
        reply = ("unknown", "Rouge.", "red or green", "Rouge.")[number % 4]
        classes = ("red", "green")
        reason = words_of_no_class(reply, classes)
        return [(number, Answer(class_of(reply, classes), reply, reason))]

    report = ask(
        asked_of(images(tmp_path, 1), 8), open_judge(Parts(happens), Database(tmp_path))
    )
    assert report.answered == 8
    assert report.unread == {"it answered 'Rouge.'; classes are red, green": 4}


def test_a_judges_measurements_are_not_words_of_no_class(tmp_path: Path) -> None:
    """Such as the faces that face-gender found, which it keeps as JSON."""
    judge = Parts(lambda number: [(number, Answer("unknown", "[]"))])
    assert (
        ask(
            asked_of(images(tmp_path, 1), 8), open_judge(judge, Database(tmp_path))
        ).unread
        == {}
    )
