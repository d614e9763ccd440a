"""Proposers by name: language models, and lists of words, that propose biases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.models.adapter import Adapter
from t2ibench.models.language import Message, Proposer
from t2ibench.models.resolution import create
from t2ibench.registry import Registry

__all__ = ["PROPOSERS", "Message", "Proposer", "create_proposer"]

PROPOSERS: Registry[Adapter[Proposer]] = Registry(
    "proposer",
    {
        "hf": "t2ibench.models.proposers.chat:HF",
        "openai": "t2ibench.models.proposers.chat:OPENAI",
        "litellm": "t2ibench.models.proposers.chat:LITELLM",
        "word-lists": "t2ibench.models.proposers.word_lists:ADAPTER",
    },
)


def create_proposer(
    spec: str | Proposer,
    args: Mapping[str, Any] | None = None,
    *,
    device: str | None = None,
    dtype: str | None = None,
) -> Proposer:
    """Make a proposer."""
    return create(PROPOSERS, Proposer, spec, args, device=device, dtype=dtype)
