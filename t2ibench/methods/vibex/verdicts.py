"""What the rows of a task say together about each concept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.estimate import Item
from t2ibench.methods.core.verdict import Reading, Verdict, verdict
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.stats import holm
from t2ibench.stats.rounding import settled

_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class ConceptVerdict:
    """What a reader may take about one concept.

    Attributes:
        concept: The concept.
        verdict: The outcome, with its reason.
        anchor: The anchor it leans to; None without a lean.
        p: Of its effect beyond words, adjusted by Holm over the forward queries.
    """

    concept: str
    verdict: Verdict
    anchor: str | None
    p: float


def verdicts(task: VibexTask, items: Sequence[Item]) -> list[ConceptVerdict]:
    """The verdict on every forward query, the clearest first."""
    rows = [item for item in items if item.group == "forward" and "beyond_words" in item.scores]
    anchors = [anchor.name for anchor in task.anchors]
    drawn = drawn_sides(task, items)
    adjusted = [
        [1.0 if p is None else p for p in holm([item.scores[name].p for item in rows])]
        for name in ("beyond_words", "m")
    ]
    found = []
    for item, p, plain in zip(rows, *adjusted, strict=True):
        reading = Reading(
            p,
            _side(item, "beyond_words", anchors),
            plain,
            _side(item, "m", anchors),
            drawn.get(item.name),
        )
        one = verdict(reading, anchors)
        side = None if one.side is None else anchors[one.side]
        found.append(ConceptVerdict(item.name, one, side, p))
    return sorted(found, key=lambda one: float(settled(one.p)))


def _side(item: Item, name: str, anchors: Sequence[str]) -> int:
    """The anchor that an effect is nearest."""
    if len(anchors) == 2:
        return int((item.scores[name].value or 0.0) < 0.0)
    return int(np.argmax([item.scores[f"{name}:{anchor}"].value or 0.0 for anchor in anchors]))


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
        above = [
            j
            for j, share in enumerate(shares)
            if share is not None and share.interval and share.interval[0] > 1.0 / len(shares)
        ]
        if len(above) == 1:
            found[item.name] = above[0]
    return found


def tendency(task: VibexTask, item: Item) -> str | None:
    """The anchor that a concept leans to."""
    values = anchor_values(task, item)
    return max(values, key=lambda name: values[name]) if values else None


def anchor_values(task: VibexTask, item: Item) -> dict[str, float]:
    """Each anchor's probability (forward) or share of nearest images (inverse)."""
    kind = "probability" if item.group == "forward" else "share_nearest"
    scores = {anchor.name: item.scores.get(f"{kind}:{anchor.name}") for anchor in task.anchors}
    return {
        name: estimate.value
        for name, estimate in scores.items()
        if estimate is not None and estimate.value is not None
    }
