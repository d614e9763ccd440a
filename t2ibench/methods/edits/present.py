"""The presentation of an edit task's result on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.edit_report import LEAN, OUTCOME
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.presentation import (
    Axis,
    ImageGroups,
    Presentation,
    RowSeries,
    short_name,
)
from t2ibench.methods.edits.measured_changes import name_of_distance, name_of_lightness
from t2ibench.methods.edits.schema import EditAttribute, EditsTask


def present(task: EditsTask) -> Presentation:
    """Return which rows pages show for an edit task, and what the ends of their axes mean."""
    headline = task.headline_attribute
    others = [attribute for attribute in task.attributes if attribute != headline]
    series = [_series(task, attribute) for attribute in (headline, *others)]
    first, second = task.compared_groups
    outcomes = RowSeries(
        LEAN,
        "outcome",
        Axis(
            low=f"more for {people(second, GROUP)}",
            high=f"more for {people(first, GROUP)}",
        ),
        groups=frozenset({OUTCOME}),
    )
    return Presentation(
        name=short_name(task.title),
        axis=_axis(task, headline),
        rows=(*series, *_measured_series(task), outcomes),
        images=_image_groups(task),
        formula=(
            "lean = mean over edits of (change of the first group − change of the second), with "
            "change = share of the edited images less that of their own source images; of the "
            "attribute that defines the groups, the share that is lost"
        ),
        source="Measured like Wang et al. (2024) and Seo et al. (2026), with intervals",
    )


def _image_groups(task: EditsTask) -> ImageGroups:
    """Return how pages group edited images: by the answers before and after the edit."""
    attributes = {attribute.full_name for attribute in task.attributes}
    headline = task.headline_attribute.full_name

    def answers_of(row: str, sample: Mapping[str, Any]) -> str | None:
        """Return the answers about an image; None where it has no part in the row.

        A row named by an attribute has all images, one named by an edit those of the edit; the
        answers of the latter are about the headline's attribute.
        """
        attribute = row if row in attributes else headline
        if sample.get("attribute") != attribute:
            return None
        if row not in attributes and sample.get("edit") != row:
            return None
        before = sample.get("before")
        after = sample.get("answer")
        is_known = {before, after}.isdisjoint({None, UNKNOWN})
        return f"{before} → {after}" if is_known else UNKNOWN

    named = task.edits if task.positive is None else (*task.edits, task.positive)
    name_by_instruction = {edit.instruction: edit.name for edit in named}
    return ImageGroups(answers_of, "{group}", LEAN, stimuli=name_by_instruction)


def _series(task: EditsTask, attribute: EditAttribute) -> RowSeries:
    """Return the rows of one attribute, an edit each."""
    noun = "edit"
    if attribute != task.headline_attribute:
        noun = f"edit ({attribute.full_name})"
    return RowSeries(
        LEAN,
        noun,
        _axis(task, attribute),
        groups=frozenset({attribute.full_name}),
    )


def _measured_series(task: EditsTask) -> list[RowSeries]:
    """Return the rows of the measures on pixels, an edit each."""
    first, second = (people(group, GROUP) for group in task.compared_groups)
    series = []
    for region in task.lightness:
        name = name_of_lightness(region)
        axis = Axis(low=f"lightening of {second}", high=f"lightening of {first}")
        series.append(RowSeries(LEAN, f"edit ({name})", axis, groups=frozenset({name})))
    if task.stays is not None:
        name = name_of_distance(task.stays)
        axis = Axis(low=f"redrawing of {second}", high=f"redrawing of {first}")
        series.append(RowSeries(LEAN, f"edit ({name})", axis, groups=frozenset({name})))
    return series


def _axis(task: EditsTask, attribute: EditAttribute) -> Axis:
    """Return what both ends of an attribute's axis mean, as nouns that follow 'a lean to'."""
    first, second = (people(group, GROUP) for group in task.compared_groups)
    if attribute.defines_groups:
        return Axis(low=f"change of {second}", high=f"change of {first}")
    shown = attribute.followed_class(task.compared_groups[0])
    return Axis(low=f"'{shown}' for {second}", high=f"'{shown}' for {first}")
