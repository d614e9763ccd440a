"""Proposers by name: language models that propose biases, and replies they gave before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.models.adapter import Adapter
from t2ibench.models.language import Message, Proposer
from t2ibench.models.proposers.replay import conversation_key
from t2ibench.models.resolution import create
from t2ibench.registry import Registry

__all__ = ["PROPOSERS", "Message", "Proposer", "conversation_key", "create_proposer"]

PROPOSERS: Registry[Adapter[Proposer]] = Registry(
    "proposer",
    {
        "hf": "t2ibench.models.proposers.chat:HF",
        "openai": "t2ibench.models.proposers.chat:OPENAI",
        "litellm": "t2ibench.models.proposers.chat:LITELLM",
        "replay": "t2ibench.models.proposers.replay:ADAPTER",
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
