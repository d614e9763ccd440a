"""What a run records of its rewriter."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from t2ibench.models.language import Per


class RewriterInfo(BaseModel):
    """A rewriter as a run records it.

    Attributes:
        name: Its name for people.
        fingerprint: SHA-256 over everything that decides a rewriting.
        per: 'prompt' where all images of a prompt share a rewriting, else 'image'.
        settings: Its settings, such as the instruction and the temperature.
        generator: Fingerprint of the generator alone, as it would be without the rewriter.
        generator_name: Name of the generator alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(max_length=300)
    fingerprint: str
    per: Per = "prompt"
    settings: dict[str, Any] = Field(default_factory=dict)
    generator: str = ""
    generator_name: str = ""
