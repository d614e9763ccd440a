"""Create rewriters by name; they rewrite prompts before a generator gets them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.adapter import Adapter
from t2ibench.models.downloads import Download
from t2ibench.models.language import Rewriter
from t2ibench.models.resolution import create, downloads_of
from t2ibench.registry import Registry

REWRITERS: Registry[Adapter[Rewriter]] = Registry(
    "rewriter",
    {
        "hf": "t2ibench.models.rewriters.chat:HF",
        "openai": "t2ibench.models.rewriters.chat:OPENAI",
        "litellm": "t2ibench.models.rewriters.chat:LITELLM",
        "file": "t2ibench.models.rewriters.file:ADAPTER",
    },
)


def rewriter_downloads(
    spec: str, args: Mapping[str, Any] | None = None
) -> Sequence[Download] | None:
    """Return what a rewriter downloads from the hub; None if its adapter does not declare it."""
    return downloads_of(REWRITERS, spec, args)


def create_rewriter(
    spec: str | Rewriter, args: Mapping[str, Any] | None = None, **where: Any
) -> Rewriter:
    """Create a rewriter (see `create`); its weights are loaded when it first rewrites."""
    rewriter = create(REWRITERS, Rewriter, spec, args, **where)
    if rewriter.per not in {"prompt", "image"}:
        raise T2IBenchError(
            f"The rewriter '{rewriter.name}' has per={rewriter.per!r}; expected prompt or image."
        )
    return rewriter
