"""Images that wait are encoded: few are decoded at a time, however many a batch has."""

from __future__ import annotations

import copy
import gc
import hashlib
import math
import multiprocessing
import pickle
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from PIL import Image

from t2ibench.identity import ImageKey
from t2ibench.models.generators.image_replies import checked_file
from t2ibench.models.judges import openai
from t2ibench.models.protocols import (
    Answer,
    GeneratedImage,
    ImageRequest,
    Query,
    QueryOfFile,
)
from t2ibench.pipeline import generation
from t2ibench.pipeline.executors.pool import Message, WorkerDeath
from t2ibench.pipeline.executors.processes import Processes
from t2ibench.pipeline.generation import generated, image_file
from t2ibench.pipeline.judging import answered
from t2ibench.pipeline.work_items import AskReport
from t2ibench.pipeline.worker import WorkerSpec
from t2ibench.settings import RunSettings
from t2ibench.store import decoded_images
from t2ibench.store.decoded_images import DecodedImages
from t2ibench.store.images import StoredImage
from t2ibench.store.pixels import as_png

SIDE = 32


def drawn(number: int) -> Image.Image:
    return Image.new("RGB", (SIDE, SIDE), (number + 1, 7, 9))


def stored(folder: Path, number: int) -> StoredImage:
    data = as_png(drawn(number))
    path = folder / f"{number}.png"
    path.write_bytes(data)
    key = ImageKey.of("a dog", number, None)
    return StoredImage(str(path), hashlib.sha256(data).hexdigest(), key)


class Decoded:
    """The decoded images that somebody still holds."""

    def __init__(self) -> None:
        self._images: list[weakref.ref[Image.Image]] = []

    def add(self, image: Image.Image) -> Image.Image:
        self._images.append(weakref.ref(image))
        return image

    def exceed(self, most: int) -> bool:
        """Whether more are held; garbage is collected only where it may be what holds them."""
        if self._count() > most:
            gc.collect()
        return self._count() > most

    def _count(self) -> int:
        return sum(image() is not None for image in self._images)


class Batches:
    """Draws batches, and waits for those before to be let go, which takes a moment."""

    name, fingerprint, settings, revision, batch_size = "g", "0" * 64, {}, None, 8

    def __init__(self, most: int) -> None:
        self._most = most
        self._decoded = Decoded()
        self.n_calls = 0

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        end = time.monotonic() + 30
        while self._decoded.exceed(self._most):
            assert time.monotonic() < end, "images of earlier batches are held"
            time.sleep(0.01)
        self.n_calls += 1
        images = [self._decoded.add(drawn(request.index)) for request in requests]
        return [GeneratedImage("ok", image) for image in images]

    def available(self, prompt: str) -> int | None:
        return None


def test_the_next_batch_is_generated_when_few_images_wait_to_be_encoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generation, "_MOST_DECODED", 2 * SIDE**2)
    waits: list[Any] = []
    encode = generation._encoded

    def slowly(request: ImageRequest, outcome: GeneratedImage) -> Any:
        # The last ones are encoded only after another batch was generated.
        if request.index in {6, 7}:
            while generator.n_calls < 2:
                time.sleep(0.01)
        waits.append(request.index)
        return encode(request, outcome)

    monkeypatch.setattr(generation, "_encoded", slowly)
    generator = Batches(most=2)
    requests = [ImageRequest("a dog", number, number) for number in range(24)]
    files = [file for part in generated(requests, generator) for file in part]
    assert [file.request for file in files] == requests
    assert generator.n_calls == 3 and sorted(waits) == list(range(24))
    alone = [image_file(r, GeneratedImage("ok", drawn(r.index))) for r in requests]
    assert [file.data for file in files] == [file.data for file in alone]


def test_an_image_of_a_server_waits_encoded_and_is_stored_as_if_decoded() -> None:
    data = as_png(drawn(3))
    outcome = checked_file(data)
    assert outcome.image is None and outcome.data == data
    decoded = outcome.decoded()
    assert decoded.image is not None and decoded.data is None
    request = ImageRequest("a dog", 0, 0)
    file = image_file(request, outcome)
    assert file.status == "ok" and file.data == image_file(request, decoded).data
    damaged = image_file(request, replace(outcome, data=data[:60]))
    assert damaged.status == "failed" and "cannot be read" in damaged.reason


class Judge:
    """Looks at each image once, and counts those that are decoded meanwhile."""

    name, fingerprint, batch_size = "j", "0" * 64, 12

    def __init__(self, look: Callable[[Image.Image], int]) -> None:
        self._look = look
        self.seen: list[int] = []

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        for query in queries:
            self.seen.append(self._look(query.image))
        return [Answer("a", query.sha256) for query in queries]


class JudgeInParts(Judge):
    """Gives each answer as it has it."""

    def answer_in_parts(
        self, queries: Sequence[Query]
    ) -> Iterator[list[tuple[int, Answer]]]:
        for number, query in enumerate(queries):
            (answer,) = self.answer([query])
            yield [(number, answer)]


def test_queries_wait_with_their_images_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [stored(tmp_path, number) for number in range(6)]
    questions = [("Which?", ("a", "b")), ("What?", ("a", "c"))]
    asked = [(image, questions) for image in images]
    decoded = Decoded()
    n_read: list[int] = []
    read = StoredImage.read

    def counted(self: StoredImage) -> Image.Image:
        n_read.append(self.index)
        return decoded.add(read(self))

    monkeypatch.setattr(StoredImage, "read", counted)
    colours = [number + 1 for number in range(6) for _ in questions]

    def look(image: Image.Image) -> int:
        assert not decoded.exceed(2)
        colour: tuple[int, ...] = image.getpixel((0, 0))  # type: ignore[assignment]
        return colour[0]

    monkeypatch.setattr(DecodedImages.__init__, "__defaults__", (2 * SIDE**2,))
    judge = Judge(look)
    answers = [one for report in answered(asked, judge) for one in report.answers]
    assert judge.seen == colours and len(answers) == 12
    # Two of the six were let go last; nothing is decoded a third time.
    assert sorted(n_read) == sorted([*range(6), *range(6)])

    # Small images stay decoded.
    n_read.clear()
    monkeypatch.setattr(
        DecodedImages.__init__, "__defaults__", (decoded_images.MOST_PIXELS,)
    )
    list(answered(asked, Judge(lambda _: 0)))
    assert n_read == list(range(6))


@pytest.mark.parametrize("in_parts", [False, True])
def test_an_image_that_changes_while_it_waits_costs_its_own_answers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_parts: bool
) -> None:
    images = [stored(tmp_path, number) for number in range(4)]
    asked = [(image, [("Which?", ("a", "b")), ("What?", ())]) for image in images]
    monkeypatch.setattr(DecodedImages.__init__, "__defaults__", (SIDE**2,))

    def change(image: Image.Image) -> int:
        images[2].path.write_bytes(as_png(drawn(9)))
        return 0

    judge = (JudgeInParts if in_parts else Judge)(change)
    reports = list(answered(asked, judge))
    lost = [str(file) for report in reports for file in report.damaged]
    assert lost == [
        f"{images[2].path} cannot be used: it has changed since it was stored"
    ]
    assert all(report.stopped is None for report in reports)
    answers = [one.image for report in reports for one in report.answers]
    readable = [image.sha256 for image in images if image is not images[2]]
    assert sorted(answers) == sorted(readable * 2)


def test_a_judge_that_fails_of_itself_is_stopped_all_the_same(
    tmp_path: Path,
) -> None:
    def fail(image: Image.Image) -> int:
        raise RuntimeError("no more")

    (first, *_) = answered([(stored(tmp_path, 0), [("What?", ())])], Judge(fail))
    assert first.stopped == "it failed with RuntimeError: no more"


def test_an_image_that_is_larger_than_the_bound_is_decoded(tmp_path: Path) -> None:
    decoded = DecodedImages(most_pixels=1)
    first, second = stored(tmp_path, 0), stored(tmp_path, 1)
    assert decoded.read(first).getpixel((0, 0)) == (1, 7, 9)
    assert decoded.read(second) is decoded.read(second)
    assert decoded.read(first) is not decoded.read(second)


def test_many_small_images_are_not_counted_for_every_image_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_counted: list[int] = []
    count = math.prod
    monkeypatch.setattr(
        decoded_images.math, "prod", lambda size: n_counted.append(1) or count(size)
    )
    files = [stored(tmp_path, number) for number in range(40)]
    decoded = DecodedImages(most_pixels=30 * SIDE**2)
    for file in (*files, *reversed(files)):
        decoded.read(file)
    assert len(decoded._images) == 30 and len(n_counted) < 3 * 2 * len(files)


def test_a_query_of_a_file_is_a_query_wherever_it_goes(tmp_path: Path) -> None:
    image = stored(tmp_path, 4)
    query = QueryOfFile(image.read, "a dog", 4, image.sha256, "Which?", ("a", "b"))
    others = query.with_classes(("c", "d"))
    assert isinstance(others, QueryOfFile) and others.classes == ("c", "d")
    copies = [
        copy.copy(query),
        pickle.loads(pickle.dumps(query)),
        replace(query, question="What?"),
        replace(query).with_classes(("a", "b")),
    ]
    for other in copies:
        assert other.image.tobytes() == query.image.tobytes() == drawn(4).tobytes()
        assert (other.sha256, other.classes) == (image.sha256, ("a", "b"))
    (tmp_path / "4.png").unlink()
    assert copies[0].image.size == (SIDE, SIDE)
    with pytest.raises(ValueError, match="No such file"):
        query.image  # noqa: B018


def test_a_judge_on_a_server_holds_one_image_for_its_questions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoded: list[int] = []
    monkeypatch.setattr(
        openai, "as_png", lambda image: encoded.append(1) or as_png(image)
    )
    queries = [
        Query(drawn(number), "a dog", number, str(number), question)
        for number in range(3)
        for question in ("Which?", "What?")
    ]
    urls = openai._ImageUrls()
    of_queries = [urls.of(query) for query in queries]
    assert len(encoded) == len(set(of_queries)) == 3
    assert of_queries[0] == of_queries[1] != of_queries[2]


def listening(workers: Processes, count: int) -> threading.Thread:
    """A thread that hears so many results of a worker, which then ends."""
    ours, theirs = multiprocessing.Pipe()
    for number in range(count):
        theirs.send(AskReport(questions=number))
    theirs.close()
    process = mock.Mock(exitcode=0)
    workers._lines[0], workers._processes[0] = ours, process
    thread = threading.Thread(
        target=workers._listen, args=(0, ours, process), daemon=True
    )
    thread.start()
    return thread


@pytest.fixture
def workers() -> Processes:
    settings = RunSettings(model="toyland", tasks=("all",))
    spec = WorkerSpec(settings, True, True, None, None, ".", ())
    return Processes(spec, 1, [], 1)


def test_results_wait_in_their_worker_until_those_before_are_stored(
    workers: Processes,
) -> None:
    thread = listening(workers, 50)
    end = time.monotonic() + 30
    while not workers._heard.full():
        assert time.monotonic() < end
    assert thread.is_alive() and workers._heard.maxsize < 10
    heard: list[Message] = []
    while not any(isinstance(message, WorkerDeath) for message in heard):
        heard += [message for _, message in workers.wait(30)]
    assert [one.questions for one in heard[:-1] if isinstance(one, AskReport)] == [
        *range(50)
    ]


@pytest.mark.parametrize("count", [3, 50])
def test_a_listener_that_nobody_hears_any_more_ends_with_the_workers(
    count: int, workers: Processes
) -> None:
    thread = listening(workers, count)
    workers.close()
    thread.join(30)
    assert not thread.is_alive()
