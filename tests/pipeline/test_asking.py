"""Asking judges: nothing that was answered is lost, and nothing that was answered is paid twice."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.models.chat_server import ChatServer
from t2ibench.models.judges.openai import OpenAiArguments, OpenAiJudge
from t2ibench.models.protocols import Answer, Query
from t2ibench.pipeline.observers import JudgeRun, Question, open_judge
from t2ibench.pipeline.work import ask
from t2ibench.store.answers import StoredAnswer
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, StoredImage, image_seed
from tests import hand
from tests.models.chat import (
    posted_text,
    serving,
    without_waiting,
)

Cli = Callable[..., tuple[int, str, str]]
KEY = "sk-live-0123456789abcdef"
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


def judge_on(url: str, folder: Path, **more: Any) -> JudgeRun:
    args = OpenAiArguments.model_construct(base_url=url, api_key_env="MY_KEY", **more)
    return open_judge(OpenAiJudge("openai:eye", ChatServer("eye", args), args), Database(folder))


def rows(folder: Path) -> list[dict[str, Any]]:
    return hand.stored(folder, "answers") if (folder / "run.db").exists() else []


def test_some_of_a_batch_fail_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)

    def some(body: dict[str, Any]) -> tuple[int, Any]:
        number = int(posted_text(body).split("?")[0].split()[1])
        return [(200, "red"), (400, "no"), (503, "no"), (200, ["no chat"])][number % 4]

    with serving(some) as (url, _):
        report = ask(asked_of(images(tmp_path, 2), 8), judge_on(url, tmp_path, retries=2))
    assert report.answered == 4 == len(rows(tmp_path)) and report.failed == 12
    assert report.stopped is None and report.streak <= 12


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


@pytest.mark.parametrize(
    "said",
    [
        (200, {"choices": []}),
        (200, "red"),
        (400, {"error": "no"}),
    ],
)
def test_a_server_that_talks_nonsense_is_not_asked_for_ever(
    said: tuple[int, Any], tmp_path: Path
) -> None:
    with serving(lambda _: said) as (url, heard):
        report = ask(asked_of(images(tmp_path, 2), 50), judge_on(url, tmp_path, workers=2))
    if said[1] == "red":
        assert report.stopped is None and len(heard) == 100
    else:
        assert report.stopped == "24 questions in a row failed."
        # A question that is declined is put in plainer words, twice.
        assert len(heard) == (72 if said[0] == 400 else 24)


@pytest.mark.parametrize(
    "text", ["a \ud800 man\x1b[2J\x00", "\udc00", "caf\u00e9 \u200d\U0001f373"]
)
def test_free_text_is_kept_word_for_word_and_shown_harmlessly(text: str, tmp_path: Path) -> None:
    (picture,) = images(tmp_path, 1)
    with serving(lambda _: (200, text)) as (url, _):
        run = judge_on(url, tmp_path)
        assert ask([(picture, [("What is it?", ())])], run).answered == 1
    again = judge_on(url, tmp_path).store.get(picture.sha256, "What is it?", ())
    assert again is not None and again.raw == text
    again.answer.encode()  # UTF-8
    assert not set(again.answer) & set("\x00\x1b")
    assert "\ud800" in text or "\udc00" in text or again.answer == text


TASK = """
id: hand
version: 1
method: openbias
title: t
description: d
citation: c
images_per_prompt: 6
biases:
  - {name: gender, about: person, classes: [male, female], question: Which?,
     captions: [A nurse., A carpenter., A person.]}
"""


def test_answers_survive_a_kill(tmp_path: Path, cli: Cli) -> None:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "hand.yaml").write_text(TASK)
    lock, stuck, go = threading.Lock(), threading.Event(), threading.Event()
    given: list[str] = []
    alive = 11

    def answers(body: dict[str, Any]) -> tuple[int, Any]:
        (part,) = [one for one in body["messages"][-1]["content"] if one["type"] == "image_url"]
        with lock:
            number = len(given)
            given.append(part["image_url"]["url"])
        if number >= alive and not go.is_set():
            stuck.set()
            go.wait(60)
            return 503, "gone"
        return 200, "male" if number % 3 else "female"

    with serving(answers) as (url, _):
        words = [
            *("run", "--model", "toyland", "--tasks", "hand", "--include-path", str(tasks)),
            *("--output-dir", str(tmp_path / "runs"), "--permutations", "2000"),
            *("--bootstrap", "500", "--judge", "openai:eye"),
            *("--judge-args", f"base_url={url},workers=4"),
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "t2ibench", *words],
            env={**os.environ, "OPENAI_API_KEY": KEY},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert stuck.wait(120)
            # Answers are written between requests: four wait, so eleven are on disk soon.
            for _ in range(2000):
                if sum(1 for _ in _lines(tmp_path)) >= alive:
                    break
                threading.Event().wait(0.01)
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        paid = given[:alive]
        go.set()
        with lock:
            del given[:]
            alive = 1000
        status, _, errors = cli(*words)
    assert status == 0, errors
    assert len(given) == 18 - 11 and not set(paid) & set(given)
    results = json.loads((tmp_path / "runs/toyland/results.json").read_text())
    assert results["tasks"]["hand"]["n_images"] == 18


def _lines(folder: Path) -> Iterator[str]:
    yield from (str(row) for row in hand.stored(folder / "runs" / "toyland", "answers"))
