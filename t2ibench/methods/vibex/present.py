"""The presentation of a ViBEx task's result on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.methods.core.presentation import (
    Axis,
    ImageGroups,
    Presentation,
    RowSeries,
)
from t2ibench.methods.vibex.schema import VibexTask


def present(task: VibexTask) -> Presentation:
    """Return the presentation of a task's result on pages: its rows, images and formula."""
    return Presentation(
        name=_short_name(task),
        axis=Axis("less than everyday words", "more than everyday words"),
        rows=_inverse_rows(task),
        images=_image_groups(task),
        formula=(
            "(V / c − W) / (V / c + W), with V the mean squared effect of the concepts beyond "
            "their own words, W that of some 2,000 everyday words, and c what makes random sets "
            "of words read 0 on average"
        ),
        source="After Eschner et al. (2025)",
    )


def _short_name(task: VibexTask) -> str:
    """Return a task's short name for tables: its anchors and number of concepts."""
    anchors = " and ".join(anchor.name for anchor in task.anchors)
    n_concepts = len(task.concepts)
    noun = "concepts" if n_concepts > 1 else "concept"
    return f"{anchors} ({n_concepts} {noun})"


def _inverse_rows(task: VibexTask) -> tuple[RowSeries, ...]:
    """Return how pages show rows of inverse queries on an axis; none unless two anchors."""
    if len(task.anchors) != 2:
        return ()
    first, second = task.anchors
    anchors = (first.name, second.name)
    return (RowSeries.of_classes("concept", anchors, frozenset({"inverse"})),)


def _image_groups(task: VibexTask) -> ImageGroups:
    """Return how pages group and sort images: by anchor, by similarity to a concept."""
    anchors = {anchor.prompt: anchor.name for anchor in task.anchors}

    def anchor_of(concept: str, sample: Mapping[str, Any]) -> str | None:
        if _similarity(concept, sample) is None:
            return None
        return anchors.get(str(sample.get("prompt")))

    return ImageGroups(anchor_of, "of “{group}”", "beyond_words", _similarity)


def _similarity(concept: str, sample: Mapping[str, Any]) -> float | None:
    """Return the similarity of a sample's image to a concept; None if it has none."""
    value = sample.get("similarities", {}).get(concept)
    return None if value is None else float(value)
