"""The generator `toyland`: the embedded drawn world, its biases set by --model-args."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.models.protocols import Drawn, ImageRequest
from t2ibench.toyland import draw
from t2ibench.toyland.world import read_dials, world


class ToylandGenerator:
    """Draws toyland's pictures (see models.protocols.Generator).

    Args:
        model_args: Dials, for example {'nurse.gender.female': '0.9'}.
        seed: The run's seed.
    """

    def __init__(self, model_args: Mapping[str, str], seed: int = 0) -> None:
        self._dials = read_dials(model_args)
        self.name = "toyland"
        self.revision: str | None = f"world {world().version}"
        dials = self._dials.as_args()
        self.settings: Mapping[str, Any] = {"size": 64, "seed": seed, "dials": dials}
        what = json.dumps([self.revision, world().shares, self.settings], sort_keys=True)
        self.fingerprint = hashlib.sha256(f"toyland\0{what}".encode()).hexdigest()
        self.images_per_prompt: int | None = None
        self.guided_images_per_prompt: int | None = None
        self.batch_size = 64

    def generate(self, requests: Sequence[ImageRequest]) -> list[Drawn]:
        """Draw the requests."""
        return [Drawn("ok", draw(one.prompt, one.seed, self._dials)) for one in requests]

    def available(self, prompt: str) -> int | None:
        """Any number of any prompt."""
        return None


def create(model_args: Mapping[str, str], *, seed: int = 0) -> ToylandGenerator:
    """The generator with these dials.

    Raises:
        T2IBenchError: an unknown dial, or a share outside 0 to 1.
    """
    return ToylandGenerator(model_args, seed)
