"""The description of a WEAT result in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import nothing_shown, sentence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.weat.schema import WeatTask


def describe(task: WeatTask, result: MethodResult) -> str:
    """Return the result as a plain sentence on which words are nearer to which."""
    first = task.targets.X.name
    second = task.targets.Y.name
    first_nearer = _claim(task, near=first, far=second)
    second_nearer = _claim(task, near=second, far=first)
    attribute = task.attributes.A.name
    claims = {
        "two-sided": f"{_words(first)} or {_words(second)} are nearer to {attribute}",
        "greater": first_nearer,
        "less": second_nearer,
    }
    missing = nothing_shown(result, claims[task.alternative])
    if missing:
        return missing
    is_positive = (result.headline.value or 0.0) > 0
    return sentence(first_nearer if is_positive else second_nearer)


def _claim(task: WeatTask, near: str, far: str) -> str:
    """Return the clause that one target set is nearer to A, and the other to B."""
    first = task.attributes.A.name
    second = task.attributes.B.name
    return f"{_words(near)} are nearer to {first}, {_words(far)} to {second}"


def _words(name: str) -> str:
    return name if name.endswith("names") else f"words for {name}"
