"""Short names for well-known generators, and for those that come with t2ibench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.models.adapter import Sizes
from t2ibench.models.bundled import bundled_model


@dataclass(frozen=True, slots=True)
class Alias:
    """A short name for a diffusers pipeline.

    Attributes:
        source: Hub id, or the folder of a model that comes with t2ibench.
        description: What it is.
        args: Arguments it needs to work as its makers meant; the user's own win.
        sizes: How many images it generates by default.
        default_encoder: Encoder of a run that names none; None is that of t2ibench.
        default_judge: The same for the judge.
    """

    source: str | Path
    description: str
    args: Mapping[str, str] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=Sizes)
    default_encoder: str | None = None
    default_judge: str | None = None

    def line(self) -> str:
        """Description, source and arguments, for `t2ibench ls`."""
        args = ",".join(f"{key}={value}" for key, value in self.args.items())
        where = "bundled" if isinstance(self.source, Path) else self.source
        return f"{self.description} ({where}{f'; {args}' if args else ''})"


_FEW_STEPS = {"guidance": "0"}


def _bundled(name: str, description: str) -> Alias:
    return Alias(
        bundled_model(name),
        description,
        {"steps": "4", "guidance": "1"},
        # Few stimuli carry each test, so most images go to them and not to their many counterparts.
        Sizes(images_per_prompt=10, guided_images_per_prompt=3, fixed_batch=16),
        default_encoder="toy-clip",
        default_judge="toyland",
    )


ALIASES: dict[str, Alias] = {
    "toy": _bundled("toy", "a small diffusion model with planted biases"),
    "toy-fair": _bundled("toy-fair", "the same, trained on balanced images"),
    "sd15": Alias("stable-diffusion-v1-5/stable-diffusion-v1-5", "Stable Diffusion 1.5"),
    "sd21": Alias("stabilityai/stable-diffusion-2-1", "Stable Diffusion 2.1"),
    "sd21-base": Alias("stabilityai/stable-diffusion-2-1-base", "Stable Diffusion 2.1, 512 x 512"),
    "sdxl": Alias("stabilityai/stable-diffusion-xl-base-1.0", "Stable Diffusion XL"),
    "sdxl-turbo": Alias("stabilityai/sdxl-turbo", "SDXL Turbo", {"steps": "1", **_FEW_STEPS}),
    "sd3.5-medium": Alias("stabilityai/stable-diffusion-3.5-medium", "Stable Diffusion 3.5 Medium"),
    "flux-schnell": Alias(
        "black-forest-labs/FLUX.1-schnell", "FLUX.1 schnell", {"steps": "4", **_FEW_STEPS}
    ),
    "flux-dev": Alias("black-forest-labs/FLUX.1-dev", "FLUX.1 dev"),
    "pixart-sigma": Alias("PixArt-alpha/PixArt-Sigma-XL-2-1024-MS", "PixArt Sigma"),
}
