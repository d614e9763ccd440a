"""A TIBET task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import clear_rows, no_score, undecided, unproven
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.tibet.schema import TibetTask

_CLAIM = "the images look like some of the counterfactuals when none is asked for"


def describe(task: TibetTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    missing = undecided(result) or no_score(result) or unproven(result.headline, _CLAIM)
    if missing:
        return missing
    axes = {item.group for item in result.by}
    rows = "prompts" if len(axes) == 1 else "prompts and axes"
    axis = min(str(name) for name in axes) if len(axes) == 1 else "counterfactual"
    like = f"one {axis}"
    clear = clear_rows(result.by, "squared_lean")
    count = f"{len(clear)} of {len(result.by)} {rows}"
    if not clear:
        told = f"Together the {rows} look like {like} even when none is asked for"
        return f"{told}; no single one is clear."
    strongest = clear[0]
    prompt = strongest.name.removesuffix(f" | {strongest.group}")
    name, share = _nearest(strongest)
    seen = f"{min(share, 1):.2f}" + (f", estimate {share:.2f}" if share > 1 else "")
    if len(result.by) == 1:
        return f"'{prompt}' looks like '{name}' (share {seen}) even when no {axis} is asked for."
    most = "most of all " if len(clear) > 1 else ""
    verb = "looks" if len(clear) == 1 else "look"
    return (
        f"{count} {verb} like {like} even when none is asked for: {most}'{prompt}', like '{name}' "
        f"(share {seen})."
    )


def _nearest(item: Item) -> tuple[str, float]:
    """The counterfactual with the largest share."""
    shares = {
        name.partition(":")[2]: estimate.value or 0.0
        for name, estimate in item.scores.items()
        if name.startswith("share:")
    }
    return max(shares.items(), key=lambda pair: pair[1])
