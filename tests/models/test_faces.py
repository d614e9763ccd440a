"""Faces by OpenCV's cascade, on drawn people; and what is said without OpenCV."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.faces import HaarFaces
from t2ibench.models.judges import check_judges, create_judges
from t2ibench.models.protocols import Query
from t2ibench.models.skin_tone import ITA_CLASSES
from t2ibench.toyland import draw


@pytest.fixture(scope="module")
def faces() -> HaarFaces:
    return HaarFaces()


@pytest.mark.slow
def test_one_face_of_most_people_and_none_of_things(faces: HaarFaces) -> None:
    ones = [len(faces(draw("a photo of a light-skinned person", seed))) for seed in range(8)]
    assert ones.count(1) >= 7
    for thing in ("a rose", "a house", "an ant"):
        assert not any(faces(draw(thing, seed)) for seed in range(2))
    several = [len(faces(draw("a photo of several people", seed))) for seed in range(6)]
    assert sum(count > 1 for count in several) >= 4


def test_boxes_are_in_pixels_of_the_image_whatever_its_size(faces: HaarFaces) -> None:
    image = draw("a photo of a light-skinned person", 1)
    (small,) = faces(image)
    (large,) = faces(image.resize((512, 512)))
    assert [edge / 8 for edge in large] == pytest.approx(small, abs=3)


@pytest.mark.slow
def test_the_judge_reads_drawn_people() -> None:
    (judge,) = create_judges(["skin"], {"fewest_pixels": "15"})
    names = tuple(name for name, _ in ITA_CLASSES)

    def answers(tone: str) -> list[str | None]:
        images = [draw(f"a photo of a {tone}-skinned person", seed) for seed in range(8)]
        queries = [
            Query(image, "", 0, f"{seed:064d}", "Which?", names)
            for seed, image in enumerate(images)
        ]
        return [answer.answer for answer in judge.answer(queries)]

    light = answers("light")
    assert set(light) <= {"light", "very light", "unknown"} and light.count("unknown") <= 2
    assert set(answers("dark")) <= {"brown", "dark", "unknown"}


def test_what_is_said_without_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    load = importlib.import_module

    def without(name: str, package: str | None = None) -> Any:
        if name == "cv2":
            raise ModuleNotFoundError("No module named 'cv2'")
        return load(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(T2IBenchError, match=r"needs OpenCV") as caught:
        check_judges(["skin"])
    assert "t2ibench[skin]" in str(caught.value)

    def without_cascades(name: str, package: str | None = None) -> Any:
        return SimpleNamespace(__version__="5.0.0") if name == "cv2" else load(name, package)

    monkeypatch.setattr(importlib, "import_module", without_cascades)
    with pytest.raises(T2IBenchError, match=r"version 5\.0\.0 has no cascades"):
        create_judges(["skin"])
