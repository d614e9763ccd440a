"""The description of a ViBEx result in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.describe import listed, nothing_shown, sentence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.verdicts import ConceptVerdict, verdicts_of

# Concepts that a sentence names.
_MOST_NAMED = 3


def describe(task: VibexTask, result: MethodResult) -> str:
    """Return the result as plain sentences on whether concepts lean, and which to which anchor."""
    missing = nothing_shown(result)
    if missing:
        return missing
    names = [anchor.name for anchor in task.anchors]
    claim = (
        f"the concepts tell images of {listed(names)} apart further than everyday words "
        "do"
    )
    verdicts = verdicts_of(task, result.by)
    sentences = [nothing_shown(result, claim) or sentence(claim)]
    sentences += _leaning_concepts(verdicts, names) or [
        "No concept is clear by itself."
    ]
    contradictory = [
        f"'{row.concept}'" for row in verdicts if row.verdict.contradiction
    ]
    if contradictory:
        concepts = listed(contradictory[:_MOST_NAMED])
        sentences.append(f"The word and the images of {concepts} disagree.")
    return " ".join(sentences)


def _leaning_concepts(
    verdicts: Sequence[ConceptVerdict], anchors: Sequence[str]
) -> list[str]:
    """Return, for each anchor, a sentence that names the concepts that clearly lean to it."""
    concepts_of_anchors: dict[str, list[str]] = {}
    for row in verdicts:
        if row.verdict.side is not None:
            anchor = anchors[row.verdict.side]
            concepts_of_anchors.setdefault(anchor, []).append(f"'{row.concept}'")
    sentences = []
    for anchor, concepts in concepts_of_anchors.items():
        verb = "lean" if len(concepts) > 1 else "leans"
        sentences.append(f"{listed(concepts, _MOST_NAMED)} {verb} clearly to {anchor}.")
    return sentences
