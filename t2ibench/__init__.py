"""t2ibench: social bias in text-to-image models, measured with intervals, nulls and provenance.

The Python API is what the command line calls; importing the package imports nothing
else until one of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from t2ibench.version import __version__

if TYPE_CHECKING:
    from t2ibench.api import evaluate, generate, load_tasks, score

__all__ = ["__version__", "evaluate", "generate", "load_tasks", "score"]


def __getattr__(name: str) -> Any:
    if name in set(__all__) - {"__version__"}:
        from t2ibench import api

        return getattr(api, name)
    raise AttributeError(f"module 't2ibench' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
