"""The registry of all methods, by the names that task files use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.method import Method
from t2ibench.methods.core.scales import SCALES
from t2ibench.methods.core.schema import BaseTask
from t2ibench.registry import Registry
from t2ibench.settings import Settings

if TYPE_CHECKING:
    from t2ibench.methods.core.estimate import MethodResult
    from t2ibench.methods.core.evidence import Evidence, Needs
    from t2ibench.methods.core.presentation import Presentation

_NAMES = (
    "weat",
    "t2iat",
    "occupations",
    "mcas",
    "openbias",
    "tibet",
    "vibex",
    "edits",
)

METHODS: Registry[Method[Any]] = Registry(
    "method",
    {name: f"t2ibench.methods.{name}:METHOD" for name in _NAMES},
    hint="A package that is not installed here may add more.",
    members=tuple(field.name for field in fields(Method)),
)


def method_of(task: BaseTask) -> Method[Any]:
    """Return the method of a task; raise an error if its package is not installed."""
    return METHODS.get(task.method)


def method_named(name: str) -> Method[Any]:
    """Return the method of this name; a stand-in with only the name if it is not installed."""
    if name in METHODS:
        return METHODS.get(name)

    def refused(*_: object) -> Any:
        raise METHODS.unknown(name)

    return Method(BaseTask, refused, refused, refused, name)


def needs(task: BaseTask, settings: Settings) -> Needs:
    """Return the evidence that a task needs: prompts with image counts, texts and questions."""
    return method_of(task).needs(task, settings)


def needs_if_decided(task: BaseTask) -> Needs | None:
    """Return what a task needs at its own number of images; None if captions decide it.

    Also None if the package of its method is not installed here.
    """
    if task.awaits is not None:
        return None
    try:
        return needs(task, Settings())
    except T2IBenchError:
        return None


def score(task: BaseTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the scores of a task from one encoder's, or one judge's, evidence.

    Args:
        task: The task.
        evidence: What its needs ask for.
        settings: How the run measures.

    Returns:
        The headline, the scores and the rows.

    Raises:
        MissingEvidence: a text or an image that the task needs was never observed.
        T2IBenchError: the headline is on a scale that no package declares.
    """
    result = method_of(task).score(task, evidence, settings)
    if result.headline.scale not in SCALES:
        raise SCALES.unknown(result.headline.scale)
    return result


def combine(
    task: BaseTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the result of a task over all encoders or judges, from the result of each."""
    return method_of(task).combine(task, results, settings)


def presentation(task: BaseTask) -> Presentation:
    """Return how pages show a task's result; the task's title alone if its method does not say."""
    from t2ibench.methods.core.presentation import Presentation

    present = method_of(task).present
    return Presentation(task.title) if present is None else present(task)
