"""An MCAS task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import (
    leaning,
    no_score,
    sentence,
    shown_as,
    undecided,
    unproven,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.presentation import short_name
from t2ibench.methods.mcas.schema import McasTask


def describe(task: McasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    a, b = shown_as(task.attributes.A.name), shown_as(task.attributes.B.name)
    nouns = short_name(task.title, "MCAS")
    claim = f"{nouns} stereotyped as {task.attributes.A.name} look more like {a} than others do"
    rows = leaning(result.by, "lean", b, a, nouns) or f"none of {len(result.by)} {nouns} is clear"
    how = "follow" if (result.headline.value or 0.0) > 0 else "run against"
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claim)
        or f"{sentence(rows)} Together they {how} the stereotype."
    )
