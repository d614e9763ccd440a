"""Rewriters by name: what stands before a generator and rewrites prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.language import Rewriter
from t2ibench.models.resolution import checked, closest, find_registered, find_target, forms, made
from t2ibench.registry import Registry

__all__ = ["REWRITERS", "Rewriter", "create_rewriter"]

REWRITERS: Registry[Adapter[Rewriter]] = Registry(
    "rewriter",
    {
        "hf": "t2ibench.models.rewriters.hf:ADAPTER",
        "openai": "t2ibench.models.rewriters.openai:ADAPTER",
        "litellm": "t2ibench.models.rewriters.openai:LITELLM",
        "file": "t2ibench.models.rewriters.file:ADAPTER",
    },
)


def create_rewriter(
    spec: str | Rewriter,
    args: Mapping[str, Any] | None = None,
    *,
    device: str | None = None,
    dtype: str | None = None,
    recorded: bool = False,
) -> Rewriter:
    """Make a rewriter. Weights are loaded when it first rewrites."""
    if not isinstance(spec, str):
        name = getattr(spec, "name", type(spec).__name__)
        if args:
            raise T2IBenchError(f"'{name}' is an object; it does not take rewriter arguments.")
        return _checked(checked(spec, Rewriter, "rewriter", str(name)))
    resolved = find_registered(REWRITERS, spec) or find_target(REWRITERS, spec, recorded=recorded)
    if resolved is None:
        raise T2IBenchError(
            f"Unknown rewriter '{shown(spec)}'.{closest(spec, REWRITERS)}",
            f"Rewriters: {', '.join(forms(REWRITERS))}, package.module:factory.",
        )
    request = Request(
        spec=spec,
        source=resolved.source,
        args=read_args(resolved.adapter.Args, args or {}, spec, flag="--rewriter-args"),
        device=device,
        dtype=dtype,
        recorded=recorded,
    )
    model: Rewriter = made(resolved.adapter, request, Rewriter, "rewriter")
    return _checked(model)


def _checked(rewriter: Rewriter) -> Rewriter:
    if rewriter.per not in {"prompt", "image"}:
        raise T2IBenchError(
            f"The rewriter '{rewriter.name}' has per={rewriter.per!r}; expected prompt or image."
        )
    return rewriter
