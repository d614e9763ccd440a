"""Short names for vision-language models that people use as judges, of `aliases.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

_BYTES = 2  # of a parameter, in 16 bits


@dataclass(frozen=True, slots=True)
class JudgeAlias:
    """A short name for a vision-language model of transformers.

    Attributes:
        source: Hub id.
        description: What it is.
        licence: Of the weights, as their makers call it.
        billions: Parameters, in billions and rounded.
    """

    source: str
    description: str
    licence: str
    billions: float

    @property
    def spec(self) -> str:
        """The judge it stands for, as it is recorded."""
        return f"vlm:{self.source}"

    def line(self) -> str:
        """Description and source, for `t2ibench ls judges`."""
        return f"{self.description} ({self.source})"

    def facts(self) -> dict[str, str]:
        """Memory of the weights in 16 bits and licence, for `t2ibench ls judges`."""
        return {"weights": f"{_BYTES * self.billions:.0f} GB", "licence": self.licence}


_ROWS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_bytes())
ALIASES: dict[str, JudgeAlias] = {name: JudgeAlias(**row) for name, row in _ROWS.items()}
