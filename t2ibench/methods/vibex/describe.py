"""A ViBEx task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import listed, no_score, sentence, undecided, unproven
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.verdicts import verdicts

_NAMED = 3  # concepts in a sentence


def describe(task: VibexTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    missing = undecided(result) or no_score(result)
    if missing:
        return missing
    anchors = listed([f"'{anchor.name}'" for anchor in task.anchors])
    claim = f"the test concepts tell images of {anchors} apart further than everyday words do"
    whole = unproven(result.headline, claim)
    whole = whole or sentence(claim)
    found = verdicts(task, result.by)
    leaning = [one for one in found if one.anchor is not None]
    split = [f"'{one.concept}'" for one in found if one.verdict.contradiction]
    parts = [whole.rstrip(".")]
    if leaning:
        named = [f"'{one.concept}' to '{one.anchor}'" for one in leaning[:_NAMED]]
        more = f" and {len(leaning) - _NAMED} more" if len(leaning) > _NAMED else ""
        verb = "lean" if len(leaning) > 1 else "leans"
        first, *rest = named
        listing = "".join(f", {name}" for name in rest)
        parts.append(f"{first.replace(' to ', f' {verb} to ', 1)}{listing}{more}")
    else:
        parts.append("no concept does on its own")
    if split:
        parts.append(f"of {listed(split[:_NAMED])} word and images disagree")
    return "; ".join(parts) + "."
