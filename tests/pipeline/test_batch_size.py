"""How many images are generated at a time: once a run, recorded, and the same when it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from t2ibench import generate
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.pipeline.generator_record import check_batch_size
from t2ibench.pipeline.merging import merge
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.run import open_run
from tests.models.parts import refused

TASKS = "t2iat_flowers_insects"
SMALL: dict[str, Any] = {"limit": 1, "images_per_prompt": 2}


class Card:
    """A generator whose images depend on how many it generates at a time."""

    name, settings, revision, fingerprint = "card", {}, None, "ab" * 32
    suited = 8  # what its device has room for

    def __init__(self) -> None:
        self.fixed: tuple[int | None, bool] | None = None
        self.size = 1

    @property
    def batch_size(self) -> int:
        return self.size

    def fix_batch_size(self, size: int | None, *, recorded: bool = False) -> None:
        self.fixed = (size, recorded)
        self.size = size or self.suited

    def available(self, prompt: str) -> int | None:
        return None

    def effective_settings(self) -> dict[str, Any]:
        return {"batch_size": self.size}

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        from PIL import Image

        assert len(requests) <= self.size
        return [
            GeneratedImage("ok", Image.new("RGB", (8, 8), (self.size, 9, 9)))
            for _ in requests
        ]


def run(folder: Path, **settings: Any) -> Card:
    card = Card()
    generate(card, TASKS, output_dir=folder, **{**SMALL, **settings})
    return card


def test_a_run_records_its_batch_size_and_keeps_it(tmp_path: Path) -> None:
    assert run(tmp_path).fixed == (None, False)
    record = open_run(tmp_path / "card").record
    assert record.generator is not None and record.batch_size == 8
    Card.suited = 2  # another card
    try:
        assert run(tmp_path, images_per_prompt=3).fixed == (8, True)
    finally:
        Card.suited = 8
    assert open_run(tmp_path / "card").record.batch_size == 8


def test_a_given_size_counts_from_the_first_image_on(tmp_path: Path) -> None:
    assert run(tmp_path, batch_size=4).fixed == (4, False)
    assert run(tmp_path, batch_size=4, images_per_prompt=3).fixed == (4, True)
    with refused("--batch-size 2: this run's images were generated 4 at a time"):
        run(tmp_path, batch_size=2)


@pytest.mark.parametrize(("recorded", "wanted"), [(None, 4), (4, None), (4, 4)])
def test_sizes_that_do_not_contradict(recorded: int | None, wanted: int | None) -> None:
    check_batch_size(recorded, wanted)


def test_a_worker_with_another_size_is_refused(tmp_path: Path) -> None:
    class Smaller(Card):
        """A card whose first batch did not fit, while another worker's did."""

        def fix_batch_size(self, size: int | None, *, recorded: bool = False) -> None:
            self.size = 4

    run(tmp_path)
    with refused("A worker generates 4 images at a time"):
        generate(
            Smaller(), TASKS, output_dir=tmp_path, **{**SMALL, "images_per_prompt": 3}
        )


def test_parts_of_other_sizes_are_not_merged(tmp_path: Path) -> None:
    for number, size in ((1, 4), (2, 8)):
        run(tmp_path, batch_size=size, shard=f"{number}/2")
    parts = sorted(tmp_path.glob("shard-*/card"))
    assert len(parts) == 2
    with refused("batch_size: 4 in"):
        merge(parts, tmp_path / "merged", SilentReporter())
