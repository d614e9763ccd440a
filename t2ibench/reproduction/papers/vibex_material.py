"""What the exhibits of ViBEx have in common: rows, anchors and the similarities of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.reproduction.paper import Material
from t2ibench.reproduction.scores import score_line
from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import Row, TaskResult

GENDER, RACE, LOCATION = "vibex_gender", "vibex_race", "vibex_location"
FIGURES = {
    "gender": "vibex_figures_gender",
    "race": "vibex_figures_race",
    "location": "vibex_figures_location",
}


def row_of(task: TaskResult | None, concept: str, query: str) -> Row | None:
    """The row of a query."""
    rows = [] if task is None else task.by
    return next((row for row in rows if (row.name, row.group) == (concept, query)), None)


def lean_line(name: str, row: Row) -> Line:
    """The lean of an inverse query, as a line; without one, why there is none."""
    lean = row.scores.get("lean")
    if lean is not None:
        return score_line(name, "lean", lean, 2)
    reasons = [one.reason for key, one in row.scores.items() if key.startswith("share:")]
    return Line(name, "lean", None, note=next((why for why in reasons if why), "not measured"))


def anchors_of(material: Material, task: str) -> dict[str, str]:
    """The anchors of a task."""
    spec = material.specs.get(task)
    return (
        {anchor.prompt: anchor.name for anchor in spec.anchors}
        if isinstance(spec, VibexTask)
        else {}
    )


def similarities(
    samples: Sequence[Mapping[str, Any]], anchors: Mapping[str, str], concept: str
) -> dict[str, list[float]]:
    """How similar the anchors' images are to a concept."""
    found: dict[str, list[float]] = {name: [] for name in anchors.values()}
    for row in samples:
        name = anchors.get(str(row["prompt"]))
        value = (row.get("similarities") or {}).get(concept)
        if name is not None and value is not None:
            found[name].append(float(value))
    return found


def side_of(row: Row | None, anchors: Sequence[str]) -> str | None:
    """The anchor that a forward query calls the likelier, as published."""
    if row is None:
        return None
    values = {name: row.scores[f"probability:{name}"].value or 0.0 for name in anchors}
    return max(values, key=lambda name: values[name])
