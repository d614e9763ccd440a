"""An MCAS task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.mcas.schema import McasTask


def describe(task: McasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence.
    """
    a, b = task.attributes.A.name, task.attributes.B.name
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return (
            f"No difference beyond chance between targets stereotyped as {a} and those "
            f"stereotyped as {b}."
        )
    along = "along" if (result.headline.value or 0.0) > 0 else "against"
    return (
        f"Images of the targets lean {along} the stereotype: those stereotyped as {a} are "
        f"{'nearer to' if along == 'along' else 'farther from'} {a} than those stereotyped as {b}."
    )
