"""How a ViBEx task is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.methods.core.presentation import Axis, ImageGroups, Presentation, RowSeries
from t2ibench.methods.vibex.schema import VibexTask


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
        return anchors.get(str(row.get("prompt"))) if name in row.get("similarities", {}) else None

    return Presentation(
        name=f"{names} ({len(task.concepts)} concept{'s' if len(task.concepts) > 1 else ''})",
        axis=Axis("less than everyday words", "more than everyday words"),
        rows=inverse,
        images=ImageGroups(group, "of “{group}”", "beyond_words", _similarity),
        formula=(
            "(V − W) / (V + W), with V the mean squared effect of the concepts beyond their own "
            "words and W that of some 2,000 everyday words"
        ),
        source="After Eschner et al. (2025)",
    )


def _similarity(name: str, row: Mapping[str, Any]) -> float | None:
    value = row.get("similarities", {}).get(name)
    return None if value is None else float(value)
