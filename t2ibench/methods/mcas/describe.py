"""The result of an MCAS task in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.describe import (
    clear_rows,
    few,
    nothing_shown,
    sentence,
    shown_as,
)
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.core.presentation import short_name
from t2ibench.methods.mcas.schema import McasTask


def describe(task: McasTask, result: MethodResult) -> str:
    """Return the result as a plain sentence on which targets look like which group."""
    name_a = task.attributes.A.name
    name_b = task.attributes.B.name
    nouns = short_name(task.title, "MCAS")
    claim = f"{nouns} stereotyped as {name_a} look more like {shown_as(name_a)} than others do"
    clauses = "; ".join(_clear_targets(result.by, name_a, name_b))
    missing = nothing_shown(result, claim)
    if missing and (result.inconclusive or not clauses):
        return missing
    if missing:
        n_targets = len(result.by)
        return sentence(
            f"over all {n_targets} {nouns} the lean is not clear; clear by themselves: {clauses}"
        )
    near = shown_as(name_a)
    far = shown_as(name_b)
    if not (result.headline.value or 0.0) > 0:
        near = shown_as(name_b)
        far = shown_as(name_a)
    by_themselves = f"none of {len(result.by)} is clear by itself"
    if clauses:
        by_themselves = f"clear by themselves: {clauses}"
    return sentence(
        f"on average, {nouns} stereotyped as {name_a} look more like {near}, those as {name_b} "
        f"more like {far}; {by_themselves}"
    )


def _clear_targets(items: Sequence[Item], name_a: str, name_b: str) -> list[str]:
    """Return clauses on which targets clearly look like which group, for each stereotype.

    Of each stereotype, the targets that look as their stereotype says come first.

    Args:
        items: The rows of all targets.
        name_a: Name of attribute A.
        name_b: Name of attribute B.
    """
    clear = clear_rows(items, "lean")
    like_a = [item for item in clear if (item.scores["lean"].value or 0.0) > 0]
    like_b = [item for item in clear if (item.scores["lean"].value or 0.0) < 0]
    pairs = [
        (name_a, name_a, like_a),
        (name_a, name_b, like_b),
        (name_b, name_b, like_b),
        (name_b, name_a, like_a),
        (None, name_a, like_a),
        (None, name_b, like_b),
    ]
    clauses: list[str] = []
    for stereotype, group, look_like in pairs:
        names = [item.name for item in look_like if item.group == stereotype]
        if names:
            total = len([item for item in items if item.group == stereotype])
            clauses.append(
                f"{len(names)} of {total} {_kind(stereotype)} {_look(len(names))} like "
                f"{shown_as(group)} ({few(names)})"
            )
    return clauses


def _kind(stereotype: str | None) -> str:
    return f"stereotyped as {stereotype}" if stereotype else "without a stereotype"


def _look(count: int) -> str:
    return "looks" if count == 1 else "look"
