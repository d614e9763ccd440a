"""Proposers by name: language models that propose biases, and replies they gave before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.language import Message, Proposer
from t2ibench.models.proposers.replay import conversation_key
from t2ibench.models.resolution import checked, closest, find_registered, find_target, forms, made
from t2ibench.registry import Registry

__all__ = ["PROPOSERS", "Message", "Proposer", "conversation_key", "create_proposer"]

PROPOSERS: Registry[Adapter[Proposer]] = Registry(
    "proposer",
    {
        "hf": "t2ibench.models.proposers.hf:ADAPTER",
        "openai": "t2ibench.models.proposers.openai:ADAPTER",
        "litellm": "t2ibench.models.proposers.openai:LITELLM",
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
    if not isinstance(spec, str):
        name = getattr(spec, "name", type(spec).__name__)
        return checked(spec, Proposer, "proposer", str(name))
    resolved = find_registered(PROPOSERS, spec) or find_target(PROPOSERS, spec)
    if resolved is None:
        raise T2IBenchError(
            f"Unknown proposer '{shown(spec)}'.{closest(spec, PROPOSERS)}",
            f"Proposers: {', '.join(forms(PROPOSERS))}.",
        )
    request = Request(
        spec=spec,
        source=resolved.source,
        args=read_args(resolved.adapter.Args, args or {}, spec, flag="--proposer-args"),
        device=device,
        dtype=dtype,
    )
    model: Proposer = made(resolved.adapter, request, Proposer, "proposer")
    return model
