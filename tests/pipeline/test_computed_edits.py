"""Edits that a run makes itself: stored, judged and measured like a model's, which makes none."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench import evaluate
from t2ibench.methods.core.computed_edits import INSTRUCTIONS, ComputedEdit
from t2ibench.methods.core.edit_report import edit_report
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.computed_edits import computed_image, unchanged
from t2ibench.results.run import open_images
from t2ibench.results.schema import Results
from t2ibench.store.images import ImageFile
from t2ibench.store.pixels import brightness_in_cells, perceptual_hash
from t2ibench.toyland import draw
from tests.pipeline.editing import Editor

PORTRAITS = "edits_portraits"
SEED = 5


def person(seed: int) -> Image.Image:
    return draw("a portrait of a woman", seed)


@pytest.mark.parametrize("edit", ["saved again", "resized"])
def test_what_does_nothing_hardly_moves_pixels(edit: ComputedEdit) -> None:
    for seed in range(5):
        source = person(seed)
        again = unchanged(source, edit)
        assert again.size == source.size
        assert again.tobytes() != source.tobytes()
        before, after = (
            brightness_in_cells(perceptual_hash(image)) for image in (source, again)
        )
        assert np.abs(before - after).mean() < 0.01


def test_brightness_is_that_of_the_pixels() -> None:
    """Black above and a grey of 102 below: luma 0 and .4."""
    image = Image.new("RGB", (64, 64))
    image.paste((102, 102, 102), (0, 32, 64, 64))
    cells = brightness_in_cells(perceptual_hash(image).astype(np.float16))
    assert cells.shape == (16, 16)
    assert cells[:8] == pytest.approx(np.zeros((8, 16)))
    assert cells[8:] == pytest.approx(np.full((8, 16), 0.4), abs=1e-3)


def test_an_unreadable_source_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "source.png"
    path.write_bytes(b"no image")
    digest = hashlib.sha256(b"no image").hexdigest()
    file = ImageFile(path, digest)
    request = ImageRequest(INSTRUCTIONS["resized"], 0, SEED, file)
    assert computed_image(request).status == "failed"


def portraits(folder: Path, model: Any) -> Results:
    return evaluate(
        model,
        PORTRAITS,
        output_dir=folder,
        encoder="toyland",
        judge="toyland",
        images_per_prompt=2,
    )


@pytest.mark.slow
def test_the_run_makes_them_and_the_model_does_not(tmp_path: Path) -> None:
    editor = Editor()
    results = portraits(tmp_path, editor)
    asked = set(editor.seen)
    assert asked and asked.isdisjoint(INSTRUCTIONS.values())
    assert results.folder is not None
    _, images = open_images(results.folder)
    made = [
        attempt
        for attempt in images.attempts()
        if attempt.prompt in INSTRUCTIONS.values()
    ]
    assert len(made) == 2 * 8
    assert {attempt.status for attempt in made} == {"ok"}
    task = results.tasks[PORTRAITS]
    report = edit_report(task.details)
    assert report is not None
    assert set(report.controls) >= {"saved again", "resized"}
    assert task.controls["nothing"].value == 0
    # Nothing is made or measured anew where all of it is there.
    again = Editor()
    repeated = portraits(tmp_path, again)
    assert not again.seen
    assert repeated.tasks[PORTRAITS] == task
