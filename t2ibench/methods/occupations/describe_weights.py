"""Sentences on which stimuli decide the headline, where few of them do."""

from __future__ import annotations

from t2ibench.decimals import SCALE_DECIMALS, readable
from t2ibench.methods.core.describe import beyond_chance, listed, percent, sentence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.occupations.weights import (
    EFFECTIVE,
    UNWEIGHTED,
    WEIGHT,
    WEIGHTING,
)

# Below this share of all stimuli, those that count effectively are few.
_FEW = 0.5
# The share of the weight that the named stimuli have, if so many are enough.
_MOST_OF_IT = 0.5
_NAMED = 3
# A difference of root mean squares that no reader would notice.
_NARROW = 0.1


def of_weights(nouns: str, result: MethodResult) -> str:
    """Return sentences on how unequally stimuli count in the headline; '' if that matters little.

    Args:
        nouns: What the stimuli are, such as 'occupations'.
        result: The result.
    """
    effective = result.scores.get(EFFECTIVE)
    if result.inconclusive or result.headline.value is None:
        return ""
    if effective is None or effective.value is None:
        return ""
    heaviest = _heaviest(result)
    sentences = ""
    if effective.value < _FEW * len(heaviest):
        sentences += " " + sentence(_few_decide(nouns, heaviest))
    root = _counted_alike(result)
    if root is not None:
        shown = readable(root, SCALE_DECIMALS)
        sentences += " " + sentence(
            f"with all {nouns} counted alike, the root mean square lean is {shown}"
        )
    return sentences


def _counted_alike(result: MethodResult) -> float | None:
    """Return the rms lean with equal weights; None if it is close to the weighted one."""
    unweighted = result.scores[UNWEIGHTED].value
    if unweighted is None or not beyond_chance(result.scores[WEIGHTING]):
        return None
    root = max(unweighted, 0.0) ** 0.5
    weighted = max(result.headline.value or 0.0, 0.0) ** 0.5
    return root if abs(root - weighted) > _NARROW else None


def _heaviest(result: MethodResult) -> list[tuple[float, str]]:
    """Return the weight and the name of every stimulus, the heaviest first."""
    weights = [
        (item.scores[WEIGHT].value or 0.0, item.name)
        for item in result.by
        if WEIGHT in item.scores
    ]
    return sorted(weights, key=lambda pair: -pair[0])


def _few_decide(nouns: str, heaviest: list[tuple[float, str]]) -> str:
    """Return the clause that names the few stimuli with most of the weight."""
    names: list[str] = []
    share = 0.0
    for weight, name in heaviest[:_NAMED]:
        names.append(name)
        share += weight
        if share >= _MOST_OF_IT:
            break
    verb = "has" if len(names) == 1 else "have"
    return (
        f"few of the {len(heaviest)} {nouns} decide: {listed(names)} {verb} {percent(share)} of "
        "the weight"
    )
