"""A generator: grey squares, darker where the prompt names the night."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.plugins import (
    Adapter,
    Arguments,
    GeneratedImage,
    ImageRequest,
    PositiveInt,
    Request,
)


class GreyArguments(Arguments):
    """What --model-args takes. Text from the command line is converted; unknown keys are errors."""

    contrast: PositiveInt = 60


class GreyGenerator:
    """Has the members of `t2ibench.plugins.Generator`; it inherits nothing."""

    def __init__(self, contrast: int, seed: int) -> None:
        self.name = "grey"
        self.revision: str | None = None
        # Everything that decides an image besides prompt, index and seed goes into both.
        self.settings: Mapping[str, Any] = {"contrast": contrast, "seed": seed}
        what = f"grey 1\0{sorted(self.settings.items())}"
        self.fingerprint = hashlib.sha256(what.encode()).hexdigest()
        self.batch_size = 16
        self._contrast = contrast

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """One result for each request, in order; each depends on its own request only."""
        return [self._image(request) for request in requests]

    def _image(self, request: ImageRequest) -> GeneratedImage:
        # libraries are imported where they are used: `ls` must be quick
        from PIL import Image

        if not request.prompt.strip():
            return GeneratedImage("refused", reason="the prompt is empty")
        lean = -self._contrast if "night" in request.prompt else 0
        value = 128 + lean + random.Random(request.seed).randint(-60, 60)
        return GeneratedImage(
            "ok", Image.new("RGB", (64, 64), (min(max(value, 1), 255),) * 3)
        )

    def available(self, prompt: str) -> int | None:
        """How many images of a prompt there can be: any number."""
        return None


def create(request: Request[GreyArguments]) -> GreyGenerator:
    """Called with what the user wrote: arguments, seed, device, dtype."""
    return GreyGenerator(request.args.contrast, request.seed)


ADAPTER = Adapter(
    create=create,
    form="grey",
    description="grey squares; contrast=N makes those of the night darker",
    Args=GreyArguments,
    default_encoder="mean-colour",
    default_judge="brightness",
    libraries=("pillow",),
)
