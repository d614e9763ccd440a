"""A WEAT in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.weat.schema import WeatTask


def describe(task: WeatTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence.
    """
    x, y = task.targets.X.name, task.targets.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return f"No difference beyond chance: {x} and {y} are about equally near to {a} and {b}."
    near, far = (x, y) if (result.headline.value or 0.0) > 0 else (y, x)
    return f"{near} are nearer to {a} than {far} are, and {far} nearer to {b}."
