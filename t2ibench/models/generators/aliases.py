"""Short names for well-known generators, and for those that come with t2ibench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.models.adapter import Sizes
from t2ibench.models.bundled import bundled_model

_BYTES = 2  # of a parameter, in 16 bits


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
        device: Where it runs unless one is named; None to choose.
        licence: Of the weights, as their makers call it; empty where their card has to be read.
        side: Pixels of a side of the images it was trained for.
        billions: Parameters of all its parts, text encoders included, in billions and rounded.
    """

    source: str | Path
    description: str
    args: Mapping[str, str] = field(default_factory=dict)
    sizes: Sizes = field(default_factory=Sizes)
    default_encoder: str | None = None
    default_judge: str | None = None
    device: str | None = None
    licence: str = ""
    side: int | None = None
    billions: float | None = None

    @property
    def gigabytes(self) -> float | None:
        """About the size of its weights in 16 bits, on disk and in memory; None if unknown."""
        return None if self.billions is None else _BYTES * self.billions

    def facts(self) -> dict[str, str]:
        """Pixels of a side, weights and licence, for `t2ibench ls models`."""
        weights = "" if self.gigabytes is None else f"{self.gigabytes:.0f} GB"
        return {
            "pixels": "" if self.side is None else str(self.side),
            "weights": weights,
            "licence": self.licence or "see its card",
        }

    def line(self) -> str:
        """Description, source and arguments, for `t2ibench ls`."""
        args = ",".join(f"{key}={value}" for key, value in self.args.items())
        where = "bundled" if isinstance(self.source, Path) else self.source
        return f"{self.description} ({where}{f'; {args}' if args else ''})"


_UNGUIDED = {"guidance": "0"}
_STABILITY = "Stability AI Community"
_OPENRAIL = "CreativeML Open RAIL++-M"
_APACHE = "Apache-2.0"


def _bundled(name: str, description: str) -> Alias:
    return Alias(
        bundled_model(name),
        description,
        {"steps": "4", "guidance": "1"},
        # Few stimuli carry each test, so most images go to them and not to their many counterparts.
        Sizes(images_per_prompt=10, guided_images_per_prompt=3, fixed_batch=16),
        default_encoder="toy-clip",
        default_judge="toyland",
        device="cpu",  # so small that a CPU will do, and images are the same on every machine
        licence="Apache-2.0",
        side=64,
    )


def _hub(
    source: str,
    description: str,
    licence: str,
    side: int,
    billions: float,
    args: Mapping[str, str] | None = None,
) -> Alias:
    return Alias(source, description, args or {}, licence=licence, side=side, billions=billions)


# Steps and guidance stand here only where a pipeline's own defaults are those of another model.
ALIASES: dict[str, Alias] = {
    "toy": _bundled("toy", "a small diffusion model with planted biases"),
    "toy-fair": _bundled("toy-fair", "the same, trained on balanced images"),
    "sd15": _hub(
        "stable-diffusion-v1-5/stable-diffusion-v1-5",
        "Stable Diffusion 1.5",
        "CreativeML Open RAIL-M",
        512,
        1.1,
    ),
    "sd21": _hub("stabilityai/stable-diffusion-2-1", "Stable Diffusion 2.1", _OPENRAIL, 768, 1.3),
    "sd21-base": _hub(
        "stabilityai/stable-diffusion-2-1-base",
        "Stable Diffusion 2.1, 512 x 512",
        _OPENRAIL,
        512,
        1.3,
    ),
    "sdxl": _hub(
        "stabilityai/stable-diffusion-xl-base-1.0", "Stable Diffusion XL", _OPENRAIL, 1024, 3.5
    ),
    "sdxl-turbo": _hub(
        "stabilityai/sdxl-turbo", "SDXL Turbo", "", 512, 3.5, {"steps": "1", **_UNGUIDED}
    ),
    "sd3-medium": _hub(
        "stabilityai/stable-diffusion-3-medium-diffusers",
        "Stable Diffusion 3 Medium",
        _STABILITY,
        1024,
        7.7,
    ),
    "sd3.5-medium": _hub(
        "stabilityai/stable-diffusion-3.5-medium",
        "Stable Diffusion 3.5 Medium",
        _STABILITY,
        1024,
        8.2,
    ),
    "sd3.5-large": _hub(
        "stabilityai/stable-diffusion-3.5-large",
        "Stable Diffusion 3.5 Large",
        _STABILITY,
        1024,
        13.8,
    ),
    "sd3.5-large-turbo": _hub(
        "stabilityai/stable-diffusion-3.5-large-turbo",
        "Stable Diffusion 3.5 Large Turbo",
        _STABILITY,
        1024,
        13.8,
        {"steps": "4", **_UNGUIDED},
    ),
    "flux-schnell": _hub(
        "black-forest-labs/FLUX.1-schnell",
        "FLUX.1 schnell",
        _APACHE,
        1024,
        17,
        {"steps": "4", **_UNGUIDED},
    ),
    "flux-dev": _hub(
        "black-forest-labs/FLUX.1-dev", "FLUX.1 dev", "FLUX.1 [dev] Non-Commercial", 1024, 17
    ),
    "flux2-dev": _hub(
        "black-forest-labs/FLUX.2-dev", "FLUX.2 dev", "FLUX.2 [dev] Non-Commercial", 1024, 56
    ),
    "flux2-klein": _hub(
        "black-forest-labs/FLUX.2-klein-4B",
        "FLUX.2 klein 4B",
        _APACHE,
        1024,
        8,
        {"steps": "4", "guidance": "1"},
    ),
    "qwen-image": _hub(
        "Qwen/Qwen-Image", "Qwen-Image", _APACHE, 1328, 29, {"negative_prompt": " "}
    ),
    "z-image-turbo": _hub(
        "Tongyi-MAI/Z-Image-Turbo",
        "Z-Image Turbo",
        _APACHE,
        1024,
        10,
        {"steps": "8", **_UNGUIDED},
    ),
    "chroma": _hub("lodestones/Chroma1-HD", "Chroma1 HD", _APACHE, 1024, 14),
    "kandinsky5": _hub(
        "kandinskylab/Kandinsky-5.0-T2I-Lite-sft-Diffusers",
        "Kandinsky 5.0 Image Lite",
        "MIT",
        1024,
        15,
    ),
    "lumina2": _hub("Alpha-VLLM/Lumina-Image-2.0", "Lumina-Image 2.0", _APACHE, 1024, 5.3),
    "cogview4": _hub("zai-org/CogView4-6B", "CogView4", _APACHE, 1024, 15),
    "sana": _hub(
        "Efficient-Large-Model/Sana_1600M_1024px_BF16_diffusers",
        "Sana 1.6B",
        "",
        1024,
        4.5,
    ),
    "sana-sprint": _hub(
        "Efficient-Large-Model/Sana_Sprint_1.6B_1024px_diffusers",
        "Sana Sprint 1.6B",
        "",
        1024,
        4.5,
    ),
    "pixart-sigma": _hub(
        "PixArt-alpha/PixArt-Sigma-XL-2-1024-MS", "PixArt Sigma", _OPENRAIL, 1024, 5.4
    ),
    "auraflow": _hub("fal/AuraFlow-v0.3", "AuraFlow 0.3", _APACHE, 1024, 8.3),
}
