"""Models of a user's own, as 'tests.models.parts:NAME' names them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.arguments import Arguments, PositiveInt
from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.protocols import Answer, GeneratedImage, ImageRequest, Query


@contextmanager
def refused(*words: str) -> Iterator[None]:
    """What raises one line with these words in it."""
    with pytest.raises(T2IBenchError) as caught:
        yield
    said = str(caught.value)
    assert all(word in said for word in words) and "\n" not in said, said


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


class Grey:
    """Images of one grey."""

    revision = None
    batch_size = 4
    name = "grey"

    def __init__(
        self, value: int = 128, *, seed: int = 0, device: str | None = None
    ) -> None:
        self.value, self.seed, self.device = value, seed, device
        self.settings: Mapping[str, Any] = {"value": value, "seed": seed}
        self.fingerprint = digest("grey", value, seed)

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        image = Image.new("RGB", (8, 8), (self.value,) * 3)
        return [GeneratedImage("ok", image) for _ in requests]

    def available(self, prompt: str) -> int | None:
        return None


class GreyArguments(Arguments):
    value: PositiveInt = 7


def _create(request: Request[GreyArguments]) -> Grey:
    return Grey(request.args.value, seed=request.seed)


ADAPTER = Adapter(
    create=_create,
    form="grey",
    description="greys",
    Args=GreyArguments,
    default_encoder="clip:grey",
)


def positional(value: int, /) -> Grey:
    return Grey(value)


def anything(**values: object) -> Grey:
    return Grey(len(values))


def halfway() -> object:
    return object()


class Flat:
    """Embeds everything on one axis."""

    name = "flat"
    embeds_images = True
    batch_size = 2
    fingerprint = digest("flat")

    def prepare(self, image: Any) -> Any:
        return image

    def encode_images(self, prepared: Sequence[Any]) -> Any:
        return np.tile(np.float32([1, 0]), (len(prepared), 1))

    encode_texts = encode_images


class Yes:
    """Answers the first class."""

    name = "yes"
    batch_size = 2

    def __init__(self, loud: bool = False) -> None:
        self.loud = loud
        self.fingerprint = digest("yes", loud)

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        return [
            Answer(query.classes[0] if query.classes else "yes") for query in queries
        ]
