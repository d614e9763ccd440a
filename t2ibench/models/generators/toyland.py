"""The generator `toyland`: the built-in synthetic world, whose biases --model-args sets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ConfigDict, model_validator

from t2ibench.arguments import Arguments
from t2ibench.models.adapter import Adapter
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.toyland.world import FRAMING, WORLD, read_bias_settings, world


class ToylandArguments(Arguments):
    """Settings of toyland: shares such as nurse.gender.female=0.9, and world=framing."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _check_settings(self) -> ToylandArguments:
        read_bias_settings(self.given())
        return self


class ToylandGenerator:
    """Generates toyland's images (see models.protocols.Generator)."""

    def __init__(self, model_args: Mapping[str, str | float], seed: int = 0) -> None:
        self._biases = read_bias_settings(model_args)
        self.name = "toyland"
        self.revision: str | None = f"world {world().version}"
        # The key is part of the fingerprint of stored runs.
        biases = self._biases.as_args()
        settings: dict[str, Any] = {"size": 64, "seed": seed, "dials": biases}
        if self._biases.framing:
            settings[WORLD] = FRAMING
        self.settings: Mapping[str, Any] = settings
        what = json.dumps(
            [self.revision, world().shares, self.settings], sort_keys=True
        )
        self.fingerprint = hashlib.sha256(f"toyland\0{what}".encode()).hexdigest()
        self.batch_size = 64

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return the drawn image of each request."""
        from t2ibench.toyland import draw

        return [
            GeneratedImage("ok", draw(request.prompt, request.seed, self._biases))
            for request in requests
        ]

    def available(self, prompt: str) -> int | None:
        """Return None, because the model generates any number of images of a prompt."""
        return None

    def effective_settings(self) -> Mapping[str, Any]:
        """Return the size of images and the bias settings, for the run's record."""
        settings: dict[str, Any] = {
            "height": 64,
            "width": 64,
            "world": world().version,
            "biases": self._biases.as_args(),
        }
        if self._biases.framing:
            settings["framing"] = True
        return settings


ADAPTER = Adapter(
    create=lambda request: ToylandGenerator(request.args.given(), request.seed),
    form="toyland",
    description="the embedded synthetic world; biases set by --model-args",
    Args=ToylandArguments,
    default_encoder="toyland",
    default_judge="toyland",
    libraries=("numpy", "pillow"),
)
