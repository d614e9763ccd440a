"""Recognise what an image shows, with a small network that sees only the pixels.

The weights in reader.safetensors were trained by tools/train_toyland_reader.py on rendered scenes,
blurred, compressed and distorted, so that it can also read images that imitate toyland.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float32Array
from t2ibench.toyland.world import KINDS

if TYPE_CHECKING:
    from PIL.Image import Image


PixelArray = npt.NDArray[np.uint8]

WEIGHTS = Path(__file__).parent / "reader.safetensors"
# The classes of each head of the network; a regression of a colour's three numbers comes last.
HEADS: dict[str, tuple[str, ...]] = {
    "kind": KINDS,
    "gender": ("female", "male", "androgynous"),
    "skin": ("dark", "light"),
    "age": ("child", "adult", "old"),
    "weather": ("pleasant", "unpleasant"),
    "several": ("one", "several"),
}
SIZE = 64
_CELLS = 16


@dataclass(frozen=True, slots=True)
class Reading:
    """What the network recognises in an image.

    Attributes:
        shares: Probabilities of each attribute's classes.
        colour: Red, green and blue of the subject, from 0 to 1.
    """

    shares: dict[str, dict[str, float]]
    colour: tuple[float, float, float]

    def top(self, attribute: str) -> str:
        """Return the most likely class of an attribute."""
        shares = self.shares[attribute]
        return max(shares, key=lambda name: shares[name])


def prepare(image: Image) -> PixelArray:
    """Return the RGB pixels of an image, resized to 64 x 64: shape (64, 64, 3)."""
    rgb = image if image.mode == "RGB" else image.convert("RGB")
    if rgb.size != (SIZE, SIZE):
        rgb = rgb.resize((SIZE, SIZE))
    return np.asarray(rgb, dtype=np.uint8)


def features(pixels: PixelArray) -> Float32Array:
    """Return means of blocks of 4 x 4 pixels, scaled to -1 to 1, shape (768,)."""
    blocks = pixels.reshape(_CELLS, SIZE // _CELLS, _CELLS, SIZE // _CELLS, 3)
    means: Float32Array = blocks.mean(axis=(1, 3), dtype=np.float32).ravel()
    scaled: Float32Array = means / np.float32(127.5) - np.float32(1.0)
    return scaled


@lru_cache(maxsize=1)
def _weights() -> dict[str, Float32Array]:
    from safetensors.numpy import load_file

    return {
        name: array.astype(np.float32) for name, array in load_file(WEIGHTS).items()
    }


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return the SHA-256 of the network's weights."""
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()


def outputs(pixels: Sequence[PixelArray]) -> Float32Array:
    """Return the raw outputs of the network, shape (n, classes of all heads + 3).

    One image at a time: a product of matrices would round differently with the number of rows,
    and an image's reading must not depend on its neighbours.
    """
    weights = _weights()
    rows = []
    for image in pixels:
        hidden = np.maximum(
            features(image) @ weights["in.weight"] + weights["in.bias"], 0.0
        )
        rows.append(hidden @ weights["out.weight"] + weights["out.bias"])
    width = len(weights["out.bias"])
    if not rows:
        return np.zeros((0, width), dtype=np.float32)
    return np.stack(rows).astype(np.float32)


def split(row: Float32Array) -> Reading:
    """Return an image's reading from its row of outputs: softmax of each head, and the colour."""
    shares = {}
    start = 0
    for head, classes in HEADS.items():
        logits = row[start : start + len(classes)].astype(np.float64)
        weights = np.exp(logits - logits.max())
        shares[head] = dict(
            zip(classes, (weights / weights.sum()).tolist(), strict=True)
        )
        start += len(classes)
    red, green, blue = (
        float(value) for value in np.clip(row[start : start + 3], 0.0, 1.0)
    )
    return Reading(shares, (red, green, blue))


def read(image: Image) -> Reading:
    """Return what an image shows, recognised from its pixels."""
    return split(outputs([prepare(image)])[0])
