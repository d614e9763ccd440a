"""The bias methods: what evidence each needs, and what score that evidence gives.

Pure functions on numpy arrays; nothing here imports a model, a store or torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from t2ibench.methods import judges, mcas, occupations, openbias, t2iat, tibet, vibex, weat
from t2ibench.methods.estimate import MethodResult, average_results
from t2ibench.methods.evidence import Evidence
from t2ibench.methods.needs import Needs, Settings
from t2ibench.tasks.schema import AnyTask

_MODULES: dict[str, Any] = {
    "weat": weat,
    "t2iat": t2iat,
    "occupations": occupations,
    "mcas": mcas,
    "openbias": openbias,
    "tibet": tibet,
    "vibex": vibex,
}

__all__ = ["Evidence", "MethodResult", "Needs", "Settings", "combine", "needs", "score"]


def needs(task: AnyTask, settings: Settings) -> Needs:
    """The evidence a task asks for."""
    found: Needs = _MODULES[task.method].needs(task, settings)
    return found


def score(task: AnyTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """The scores of a task from one encoder's evidence."""
    found: MethodResult = _MODULES[task.method].score(task, evidence, settings)
    return found


def combine(task: AnyTask, results: Sequence[MethodResult], settings: Settings) -> MethodResult:
    """The scores of a task over all encoders, from those of each."""
    if task.method == "mcas":
        return mcas.combine(task, results, settings)
    if task.method == "openbias":
        return judges.combine(results)
    return average_results(results)
