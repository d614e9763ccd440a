"""An encoder: the mean colour of an image, and the colour that a word names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from t2ibench.plugins import Adapter, Arguments, Float32Array, Request

if TYPE_CHECKING:
    from PIL.Image import Image

_COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "grey": (1, 1, 1)}


class MeanColourEncoder:
    """Has the members of `t2ibench.plugins.Encoder`."""

    def __init__(self) -> None:
        self.name = "mean-colour"
        self.fingerprint = hashlib.sha256(b"mean-colour 1").hexdigest()
        self.embeds_images = True
        self.batch_size = 64

    def prepare(self, image: Image) -> Any:
        """Called in threads, one image at a time; what it returns goes to `encode_images`."""
        return (
            np.asarray(image.convert("RGB"), dtype=np.float64).mean(axis=(0, 1)) + 1.0
        )

    def encode_images(self, prepared: Sequence[Any]) -> Float32Array:
        """float32, shape (n, 3), rows of unit length."""
        return _unit(np.array(prepared, dtype=np.float64).reshape(len(prepared), 3))

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """The colour that a text names; a row of NaN where it names none."""
        rows = np.full((len(texts), 3), np.nan)
        for number, text in enumerate(texts):
            named = [
                _COLOURS[word] for word in text.lower().split() if word in _COLOURS
            ]
            if named:
                rows[number] = named[0]
        return _unit(rows)


def _unit(rows: npt.NDArray[np.float64]) -> Float32Array:
    unit: Float32Array = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(
        np.float32
    )
    return unit


def create(request: Request[Arguments]) -> MeanColourEncoder:
    """Load weights here, on `request.device`."""
    return MeanColourEncoder()


ADAPTER = Adapter(
    create=create, form="mean-colour", description="the mean colour of an image"
)
