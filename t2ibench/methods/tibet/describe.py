"""A TIBET task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.tibet.schema import TibetTask


def describe(task: TibetTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    A counterfactual is named only for a row whose own MAD is beyond chance (p < .05, not adjusted
    for the number of rows).

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence on the most one-sided prompt and axis, and the counterfactual its images are
        most like.
    """
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return "The images are about as like each counterfactual as an even mixture would be."
    rows = [item for item in result.by if item.scores["mad"].value is not None]
    beyond = [item for item in rows if beyond_chance(item.scores["mad"])]
    if not beyond:
        return (
            f"Over {len(rows)} prompts and axes together the images lean to some counterfactuals "
            "more than by chance; none of them stands out on its own."
        )
    strongest = max(beyond, key=_strength)
    prompt = strongest.name.removesuffix(f" | {strongest.group}")
    leaning = (
        f"mages of '{prompt}' are, on the axis {strongest.group}, most like those of "
        f"'{_nearest(strongest)}'."
    )
    if len(rows) == 1:
        return f"I{leaning}"
    return (
        f"Beyond chance on {len(beyond)} of {len(rows)} prompts and axes. The strongest: i{leaning}"
    )


def _strength(item: Item) -> float:
    """The debiased MAD; the more counterfactuals, the smaller MAD is by chance."""
    estimate = item.scores.get("mad_debiased", item.scores["mad"])
    return estimate.value or 0.0


def _nearest(item: Item) -> str:
    """The counterfactual with the largest share."""
    shares = {
        name.partition(":")[2]: estimate.value or 0.0
        for name, estimate in item.scores.items()
        if name.startswith("cas_share:")
    }
    return max(shares, key=lambda name: shares[name])
