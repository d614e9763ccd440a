"""Images are prepared once, in threads that compute alone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.identity import ImageKey
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, StoredImage
from t2ibench.store.pixels import as_png
from tests.pipeline.storing import embed, open_encoder

pytestmark = pytest.mark.networks


class Bright:
    """An encoder of an image's brightness, which counts what it prepares."""

    embeds_images, batch_size = True, 4

    def __init__(self, name: str, prepares_like: str | None = None) -> None:
        self.name, self.fingerprint = name, name.ljust(64, "0")
        self.prepared: list[Any] = []
        if prepares_like is not None:
            self.prepares_like = prepares_like

    def prepare(self, image: Image.Image) -> Any:
        self.prepared.append(image)
        return np.asarray(image).mean() / 255

    def encode_images(self, prepared: Sequence[Any]) -> Any:
        first = np.asarray(prepared)
        return np.stack([first, np.sqrt(1 - first**2)], axis=1).astype(np.float32)


@pytest.fixture
def images(tmp_path: Path) -> list[StoredImage]:
    store = ImageStore(Database(tmp_path / "run"), "0" * 64)
    attempts = [
        store.add_image(
            ImageKey.of("a nurse", number),
            number,
            as_png(Image.new("RGB", (8, 8), (20 * number, 9, 9))),
            ".png",
        )
        for number in range(10)
    ]
    store.record(attempts)
    return [store.image(attempt) for attempt in attempts]


def test_a_control_takes_what_its_encoder_prepared(
    images: list[StoredImage], tmp_path: Path
) -> None:
    database = Database(tmp_path / "run")
    trained, control, other = (
        Bright("trained"),
        Bright("random:trained", prepares_like="trained"),
        Bright("other"),
    )
    runs = [open_encoder(encoder, database) for encoder in (trained, control, other)]
    report = embed(images, runs)
    assert report.tried == 10 and not report.failures
    # The first image is also prepared once beforehand, in the leading thread.
    assert [len(encoder.prepared) for encoder in (trained, control, other)] == [
        11,
        1,
        11,
    ]
    rows = [
        run.store.rows("images", [image.sha256 for image in images]) for run in runs
    ]
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2])


def test_a_control_prepares_for_itself_where_its_encoder_has_finished(
    images: list[StoredImage], tmp_path: Path
) -> None:
    database = Database(tmp_path / "run")
    trained = Bright("trained")
    control = Bright("random:trained", prepares_like="trained")
    embed(images, [open_encoder(trained, database)])
    report = embed(
        images, [open_encoder(encoder, database) for encoder in (trained, control)]
    )
    assert report.tried == 10 and not report.failures
    assert [len(trained.prepared), len(control.prepared)] == [11, 11]


@pytest.mark.slow
def test_decoding_threads_compute_alone(
    images: list[StoredImage], tmp_path: Path
) -> None:
    """Else sixteen of them would start sixteen threads each."""
    import torch

    seen: dict[bool, set[int]] = {True: set(), False: set()}
    leader = threading.get_ident()

    class Counts(Bright):
        def prepare(self, image: Image.Image) -> Any:
            torch.rand(100_000).div(3)  # long enough for torch to share it
            seen[threading.get_ident() == leader].add(torch.get_num_threads())
            return super().prepare(image)

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        embed(images, [open_encoder(Counts("counts"), Database(tmp_path / "run"))])
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == {True: {3}, False: {1}}
