"""A TIBET task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.tibet.schema import TibetTask


def describe(task: TibetTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence on the strongest axis and the counterfactual its images are most like.
    """
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return "The images are about as like each counterfactual as an even mixture would be."
    rows = [item for item in result.by if item.scores["mad"].value is not None]
    strongest = max(rows, key=lambda item: item.scores["mad"].value or 0.0)
    shares = {
        name.partition(":")[2]: estimate.value or 0.0
        for name, estimate in strongest.scores.items()
        if name.startswith("cas_share:")
    }
    prompt = strongest.name.removesuffix(f" | {strongest.group}")
    nearest = max(shares, key=lambda name: shares[name])
    return (
        f"Most one-sided of {len(rows)} prompts and axes: images of '{prompt}' are, on the axis "
        f"{strongest.group}, most like those of '{nearest}'."
    )
