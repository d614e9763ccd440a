"""Short names for well-known generators, of `aliases.yaml`, and for the bundled ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from t2ibench.models.adapter import Sizes
from t2ibench.models.bundled import bundled_model

Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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


_ROWS = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), Loader)
ALIASES: dict[str, Alias] = {
    "toy": _bundled("toy", "a small diffusion model with planted biases"),
    "toy-fair": _bundled("toy-fair", "the same, trained on balanced images"),
    **{name: Alias(**row) for name, row in _ROWS.items()},
}
