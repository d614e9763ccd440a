"""Encoders that need no weights of CLIP's size: pixels and colours as a floor, and faces.

A floor shows what an experiment prints for an encoder that knows nothing of people.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.models.encoders import create_encoder
from t2ibench.models.faces import FaceMeshes, box_of
from t2ibench.models.protocols import Encoder

_SIDE = 16  # of the picture that `pixels` reads
_BINS = 4  # of each colour that `colours` counts
_FACE_VALUES = 128  # that dlib's network describes a face with
_INSTALL = 'pip install "t2ibench[face-gender]" face-recognition-models'


class ImageReader:
    """An encoder of images alone, from a function of one image (see models.protocols.Encoder)."""

    embeds_images, batch_size = True, 1

    def __init__(
        self, name: str, read: Callable[[Image.Image], Float64Array], dimension: int
    ) -> None:
        self.name = name
        self.fingerprint = name
        self._read = read
        self._dimension = dimension

    def prepare(self, image: Image.Image) -> Float64Array:
        """The row of an image."""
        return self._read(image)

    def encode_images(self, prepared: Sequence[Float64Array]) -> Float32Array:
        """Rows of unit length."""
        rows = np.array(prepared)
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit.astype(np.float32)

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """It has a vector for no text."""
        return np.full((len(texts), self._dimension), np.nan, dtype=np.float32)


def encoder_named(name: str) -> Encoder:
    """An encoder of this file, or else t2ibench's of that name."""
    if name in _READERS:
        return _READERS[name]()
    return create_encoder(name)


def _pixels() -> Encoder:
    """The image in small, without its mean brightness."""

    def read(image: Image.Image) -> Float64Array:
        small = np.asarray(image.resize((_SIDE, _SIDE)), dtype=np.float64)
        return (small - 127.5).ravel()

    return ImageReader("pixels", read, 3 * _SIDE**2)


def _colours() -> Encoder:
    """How many pixels have each of a few colours."""

    def read(image: Image.Image) -> Float64Array:
        levels = np.asarray(image.resize((128, 128)), dtype=np.int64) * _BINS // 256
        numbers = levels @ np.array([_BINS**2, _BINS, 1])
        counts = np.bincount(numbers.ravel(), minlength=_BINS**3)
        return np.sqrt(counts.astype(np.float64))

    return ImageReader("colours", read, _BINS**3)


def _face() -> Encoder:
    """dlib's descriptor of the tallest face, from the weights in face-recognition-models (CC0)."""
    dlib, weights = _dlib()
    place = dlib.shape_predictor(str(weights / "shape_predictor_5_face_landmarks.dat"))
    network = dlib.face_recognition_model_v1(
        str(weights / "dlib_face_recognition_resnet_model_v1.dat")
    )
    find = FaceMeshes()

    def read(image: Image.Image) -> Float64Array:
        meshes = find(image)
        if not meshes:
            return np.full(_FACE_VALUES, np.nan)
        box = dlib.rectangle(*(round(end) for end in box_of(meshes[0])))
        pixels = np.asarray(image)
        values = network.compute_face_descriptor(pixels, place(pixels, box))
        return np.array(values)

    return ImageReader("face", read, _FACE_VALUES)


def _dlib() -> tuple[Any, Path]:
    """The library and the folder of its weights; the package is not imported, only located."""
    spec = importlib.util.find_spec("face_recognition_models")
    try:
        dlib = importlib.import_module("dlib")
    except ImportError as error:
        raise T2IBenchError("The encoder 'face' needs dlib.", _INSTALL) from error
    if spec is None or spec.origin is None:
        raise T2IBenchError("The encoder 'face' needs its weights.", _INSTALL)
    return dlib, Path(spec.origin).parent / "models"


_READERS = {"pixels": _pixels, "colours": _colours, "face": _face}
