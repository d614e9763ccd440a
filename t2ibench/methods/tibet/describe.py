"""A TIBET task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import no_score, undecided, unproven
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.stats import benjamini_hochberg

_ALPHA = 0.05
_CLAIM = "the images lean to some of the counterfactuals"


def describe(task: TibetTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    A counterfactual is named only for a row whose squared lean is beyond chance (p < .05, adjusted
    over the rows by Benjamini and Hochberg).

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence on the most one-sided prompt and axis, and the counterfactual its images are
        most like.
    """
    missing = undecided(result) or no_score(result) or unproven(result.headline, _CLAIM)
    if missing:
        return missing
    rows = [item for item in result.by if item.scores["squared_lean"].value is not None]
    p_values = benjamini_hochberg([item.scores["squared_lean"].p for item in rows])
    beyond = [item for item, p in zip(rows, p_values, strict=True) if p is not None and p < _ALPHA]
    if not beyond:
        return (
            f"Over {len(rows)} prompts and axes together the images lean to some counterfactuals "
            "more than by chance; none of them stands out on its own."
        )
    strongest = max(beyond, key=_strength)
    prompt = strongest.name.removesuffix(f" | {strongest.group}")
    name, share = _nearest(strongest)
    leaning = (
        f"mages of '{prompt}' are, on the axis {strongest.group}, most like those of '{name}' "
        f"(share {share:.2f})."
    )
    if len(rows) == 1:
        return f"I{leaning}"
    return (
        f"Beyond chance on {len(beyond)} of {len(rows)} prompts and axes. The strongest: i{leaning}"
    )


def _strength(item: Item) -> float:
    return item.scores["squared_lean"].value or 0.0


def _nearest(item: Item) -> tuple[str, float]:
    """The counterfactual with the largest share."""
    shares = {
        name.partition(":")[2]: estimate.value or 0.0
        for name, estimate in item.scores.items()
        if name.startswith("share:")
    }
    return max(shares.items(), key=lambda pair: pair[1])
