"""t2ibench: social bias in text-to-image models, measured with intervals, nulls and provenance.

Everything a program needs can be imported from here, and what a package needs to add parts of its
own from `t2ibench.plugins`. Importing either imports nothing else until one of its names is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from t2ibench.version import __version__

if TYPE_CHECKING:
    from t2ibench.api import (
        Frontier,
        Results,
        RunsComparison,
        Where,
        compare,
        evaluate,
        frontier,
        generate,
        load_tasks,
        read_results,
        score,
        where,
    )
    from t2ibench.apps.papers.call import reproduce
    from t2ibench.apps.papers.exhibits import Exhibit
    from t2ibench.apps.papers.reproduction import Reproduction
    from t2ibench.apps.watching.watcher import Watcher
    from t2ibench.errors import MissingEvidence, T2IBenchError
    from t2ibench.methods import MainScore, Method
    from t2ibench.models.adapter import Adapter, Request
    from t2ibench.models.language import Proposer, Rewriter, RewriteRequest, Rewriting
    from t2ibench.models.protocols import (
        Answer,
        Encoder,
        GeneratedImage,
        Generator,
        ImageRequest,
        Judge,
        Query,
    )
    from t2ibench.results import TaskResult
    from t2ibench.settings import RunSettings, Settings

# The module that defines each public name; it is imported when the name is first used.
_HOMES = {
    "t2ibench.api": (
        "Frontier",
        "Results",
        "RunsComparison",
        "Where",
        "compare",
        "evaluate",
        "frontier",
        "generate",
        "load_tasks",
        "read_results",
        "score",
        "where",
    ),
    "t2ibench.errors": ("MissingEvidence", "T2IBenchError"),
    "t2ibench.methods": ("MainScore", "Method"),
    "t2ibench.models.adapter": ("Adapter", "Request"),
    "t2ibench.models.language": ("Proposer", "RewriteRequest", "Rewriter", "Rewriting"),
    "t2ibench.models.protocols": (
        "Answer",
        "Encoder",
        "GeneratedImage",
        "Generator",
        "ImageRequest",
        "Judge",
        "Query",
    ),
    "t2ibench.apps.papers.exhibits": ("Exhibit",),
    "t2ibench.apps.papers.reproduction": ("Reproduction",),
    "t2ibench.apps.papers.call": ("reproduce",),
    "t2ibench.apps.watching.watcher": ("Watcher",),
    "t2ibench.results": ("TaskResult",),
    "t2ibench.settings": ("RunSettings", "Settings"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Adapter",
    "Answer",
    "Encoder",
    "Exhibit",
    "Frontier",
    "GeneratedImage",
    "Generator",
    "ImageRequest",
    "Judge",
    "MainScore",
    "Method",
    "MissingEvidence",
    "Proposer",
    "Query",
    "Reproduction",
    "Request",
    "Results",
    "RewriteRequest",
    "Rewriter",
    "Rewriting",
    "RunSettings",
    "RunsComparison",
    "Settings",
    "T2IBenchError",
    "TaskResult",
    "Watcher",
    "Where",
    "__version__",
    "compare",
    "evaluate",
    "frontier",
    "generate",
    "load_tasks",
    "read_results",
    "reproduce",
    "score",
    "where",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 't2ibench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
