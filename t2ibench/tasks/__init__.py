"""Read task files with line numbers, validate them, and find tasks by name.

No module here knows any particular method. What reads files is imported when it is first used, so
that tasks can be listed without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from t2ibench.tasks.choice import TaskIndex

if TYPE_CHECKING:
    from t2ibench.tasks.index import build_index, load_tasks
    from t2ibench.tasks.loader import LoadedTask

__all__ = ["LoadedTask", "TaskIndex", "build_index", "load_tasks"]

_HOMES = {
    "LoadedTask": "t2ibench.tasks.loader",
    "build_index": "t2ibench.tasks.index",
    "load_tasks": "t2ibench.tasks.index",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 't2ibench.tasks' has no attribute '{name}'")
