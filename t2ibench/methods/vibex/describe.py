"""A ViBEx task in a sentence."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.describe import beyond_chance, listed, no_score
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.score import anchor_values


def describe(task: VibexTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    A concept is named only where its own D is beyond chance (p < .05, not adjusted for the number
    of concepts). Anchors are named only where the interval of the difference of their
    probabilities leaves out 0 too: anchors can also differ in their spread alone.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence on the concept that tells the anchors apart most.
    """
    missing = no_score(result)
    if missing:
        return missing
    anchors = listed([f"'{anchor.name}'" for anchor in task.anchors])
    if not beyond_chance(result.headline):
        return f"The test concepts do not tell {anchors} apart more than by chance."
    forward = [item for item in result.by if item.group == "forward"]
    beyond = [item for item in forward if beyond_chance(item.scores["D"])]
    if not beyond:
        return (
            f"Over {len(forward)} test concepts together {anchors} differ more than by chance; no "
            "concept stands out on its own."
        )
    strongest = max(beyond, key=lambda item: item.scores["D"].value or 0.0)
    return f"'{strongest.name}' tells {anchors} apart most: {_direction(task, strongest)}."


def _direction(task: VibexTask, item: Item) -> str:
    """Whose images are nearest to a concept and, of more than two anchors, whose are farthest."""
    values = anchor_values(task, item)
    nearest = max(values, key=lambda name: values[name])
    farthest = min(values, key=lambda name: values[name])
    first, second = (item.scores[f"probability:{name}"].boot for name in (nearest, farthest))
    if first is None or second is None or np.percentile(first - second, 2.5) <= 0.0:
        return "their similarities to it differ, and not in one direction alone"
    text = f"images of '{nearest}' are nearest to it on average"
    return f"{text}, those of '{farthest}' farthest" if len(values) > 2 else text
