"""A T2IAT in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.t2iat.schema import T2iatTask


def describe(task: T2iatTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence, such as 'science is drawn more like male than arts is'.
    """
    x, y = task.concepts.X.name, task.concepts.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return (
            f"No difference beyond chance: images of {x} and of {y} are about equally like those "
            f"with {a} and with {b}."
        )
    near, far = (x, y) if (result.headline.value or 0.0) > 0 else (y, x)
    return (
        f"Images of {near} are more like those with {a}, rather than {b}, than images of {far} are."
    )
