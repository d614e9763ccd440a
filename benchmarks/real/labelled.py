"""Images of a folder with people's labels, and their embeddings."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from t2ibench.arrays import Float64Array
from t2ibench.models.protocols import Encoder

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """An image with what people saw in it.

    Attributes:
        path: Where it is.
        model: The generator: the name of its folder without "-baseline" or "-controlled".
        stimulus: The first sentence of its prompt; what a request adds stands after it.
        labels: Column of people.csv, such as 'gender', to what people saw.
    """

    path: Path
    model: str
    stimulus: str
    labels: dict[str, str]

    def opened(self) -> Image.Image:
        """The image in RGB."""
        with Image.open(self.path) as image:
            return image.convert("RGB")


def labelled_images(folder: Path) -> list[LabelledImage]:
    """All images that a people.csv in a folder of `folder` lists, in the order of its lines."""
    images = []
    for table in sorted(folder.glob("*/people.csv")):
        with table.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            image = LabelledImage(
                path=table.parent / row.pop("file"),
                model=table.parent.name.rpartition("-")[0],
                stimulus=row.pop("prompt").partition(".")[0],
                labels=row,
            )
            images.append(image)
    return images


def embed(encoder: Encoder, images: Sequence[LabelledImage]) -> Float64Array:
    """The embeddings of images, shape (n, d); NaN where the encoder embeds none."""
    batches = []
    for start in range(0, len(images), encoder.batch_size):
        batch = images[start : start + encoder.batch_size]
        prepared = [encoder.prepare(image.opened()) for image in batch]
        batches.append(encoder.encode_images(prepared))
    return np.concatenate(batches).astype(np.float64)


def each_image(
    read: Callable[[Image.Image], ValueT], images: Sequence[LabelledImage]
) -> list[ValueT]:
    """What a function reads in each image."""
    return [read(image.opened()) for image in images]
