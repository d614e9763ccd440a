"""A T2IAT in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import (
    no_score,
    sentence,
    shown_as,
    undecided,
    unproven,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.t2iat.schema import T2iatTask


def describe(task: T2iatTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    x, y = task.concepts.X.name, task.concepts.Y.name
    a, b = shown_as(task.attributes.A.name), shown_as(task.attributes.B.name)
    claim = f"images of {x} look more like {a} or {b} than images of {y} do"
    lean = result.headline.value or 0.0
    near, far = (a, b) if lean > 0 else (b, a)
    direction = f"images of {x} look more like {near}, images of {y} more like {far} ({lean:+.2f})"
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claim)
        or sentence(direction)
    )
