"""Asking judges: nothing that was answered is lost, and nothing that was answered is paid twice."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.models.chat_server import ChatServer
from t2ibench.models.judges.openai import OpenAiArguments, OpenAiJudge
from t2ibench.models.protocols import Answer, Query
from t2ibench.pipeline.observers import Question, open_judge
from t2ibench.pipeline.work import ask
from t2ibench.store.answers import StoredAnswer
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, StoredImage, image_seed
from tests import hand
from tests.models.chat import (
    serving,
)

CLASSES = ("red", "green")


def images(folder: Path, count: int) -> list[StoredImage]:
    store = ImageStore(Database(folder), "0" * 64)
    for number in range(count):
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8), (number + 1, 0, 0)).save(buffer, format="PNG")
        prompt = f"a picture {number}"
        store.record(
            [store.add_image(prompt, 0, image_seed(0, prompt, 0), buffer.getvalue(), ".png")]
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

    def answer_in_parts(self, queries: Sequence[Query]) -> Iterator[list[tuple[int, Answer]]]:
        try:
            for number in reversed(range(len(queries))):
                found: Any = self.happens(number)
                yield [(number, Answer("red"))] if found is None else found
        finally:
            self.closed = True


def fails(error: BaseException) -> Callable[[int], object]:
    def happens(number: int) -> None:
        if number == 4:
            raise error

    return happens


@pytest.mark.parametrize(
    ("happens", "stopped"),
    [
        (fails(RuntimeError("a defect")), "it failed with RuntimeError: a defect"),
        (fails(T2IBenchError("The server is away.")), "The server is away."),
        (lambda n: [] if n == 4 else None, "it gave 7 answers to 8 questions."),
        (lambda n: [(99, Answer("red"))] if n == 4 else None, "7 answers to 8"),
        (lambda n: [(5, Answer("green"))] if n == 4 else None, "7 answers to 8"),
        (lambda n: "text" if n == 4 else None, "it failed with ValueError"),
    ],
)
def test_answers_given_before_a_judge_fails_are_kept(
    happens: Callable[[int], object], stopped: str, tmp_path: Path
) -> None:
    judge = Parts(happens)
    report = ask(asked_of(images(tmp_path, 1), 8), open_judge(judge, Database(tmp_path)))
    assert stopped in (report.stopped or "") and judge.closed
    kept = {row["question"]: row["answer"] for row in rows(tmp_path)}
    assert len(kept) == report.answered >= 3 and set(kept.values()) == {"red"}


@pytest.mark.parametrize("bad", ["no Answer", Answer(3), Answer("red", None)])  # type: ignore[arg-type]
def test_one_thing_that_is_no_answer_costs_one_answer(bad: Any, tmp_path: Path) -> None:
    judge = Parts(lambda n: [(n, bad)] if n == 4 else None)
    report = ask(asked_of(images(tmp_path, 1), 8), open_judge(judge, Database(tmp_path)))
    assert (report.answered, report.failed, report.stopped) == (7, 1, None)
    assert len(rows(tmp_path)) == 7


def test_an_interruption_and_a_full_disk_end_the_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = asked_of(images(tmp_path, 1), 8)
    judge = Parts(fails(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        ask(questions, open_judge(judge, Database(tmp_path)))
    assert judge.closed and len(rows(tmp_path)) == 3
    full = Parts(lambda _: None)
    run = open_judge(full, Database(tmp_path))

    def add(answers: Sequence[StoredAnswer]) -> None:
        raise T2IBenchError("The disk is full.")

    monkeypatch.setattr(run.store, "add", add)
    with pytest.raises(T2IBenchError, match="The disk is full"):
        ask(questions, run)
    assert full.closed


def test_a_judge_that_answers_nothing_is_not_asked_for_ever(tmp_path: Path) -> None:
    judge = Parts(lambda n: [(n, Answer(None, reason="no"))])
    report = ask(asked_of(images(tmp_path, 2), 50), open_judge(judge, Database(tmp_path)))
    assert report.stopped == "24 questions in a row failed."
    assert (report.reasons, report.answered) == ({"no": 24}, 0)


@pytest.mark.parametrize(
    "text", ["a \ud800 man\x1b[2J\x00", "\udc00", "caf\u00e9 \u200d\U0001f373"]
)
def test_free_text_is_kept_word_for_word_and_shown_harmlessly(text: str, tmp_path: Path) -> None:
    (picture,) = images(tmp_path, 1)
    run = open_judge(Parts(lambda n: [(n, Answer(text, text))]), Database(tmp_path))
    assert ask([(picture, [("What is it?", ())])], run).answered == 1
    again = open_judge(run.judge, Database(tmp_path)).store
    stored = again.get(picture.sha256, "What is it?", ())
    assert stored is not None and stored.raw == text
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
        args = OpenAiArguments.model_construct(base_url=url, api_key_env="MY_KEY", workers=4)
        judge = OpenAiJudge("openai:eye", ChatServer("eye", args), args)
        assert ask(questions, open_judge(judge, Database(tmp_path))).answered == 18
    assert len(waited) == 7 and min(waited) >= 11
