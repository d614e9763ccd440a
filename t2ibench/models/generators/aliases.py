"""Short names of well-known generators, from `aliases.yaml`, and of the bundled ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from t2ibench.models.adapter import Alias, read_aliases
from t2ibench.models.bundled import bundled_model


def _bundled(name: str, description: str) -> Alias:
    return Alias(
        bundled_model(name),
        description,
        # it was taught to need two steps for what took four
        {"steps": "2", "guidance": "1", "channels_last": "true"},
        # Few stimuli carry each test, so most images go to them and not to their many counterparts.
        images_per_prompt=10,
        guided_images_per_prompt=3,
        fixed_batch=16,
        default_encoder="toy-clip",
        default_judge="toyland",
        # so small that a CPU will do, and images are the same on every machine
        device="cpu",
        licence="Apache-2.0",
        side=64,
    )


ALIASES: dict[str, Alias] = {
    "toy": _bundled("toy", "a small diffusion model with planted biases"),
    "toy-fair": _bundled("toy-fair", "the same, trained on balanced images"),
    **read_aliases(Path(__file__).with_suffix(".yaml")),
}


@dataclass(frozen=True, slots=True)
class PublishedSpeed:
    """A published duration of generating one image at the model's own size, in a batch of one."""

    seconds: float
    steps: int
    gpu: str
    source: str

    def at(self, steps: int | None) -> float:
        """Return the seconds for an image of another number of steps, in proportion to the steps.

        Examples:
            >>> PublishedSpeed(6.0, 50, "A100", "").at(25)
            3.0
        """
        return self.seconds * (steps or self.steps) / self.steps


_FAL = "github.com/fal-ai/stable-diffusion-benchmarks"
_A100 = "A100 80 GB, float16, diffusers"
# Speeds by alias, only of unchanged diffusers pipelines whose source states steps and GPU.
PUBLISHED: dict[str, PublishedSpeed] = {
    "sd15": PublishedSpeed(1.591, 50, _A100, _FAL),
    "sdxl": PublishedSpeed(5.933, 50, _A100, _FAL),
}
