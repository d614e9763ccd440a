"""The encoder `toyland`: reads toyland's images from their pixels and captions from their words.

Both go into one space with a named axis for each attribute. Words carry associations of their own
(a nurse leans female, a flower pleasant), as a text encoder learns them from its training data;
they are a fixed part of the encoder and know nothing of the generator's bias settings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from t2ibench.arrays import Float32Array
from t2ibench.models.adapter import Adapter
from t2ibench.toyland import reader
from t2ibench.toyland.caption import Caption, parse
from t2ibench.toyland.draw import accent, clothes_colour
from t2ibench.toyland.reader import PixelArray, Reading
from t2ibench.toyland.scene import look
from t2ibench.toyland.world import KINDS, BiasSettings

if TYPE_CHECKING:
    from PIL.Image import Image

_VERSION = 1
# Axis to its scale: what an encoder thinks matters in an image.
SCALES = {
    "always": 0.6,
    "gender": 1.0,
    "skin": 0.6,
    "child": 0.4,
    "old": 0.4,
    "weather": 1.0,
    "several": 0.3,
    **dict.fromkeys(KINDS, 0.7),
    "red": 0.8,
    "green": 0.8,
    "blue": 0.8,
    **dict.fromkeys(("word 1", "word 2", "word 3", "word 4"), 0.12),
}
AXES = tuple(SCALES)
_SCALE = np.array(list(SCALES.values()))
_ASSOCIATION = 0.35  # how far a word leans towards what its subject usually shows


class ToylandEncoder:
    """Embeds toyland's images and captions (see models.protocols.Encoder)."""

    def __init__(self) -> None:
        self.name = "toyland"
        what = f"{_VERSION}\0{reader.fingerprint()}\0{sorted(SCALES.items())}\0{_ASSOCIATION}"
        self.fingerprint = hashlib.sha256(what.encode()).hexdigest()
        self.embeds_images = True
        self.batch_size = 64

    def prepare(self, image: Image) -> PixelArray:
        """Return the image's pixels, shape (64, 64, 3)."""
        return reader.prepare(image)

    def encode_images(self, prepared: Sequence[PixelArray]) -> Float32Array:
        """Return embeddings of what the reader recognises in each image, shape (n, 21)."""
        rows = [_image_axes(reader.split(row)) for row in reader.outputs(prepared)]
        return _unit(rows)

    def encode_texts(self, texts: Sequence[str]) -> Float32Array:
        """Return embeddings of what each text names or brings to mind, shape (n, 21)."""
        return _unit([_text_axes(text) for text in texts])


def _unit(rows: Sequence[dict[str, float]]) -> Float32Array:
    """Return a float32 vector of unit length for each mapping of axes to values, shape (n, 21)."""
    values = [[row.get(axis, 0.0) for axis in AXES] for row in rows]
    array = np.array(values, dtype=np.float64)
    array = array.reshape(len(rows), len(AXES)) * _SCALE
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    unit: Float32Array = (array / lengths).astype(np.float32)
    return unit


def _image_axes(reading: Reading) -> dict[str, float]:
    """Return how far an image, as the reader sees it, shows each feature, keyed by axis."""
    shares = reading.shares
    age = shares["age"]
    # Attributes of a person count to the degree that the image shows a person.
    person = shares["kind"]["person"]
    axes = {
        "always": 1.0,
        "gender": person * _difference(shares["gender"], "female", "male"),
        "skin": person * _difference(shares["skin"], "dark", "light"),
        "child": person * age["child"],
        "old": person * age["old"],
        "weather": _difference(shares["weather"], "pleasant", "unpleasant"),
        "several": shares["several"]["several"],
    }
    return axes | shares["kind"] | _colour_axes(reading.colour)


def _difference(shares: Mapping[str, float], high: str, low: str) -> float:
    """Return the probability of class `high` less that of class `low`."""
    return shares[high] - shares[low]


def _colour_axes(colour: Sequence[float]) -> dict[str, float]:
    """Return how far red, green and blue of a colour each exceed the mean of the three."""
    mean = sum(colour) / 3
    return {
        name: value - mean
        for name, value in zip(("red", "green", "blue"), colour, strict=True)
    }


def _text_axes(text: str) -> dict[str, float]:
    """Return how far a text names or suggests each feature, keyed by axis."""
    caption = parse(text)
    axes = {"always": 1.0}
    # Four axes depend on the text alone, so that no two texts have the same embedding.
    for index, value in enumerate(look(text)[4:8]):
        axes[f"word {index + 1}"] = 2 * value - 1
    if caption.kind != "thing" or caption.noun != "thing":
        axes[caption.kind] = 1.0
        rgb = (
            clothes_colour(caption.noun)
            if caption.kind == "person"
            else accent(caption.kind, caption.noun)
        )
        axes |= _colour_axes([value / 255 for value in rgb])
    axes["weather"] = _named(caption.weather, "pleasant", "unpleasant") or _leaning(
        caption, "weather"
    )
    if caption.kind == "person":
        axes["skin"] = _named(caption.skin, "dark", "light")
        axes["child"] = float(caption.age == "child")
        axes["old"] = float(caption.age == "old")
        axes["several"] = float(caption.several)
        axes["gender"] = (
            _leaning(caption, "gender")
            if caption.gender is None
            else _named(caption.gender, "female", "male")
        )
    return axes


def _named(value: str | None, high: str, low: str) -> float:
    return float(value == high) - float(value == low)


def _leaning(caption: Caption, axis: str) -> float:
    """Return how far a caption's subject suggests an axis's first value (positive) or second."""
    usual = 2 * BiasSettings().share(axis, caption.things) - 1
    return _ASSOCIATION * usual * (0.6 + 0.8 * look(caption.noun)[3])


ADAPTER = Adapter(
    create=lambda _: ToylandEncoder(),
    form="toyland",
    description="reads toyland's images and captions",
    libraries=("numpy", "pillow"),
    cpu_weights=lambda _: reader.WEIGHTS.stat().st_size,
)
