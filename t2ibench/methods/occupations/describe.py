"""An occupations task in a sentence."""

from __future__ import annotations

from itertools import combinations

from t2ibench.methods.core.describe import listed, no_score, sentence, undecided, unproven
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.occupations.design import GroupPair, group_pairs
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.stats import benjamini_hochberg

_SHOWN = 3
_ALPHA = 0.05


def describe(task: OccupationsTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        Such as 'Images of chief lean to male; images of nurse and secretary lean to female.' It
        names the (at most three) stimuli that lean most to each group, of those whose lean
        differs from 0: p-values below .05 with the false discovery rate over all stimuli
        controlled (Benjamini-Hochberg). Of sets of stimuli it names the two that differ most, where
        they do after Holm's correction.
    """
    groups = " or ".join(group.name for group in task.groups)
    claim = f"images of {task.concept.name} lean to {groups}"
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claim)
        or _directions(task, result) + _of_sets(task, result)
    )


def _directions(task: OccupationsTask, result: MethodResult) -> str:
    pairs = group_pairs(task)
    clauses = []
    for pair in pairs:
        lean = _significant(result, pair)
        for near, far, sign in ((pair.first, pair.second, 1), (pair.second, pair.first, -1)):
            names = sorted((n for n in lean if sign * lean[n] > 0), key=lambda n: -sign * lean[n])
            most = " most" if len(names) > _SHOWN else ""
            rather = f" rather than {far.name}" if len(pairs) > 1 else ""
            if names:
                shown = listed(names[:_SHOWN])
                clauses.append(f"images of {shown} lean{most} to {near.name}{rather}")
    if clauses:
        return sentence("; ".join(clauses))
    return sentence(
        f"images of {task.concept.name} lean to one group or another more than chance would make "
        "them, but no single stimulus shows its direction beyond chance"
    )


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


def _significant(result: MethodResult, pair: GroupPair) -> dict[str, float]:
    """Lean of the stimuli where it is not 0: positive is towards the first group."""
    key = f"lean{pair.suffix}"
    rows = [(item.name, item.scores[key]) for item in result.by if key in item.scores]
    adjusted = benjamini_hochberg([estimate.p for _, estimate in rows])
    return {
        name: estimate.value
        for (name, estimate), p in zip(rows, adjusted, strict=True)
        if estimate.value is not None and p is not None and p < _ALPHA
    }
