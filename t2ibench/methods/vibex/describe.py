"""A ViBEx task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.score import tendency


def describe(task: VibexTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence on the concept that tells the anchors apart most.
    """
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return "No test concept tells the anchors apart more than chance alone."
    forward = [item for item in result.by if item.group == "forward"]
    strongest = max(forward, key=lambda item: item.scores["D"].value or 0.0)
    return (
        f"'{strongest.name}' tells the anchors apart most: images of "
        f"'{tendency(task, strongest)}' are nearest to it."
    )
