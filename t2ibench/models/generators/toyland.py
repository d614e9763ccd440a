"""The generator and editor `toyland`: the synthetic world, whose biases --model-args sets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ConfigDict, model_validator

from t2ibench.arguments import Arguments
from t2ibench.models.adapter import Adapter
from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.toyland.edit_faults import EditFaults, is_fault, read_edit_faults
from t2ibench.toyland.world import (
    FRAMING,
    WORLD,
    BiasSettings,
    read_bias_settings,
    world,
)

_REFUSED = "the editor refuses to edit this image (planted by edits.refuses)"


class ToylandArguments(Arguments):
    """Settings of toyland.

    Shares such as nurse.gender.female=0.9, world=framing, and faults of edits such as
    edits.lightens.dark=0.3.
    """

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _check_settings(self) -> ToylandArguments:
        _read_settings(self.given())
        return self


def _read_settings(
    args: Mapping[str, str | float],
) -> tuple[BiasSettings, EditFaults]:
    """Return what arguments set: the biases of images, and the faults of edits."""
    biases = {key: value for key, value in args.items() if not is_fault(key)}
    return read_bias_settings(biases), read_edit_faults(args)


class ToylandGenerator:
    """Generates and edits toyland's images (see models.protocols)."""

    def __init__(self, model_args: Mapping[str, str | float], seed: int = 0) -> None:
        self._biases, self._faults = _read_settings(model_args)
        self.name = "toyland"
        self.revision: str | None = f"world {world().version}"
        # The key is part of the fingerprint of stored runs.
        biases = self._biases.as_args()
        settings: dict[str, Any] = {"size": 64, "seed": seed, "dials": biases}
        if self._biases.framing:
            settings[WORLD] = FRAMING
        faults = self._faults.as_args()
        if faults:
            settings["faults"] = faults
        self.settings: Mapping[str, Any] = settings
        what = json.dumps(
            [self.revision, world().shares, self.settings], sort_keys=True
        )
        self.fingerprint = hashlib.sha256(f"toyland\0{what}".encode()).hexdigest()
        self.batch_size = 64

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return the drawn or edited image of each request."""
        return [self._image_of(request) for request in requests]

    def _image_of(self, request: ImageRequest) -> GeneratedImage:
        """Return the image of a prompt, or an edit of the request's source image."""
        from t2ibench.toyland import draw
        from t2ibench.toyland.editor import edit_image

        if request.source is None:
            return GeneratedImage(
                "ok", draw(request.prompt, request.seed, self._biases)
            )
        try:
            source = request.source.read()
        except UnreadableImageError as error:
            reason = f"the source image could not be read: {error}"
            return GeneratedImage("failed", reason=reason)
        edit = edit_image(source, request.prompt, request.seed, self._faults)
        if edit.image is None:
            return GeneratedImage("refused", reason=_REFUSED)
        return GeneratedImage("ok", edit.image)

    def check_edits(self) -> None:
        """Return, because toyland edits any image."""

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
        faults = self._faults.as_args()
        if faults:
            settings["faults"] = faults
        return settings


ADAPTER = Adapter(
    create=lambda request: ToylandGenerator(request.args.given(), request.seed),
    form="toyland",
    description="the embedded synthetic world, which edits too; biases set by --model-args",
    Args=ToylandArguments,
    default_encoder="toyland",
    default_judge="toyland",
    libraries=("numpy", "pillow"),
)
