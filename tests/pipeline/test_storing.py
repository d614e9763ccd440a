"""Storing behind the model, and decoding ahead of encoders."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline.embedding import in_order
from t2ibench.store.database import Database
from t2ibench.store.images import Attempt, ImageStore, StoredImage
from tests.models import parts
from tests.pipeline.storing import embed, generate_images, open_encoder

REQUESTS = [
    ImageRequest(f"prompt {number // 2}", number % 2, number) for number in range(12)
]


def picture(seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(1, 256, (8, 8, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


class Painter(parts.Grey):
    """A generator of nothing but the Protocol's members."""

    batch_size = 2

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [GeneratedImage("ok", picture(request.seed)) for request in requests]


class SlowStore(ImageStore):
    """Its first images take longest, so that threads end in another order."""

    def add_image(self, key: ImageKey, seed: int, data: bytes, suffix: str) -> Attempt:
        time.sleep(0.02 * (12 - seed) / 12)
        return super().add_image(key, seed, data, suffix)


def keys(attempts: Sequence[Attempt]) -> list[int]:
    return [attempt.seed for attempt in attempts]


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(Database(tmp_path), "f")


@pytest.fixture
def images(store: ImageStore) -> list[StoredImage]:
    return [
        store.image(attempt) for attempt in generate_images(REQUESTS, Painter(), store)
    ]


def test_rows_keep_the_order_and_come_after_their_files(tmp_path: Path) -> None:
    store = SlowStore(Database(tmp_path), "f")
    told: list[int] = []
    caller = threading.current_thread()

    def note(batch: Sequence[Attempt]) -> None:
        assert threading.current_thread() is caller
        assert all(store.has_file(attempt) for attempt in batch)
        told.extend(keys(batch))

    attempts = generate_images(REQUESTS, Painter(), store, on_batch=note)
    assert keys(attempts) == told == list(range(12))
    again = ImageStore(Database(tmp_path), "f")
    stored = [again.get(request.key) for request in REQUESTS]
    assert [attempt and attempt.sha256 for attempt in stored] == [
        a.sha256 for a in attempts
    ]


def test_a_generator_may_know_its_batch_size_only_after_the_first_batch(
    store: ImageStore,
) -> None:
    class LoadedLater(Painter):
        def __init__(self) -> None:
            super().__init__()
            self.sizes: list[int] = []

        def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
            self.sizes.append(len(requests))
            self.batch_size = 2 * len(requests)
            return super().generate(requests)

    generator = LoadedLater()
    assert keys(generate_images(REQUESTS, generator, store)) == list(range(12))
    assert generator.sizes == [2, 4, 6]


def test_an_image_that_cannot_be_stored_is_lost_alone(store: ImageStore) -> None:
    class Odd(Painter):
        def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
            drawn = super().generate(requests)
            if requests[0].seed == 4:
                drawn[0] = GeneratedImage("ok", Image.new("F", (8, 8), 200.0))
            return drawn

    attempts = generate_images(REQUESTS, Odd(), store)
    assert [one.seed for one in attempts if one.status != "ok"] == [4]
    assert "could not be stored" in (attempts[4].reason or "")
    assert keys(generate_images(REQUESTS, Painter(), store)) == [4]  # tried again


def test_a_generator_that_cannot_go_on_loses_nothing_before(tmp_path: Path) -> None:
    class Ending(Painter):
        def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
            if requests[0].seed == 8:
                raise T2IBenchError("no more")
            return super().generate(requests)

    store = SlowStore(Database(tmp_path), "f")
    with pytest.raises(T2IBenchError, match="no more"):
        generate_images(REQUESTS, Ending(), store)
    again = ImageStore(Database(tmp_path), "f")
    assert len(again) == 8 and keys(generate_images(REQUESTS, Painter(), again)) == [
        8,
        9,
        10,
        11,
    ]


def test_a_generator_may_write_to_the_same_path_again(
    tmp_path: Path, store: ImageStore
) -> None:
    class Reusing(Painter):
        def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
            paths = [tmp_path / f"{number}.png" for number in range(len(requests))]
            for request, path in zip(requests, paths, strict=True):
                picture(request.seed).save(path)
            return [GeneratedImage("ok", path=path) for path in paths]

    for attempt in generate_images(REQUESTS, Reusing(), store):
        found = np.asarray(store.image(attempt).read())
        assert np.array_equal(found, np.asarray(picture(attempt.seed)))


class Colours(parts.Flat):
    """An encoder: the mean colour of an image, as a direction."""

    def __init__(self, batch_size: int, fails_at: int | None = None) -> None:
        self.name = f"colours {batch_size}"
        self.batch_size, self.fails_at = batch_size, fails_at
        self.fingerprint = f"{batch_size:064x}"
        self.batches: list[int] = []

    def prepare(self, image: Image.Image) -> Any:
        return np.asarray(image, dtype=np.float32).mean(axis=(0, 1))

    def encode_images(self, prepared: Sequence[Any]) -> Any:
        self.batches.append(len(prepared))
        if len(self.batches) >= (self.fails_at or np.inf):
            raise ValueError("no memory")
        rows = np.stack(list(prepared))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_encoders_get_full_batches_and_the_same_rows(
    tmp_path: Path, images: list[StoredImage]
) -> None:
    encoders = [Colours(5), Colours(1), Colours(100)]
    runs = [open_encoder(encoder, Database(tmp_path)) for encoder in encoders]
    report = embed(images, runs)
    assert report.embedded == report.tried == 12 and not report.failures
    assert [encoder.batches for encoder in encoders] == [[5, 5, 2], [1] * 12, [12]]
    for image in images:
        rows = [run.store.get("images", image.sha256) for run in runs]
        assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2])
        mean = np.asarray(image.read(), dtype=np.float32).mean(axis=(0, 1))
        assert np.allclose(rows[0], mean / np.linalg.norm(mean))


def test_a_failing_encoder_keeps_its_rows_and_stops_no_other(
    tmp_path: Path, images: list[StoredImage]
) -> None:
    runs = [
        open_encoder(one, Database(tmp_path))
        for one in (Colours(5, fails_at=2), Colours(4))
    ]
    report = embed(images, runs)
    assert "no memory" in report.failures["colours 5"]
    kept = [
        run.store.missing("images", [image.sha256 for image in images]) for run in runs
    ]
    assert [len(keys) for keys in kept] == [7, 0]


@pytest.mark.parametrize(
    ("spoilt", "says"),
    [
        (lambda rows: 2 * rows, "not of unit length"),
        (lambda rows: rows[:1], "embeddings of shape (1, 3)"),
        (lambda rows: rows * np.nan, "embeddings that are not numbers"),
    ],
)
def test_rows_that_cannot_be_used_stop_their_encoder(
    spoilt: Callable[[Any], Any], says: str, tmp_path: Path, images: list[StoredImage]
) -> None:
    class Spoilt(Colours):
        def encode_images(self, prepared: Sequence[Any]) -> Any:
            return spoilt(super().encode_images(prepared))

    run = open_encoder(Spoilt(5), Database(tmp_path))
    assert says in embed(images, [run]).failures["colours 5"] and not run.store.keys(
        "images"
    )


@pytest.mark.parametrize("raises", [False, True])
def test_an_image_that_an_encoder_cannot_embed_is_a_row_of_nan(
    raises: bool, tmp_path: Path, images: list[StoredImage]
) -> None:
    """One of the middle, and the last: the others of their batches are embedded as always."""
    hopeless = [np.asarray(images[at].read()) for at in (3, len(images) - 1)]

    class Faces(Colours):
        def prepare(self, image: Image.Image) -> Any:
            pixels = np.asarray(image)
            seen = not any(np.array_equal(pixels, other) for other in hopeless)
            return super().prepare(image) if seen else None

        def encode_images(self, prepared: Sequence[Any]) -> Any:
            if raises and any(pixels is None for pixels in prepared):
                raise ValueError("no face is seen")
            whole = [
                np.ones(3, np.float32) if pixels is None else pixels
                for pixels in prepared
            ]
            rows = super().encode_images(whole)
            rows[[pixels is None for pixels in prepared]] = np.nan
            return rows

    run, plain = (
        open_encoder(encoder, Database(tmp_path)) for encoder in (Faces(5), Colours(4))
    )
    report = embed(images, [run, plain])
    assert not report.failures and report.unread["colours 5"].total() == 2
    for number, image in enumerate(images):
        row = run.store.get("images", image.sha256)
        expected = plain.store.get("images", image.sha256)
        if number in (3, len(images) - 1):
            assert np.isnan(row).all()
        else:
            assert np.array_equal(row, expected)
    # Read again from the disk: what has no embedding is known, and not asked for again.
    again = open_encoder(Faces(5), Database(tmp_path))
    assert not again.store.missing("images", [image.sha256 for image in images])


def test_prepare_may_fail_for_an_image(
    tmp_path: Path, images: list[StoredImage]
) -> None:
    class Picky(Colours):
        def prepare(self, image: Image.Image) -> Any:
            if np.array_equal(np.asarray(image), np.asarray(images[0].read())):
                raise ValueError("no face is seen")
            return super().prepare(image)

    run = open_encoder(Picky(5), Database(tmp_path))
    report = embed(images, [run])
    assert not report.failures
    assert "no face is seen" in next(iter(report.unread["colours 5"]))
    assert np.isnan(run.store.get("images", images[0].sha256)).all()


def test_results_come_in_order_and_only_some_are_made_ahead() -> None:
    started: list[int] = []

    def call(number: int) -> int:
        started.append(number)
        time.sleep(0.01 if number % 2 else 0)
        return number

    with ThreadPoolExecutor(4) as pool:
        results = in_order(pool, call, range(40), 5)
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        assert max(started) <= 8
        assert list(results) == list(range(3, 40))
