"""A ViBEx task in a sentence, and how pages show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from t2ibench.methods.core.describe import listed, nothing_shown, sentence
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.core.presentation import (
    Axis,
    ImageGroups,
    Presentation,
    RowSeries,
)
from t2ibench.methods.core.probing import Reading, Verdict, verdict
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.stats import holm
from t2ibench.stats.rounding import settled

_ALPHA = 0.05


def verdicts(
    task: VibexTask, items: Sequence[Item]
) -> list[tuple[str, Verdict, float]]:
    """The verdict on every forward query, the clearest first, with p of its effect (Holm)."""
    rows = [
        item
        for item in items
        if item.group == "forward" and "beyond_words" in item.scores
    ]
    anchors = [anchor.name for anchor in task.anchors]
    drawn = drawn_sides(task, items)
    beyond, plain = (
        [1.0 if p is None else p for p in holm([item.scores[name].p for item in rows])]
        for name in ("beyond_words", "similarity_difference")
    )
    found = []
    for item, p, p_plain in zip(rows, beyond, plain, strict=True):
        side = _side(item, "beyond_words", anchors)
        plain_side = _side(item, "similarity_difference", anchors)
        reading = Reading(p, side, p_plain, plain_side, drawn.get(item.name))
        found.append((item.name, verdict(reading, anchors), p))
    return sorted(found, key=lambda one: float(settled(one[2])))


def _side(item: Item, name: str, anchors: Sequence[str]) -> int:
    if len(anchors) == 2:
        return int((item.scores[name].value or 0.0) < 0.0)
    return int(
        np.argmax([item.scores[f"{name}:{anchor}"].value or 0.0 for anchor in anchors])
    )


def drawn_sides(task: VibexTask, items: Sequence[Item]) -> dict[str, int]:
    """The anchor whose side more images of a concept are on than by chance."""
    rows = [item for item in items if item.group == "inverse"]
    if len(task.anchors) == 2:
        leans = [item.scores.get("lean") for item in rows]
        adjusted = holm([None if lean is None else lean.p for lean in leans])
        return {
            item.name: int((lean.value or 0.0) < 0.0)
            for item, lean, p in zip(rows, leans, adjusted, strict=True)
            if lean is not None and p is not None and p < _ALPHA
        }
    found = {}
    for item in rows:
        shares = [item.scores.get(f"share:{anchor.name}") for anchor in task.anchors]
        lows = [
            share.interval[0] if share and share.interval else 0.0 for share in shares
        ]
        above = [j for j, low in enumerate(lows) if low > 1.0 / len(shares)]
        if len(above) == 1:
            found[item.name] = above[0]
    return found


def tendency(task: VibexTask, item: Item) -> str | None:
    """The anchor that a concept leans to."""
    kind = "probability" if item.group == "forward" else "share_nearest"
    values = {}
    for anchor in task.anchors:
        estimate = item.scores.get(f"{kind}:{anchor.name}")
        if estimate is not None and estimate.value is not None:
            values[anchor.name] = estimate.value
    return max(values, key=lambda name: values[name]) if values else None


_NAMED = 3  # concepts in a sentence


def describe(task: VibexTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    missing = nothing_shown(result)
    if missing:
        return missing
    anchors = listed([anchor.name for anchor in task.anchors])
    claim = (
        f"the concepts tell images of {anchors} apart further than everyday words do"
    )
    names = [anchor.name for anchor in task.anchors]
    found = verdicts(task, result.by)
    leaning = {
        concept: names[one.side] for concept, one, _ in found if one.side is not None
    }
    split = [f"'{concept}'" for concept, one, _ in found if one.contradiction]
    parts = [nothing_shown(result, claim) or sentence(claim)]
    for anchor in dict.fromkeys(leaning.values()):
        own = [f"'{concept}'" for concept, side in leaning.items() if side == anchor]
        verb = "lean" if len(own) > 1 else "leans"
        parts.append(f"{listed(own, _NAMED)} {verb} clearly to {anchor}.")
    if not leaning:
        parts.append("No concept is clear by itself.")
    if split:
        parts.append(f"The word and the images of {listed(split[:_NAMED])} disagree.")
    return " ".join(parts)


def present(task: VibexTask) -> Presentation:
    """How the result of a task is shown."""
    first, second = task.anchors[0].name, task.anchors[1].name
    names = " and ".join(anchor.name for anchor in task.anchors)
    inverse: tuple[RowSeries, ...] = ()
    if len(task.anchors) == 2:
        axis = Axis(second, first)
        inverse = (RowSeries("lean", "concept", axis, groups=frozenset({"inverse"})),)
    anchors = {anchor.prompt: anchor.name for anchor in task.anchors}

    def group(name: str, row: Mapping[str, Any]) -> str | None:
        return (
            anchors.get(str(row.get("prompt")))
            if name in row.get("similarities", {})
            else None
        )

    return Presentation(
        name=f"{names} ({len(task.concepts)} concept{'s' if len(task.concepts) > 1 else ''})",
        axis=Axis("less than everyday words", "more than everyday words"),
        rows=inverse,
        images=ImageGroups(group, "of “{group}”", "beyond_words", _similarity),
        formula=(
            "(V / c − W) / (V / c + W), with V the mean squared effect of the concepts beyond "
            "their own words, W that of some 2,000 everyday words, and c what makes random sets "
            "of words read 0 on average"
        ),
        source="After Eschner et al. (2025)",
    )


def _similarity(name: str, row: Mapping[str, Any]) -> float | None:
    value = row.get("similarities", {}).get(name)
    return None if value is None else float(value)
