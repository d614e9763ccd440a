"""Faces by the bundled networks, on drawn people; and what is said without LiteRT."""

from __future__ import annotations

import hashlib
import re
import sys

import numpy as np
import pytest
from PIL import Image

from t2ibench.models import faces
from t2ibench.models.faces import FaceMeshes, box_of
from t2ibench.toyland import draw
from tests.models.parts import refused


@pytest.fixture(scope="module")
def find() -> FaceMeshes:
    return FaceMeshes()


def drawn(words: str, seed: int) -> Image.Image:
    """Toyland's people at a size at which the networks were made to see faces."""
    return draw(words, seed).resize((512, 512))


@pytest.mark.slow
def test_one_face_of_most_people_and_none_of_things(find: FaceMeshes) -> None:
    for tone in ("light", "dark"):
        ones = [
            len(find(drawn(f"a photo of a {tone}-skinned person", n)))
            for n in range(10)
        ]
        assert ones.count(1) >= 8
    for thing in ("a rose", "a house", "an ant"):
        assert not any(find(drawn(thing, seed)) for seed in range(3))


def test_points_are_in_pixels_of_the_image_whatever_its_size_and_shape(
    find: FaceMeshes,
) -> None:
    image = drawn("a photo of a light-skinned person", 1)
    (mesh,) = find(image)
    left, top, right, bottom = box_of(mesh)
    assert 0 < left < right < 512 and 0 < top < bottom < 512
    eyes, chin = mesh[[33, 263]].mean(axis=0), mesh[152]
    assert eyes[1] < chin[1] and mesh[33, 0] < mesh[263, 0]
    (large,) = find(image.resize((1536, 1536)))
    assert np.abs(large / 3 - mesh).max() < 8
    wide = Image.new("RGB", (1200, 512), (150, 150, 150))
    wide.paste(image, (600, 0))
    (moved,) = find(wide)
    assert np.abs(moved - mesh - (600, 0)).max() < 8


def test_the_files_are_those_of_the_model_card() -> None:
    """Which are in the package, with their licence."""
    card = (faces._FOLDER / "MODEL_CARD.md").read_text()
    for name in (faces._DETECTOR, faces._MESH):
        digest = hashlib.sha256((faces._FOLDER / name).read_bytes()).hexdigest()
        assert re.search(rf"`{re.escape(name)}`.*{digest}", card)
    assert "Apache License" in (faces._FOLDER / "LICENSE").read_text()


def test_a_missing_package_is_named_with_its_pip_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    faces._network.cache_clear()
    with refused("needs LiteRT", 'pip install "t2ibench[face-gender]"'):
        FaceMeshes()
