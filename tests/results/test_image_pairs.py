"""What two images of one prompt and number share, read from the records of their runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.identity import ImageKey
from t2ibench.results.image_pairs import (
    RecordedImages,
    pair_images,
    pairs_in_words,
    recorded_images,
    why_seeds_are_unknown,
)
from t2ibench.results.record import GeneratorRecord
from t2ibench.results.run import RunFolder
from t2ibench.store.images import Attempt, ImageStore


def made(
    *seeds: int, text: str | None = None, file: str = "a", unknown: str = ""
) -> RecordedImages:
    """Images of one prompt, numbered from 0, with these seeds."""
    attempts = {}
    for index, seed in enumerate(seeds):
        key = ImageKey.of("a nurse", index)
        attempts[key] = Attempt(
            key, seed, "ok", sha256=f"{file}{index}", revised_prompt=text
        )
    return RecordedImages(file, attempts, unknown)


def generator(model: str, **changes: object) -> GeneratorRecord:
    return GeneratorRecord.model_validate(
        {"name": "m", "fingerprint": "f", "model": model, **changes}
    )


@pytest.mark.parametrize(
    ("first", "second", "same_start", "words"),
    [
        (made(1, 2), made(1, 2, file="b"), [True, True], "Same prompts, same seeds."),
        (
            made(1, 2),
            made(1, 3, file="b"),
            [True, False],
            "Same prompts, other seeds for 1 of 2 pairs.",
        ),
        (
            made(1, 2),
            made(8, 9, file="b"),
            [False, False],
            "Same prompts, other seeds: matched by number.",
        ),
        (
            made(1, 2),
            made(1, 2, file="b", text="a nurse. Be fair"),
            [False, False],
            "The models were given different texts for every pair; same seeds.",
        ),
        (
            made(1, 2),
            made(1, 2, file="b", unknown="existing images"),
            [False, False],
            "Same prompts, matched by number; seeds not known (existing images: b).",
        ),
        (
            made(1, 2),
            made(1, 2),
            [True, True],
            "Same prompts, same seeds. In every pair both are the very same image.",
        ),
    ],
)
def test_pairs_share_what_their_records_say(
    first: RecordedImages, second: RecordedImages, same_start: list[bool], words: str
) -> None:
    pairs = pair_images(first, second)
    assert [pair.same_start for pair in pairs] == same_start
    assert pairs_in_words(pairs, first, second) == words


def test_runs_without_an_image_in_common() -> None:
    first = made(1)
    other = ImageKey.of("a chef", 0)
    second = RecordedImages("b", {other: Attempt(other, 1, "ok", sha256="c")})
    pairs = pair_images(first, second)
    assert pairs == []
    assert pairs_in_words(pairs, first, second).startswith("No image of one has")


def test_the_seeds_of_folders_and_of_servers_that_get_none_are_unknown() -> None:
    known = generator("toyland", settings={"seed": 0})
    assert why_seeds_are_unknown(known) == ""
    assert why_seeds_are_unknown(generator("folder:pictures")) == "existing images"
    assert why_seeds_are_unknown(None) == "existing images"
    dropped = {"seed": "none: whether the same images would come again is unknown"}
    for changes in ({"settings": {"seed": False}}, {"effective_settings": dropped}):
        unseeded = generator("openai:model", **changes)
        assert why_seeds_are_unknown(unseeded) == "a server that got no seed"


def test_images_that_failed_are_no_pairs(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.update(generator=generator("toyland"))
    store = ImageStore(run.database, "f")
    shown, failed = (ImageKey.of("a nurse", index) for index in (0, 1))
    store.record([store.add_image(shown, 5, b"image", ".png")])
    store.record([Attempt(failed, 6, "failed", reason="no memory")])
    images = recorded_images("m", run, store)
    assert list(images.attempts) == [shown] and images.why_unknown == ""
    assert [pair.seeds for pair in pair_images(images, images)] == ["same"]
