"""An occupations task in a sentence."""

from __future__ import annotations

from itertools import combinations

from t2ibench.methods.core.describe import (
    leaning,
    no_score,
    people,
    sentence,
    undecided,
    unproven,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.occupations.design import group_pairs
from t2ibench.methods.occupations.schema import OccupationsTask

_ALPHA = 0.05


def describe(task: OccupationsTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    groups = " or ".join(group.name for group in task.groups)
    claim = f"images of {task.concept.name} lean to {groups}"
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claim)
        or _directions(task, result) + _of_sets(task, result)
    )


def _directions(task: OccupationsTask, result: MethodResult) -> str:
    nouns = task.concept.name if task.concept.name.endswith("s") else "stimuli"
    pairs, found = group_pairs(task), []
    for pair in pairs:
        low, high = people(pair.second.name), people(pair.first.name)
        if len(pairs) > 1:
            low, high = f"{low} rather than {high}", f"{high} rather than {low}"
        found.append(leaning(result.by, f"lean{pair.suffix}", low, high, nouns))
    none = f"{nouns} lean to one group or another beyond chance, but none is clear on its own"
    return sentence("; ".join(filter(None, found)) or none)


def _of_sets(task: OccupationsTask, result: MethodResult) -> str:
    """Which sets differ most, in a sentence of its own; '' where none do beyond chance."""
    clear = []
    for name, p in (result.details.get("sets_holm") or {}).items():
        value = result.scores[name].value if name in result.scores else None
        if p is not None and p < _ALPHA and value is not None:
            clear.append((abs(value), name, value))
    if not clear:
        return ""
    _, most, value = max(clear)
    first, second, pair = next(
        (one.name, other.name, pair)
        for pair in group_pairs(task)
        for one, other in combinations(task.sets, 2)
        if most == f"sets:{one.name}-{other.name}{pair.suffix}"
    )
    near, far = (first, second) if value > 0 else (second, first)
    return " " + sentence(
        f"images of {near} lean further to {pair.first.name}, and those of {far} to "
        f"{pair.second.name}"
    )
