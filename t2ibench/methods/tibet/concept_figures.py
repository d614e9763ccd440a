"""The figures of the most frequent concepts, along each axis and for pairs of axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from t2ibench.methods.core.presentation import Panel, Panels
from t2ibench.methods.tibet.image_sets import Concepts
from t2ibench.methods.tibet.top_concepts import (
    TOP_CROSSED,
    TOP_K,
    AxisConcepts,
    PromptConcepts,
)
from t2ibench.stats.rounding import settled

# The title of the column of a prompt's own images.
AS_IT_STANDS = "as it stands"
_NO_TEST = "They have no interval: a place to look, not a test."
_PROMPTS = TypeAdapter(tuple[PromptConcepts, ...])
# A concept, and how often each column has it; None where that is not known.
Line = tuple[str, tuple[float | None, ...]]


def concept_figures() -> tuple[Panels, ...]:
    """Return the figures of the most frequent concepts: along each axis, and for two axes."""
    along_axes = Panels(
        title="Axis-aligned Top-K concepts",
        read=_panels_along_axes,
        order="squared_lean",
        item="concept",
        absent=f"A dash: not among the first {TOP_K} of that column.",
        caption=(
            "How often an answer to the questions about one axis has each word, per image. Where "
            "the first column is like one of the others, the prompt's images are answered as that "
            f"counterfactual's are. {_NO_TEST}"
        ),
        source="Chinchure et al. (2024), figure 3",
    )
    across_axes = Panels(
        title="Intersectional Top-K concepts",
        read=_panels_across_axes,
        order=None,
        item="concept",
        absent=f"A dash: not among the first {TOP_CROSSED} of that column.",
        caption=(
            "The questions about one axis, asked of the counterfactuals of another: does the share "
            "of men, say, change with the place? Those that differ most come first, and among few "
            f"images some do by chance. {_NO_TEST}"
        ),
        source="Chinchure et al. (2024), figure 6",
    )
    return along_axes, across_axes


def _panels_along_axes(details: Mapping[str, Any]) -> Sequence[Panel]:
    """Return a panel for each prompt and axis: its concepts beside its counterfactuals'."""
    panels = []
    for prompt, axis in _axes_of(details):
        columns = {AS_IT_STANDS: axis.concepts}
        for counterfactual in axis.counterfactuals:
            columns[counterfactual.name] = counterfactual.axis_concepts
        title = f"{prompt.prompt}, {axis.axis}"
        panels.append(_panel(title, _row_name(prompt, axis), columns, TOP_K))
    return panels


def _panels_across_axes(details: Mapping[str, Any]) -> Sequence[Panel]:
    """Return panels of the concepts along one axis, in images changed along another."""
    panels = []
    for prompt, axis in _axes_of(details):
        others = [other for other in prompt.axes if other.axis != axis.axis]
        for other in others:
            columns = {AS_IT_STANDS: other.concepts[:TOP_CROSSED]}
            for counterfactual in axis.counterfactuals:
                concepts = counterfactual.intersections.get(other.axis, ())
                columns[counterfactual.name] = concepts
            title = f"{prompt.prompt}, {other.axis} by {axis.axis}"
            panels.append(_panel(title, _row_name(prompt, axis), columns, TOP_CROSSED))
    return panels


def _axes_of(
    details: Mapping[str, Any],
) -> Iterator[tuple[PromptConcepts, AxisConcepts]]:
    """Yield each prompt and axis of a result; nothing if its `details` are malformed."""
    try:
        prompts = _PROMPTS.validate_python(details.get("prompts", ()))
    except ValidationError:
        return
    for prompt in prompts:
        for axis in prompt.axes:
            yield prompt, axis


def _row_name(prompt: PromptConcepts, axis: AxisConcepts) -> str:
    return f"{prompt.prompt} | {axis.axis}"


def _panel(title: str, row: str, columns: Mapping[str, Concepts], length: int) -> Panel:
    """Return a panel of concepts, with those that differ most between its columns first.

    Args:
        title: The panel's title.
        row: The name of the result's row.
        columns: The concepts of each column.
        length: Concepts of a full column.
    """
    tables = [dict(concepts) for concepts in columns.values()]
    names = list(dict.fromkeys(name for table in tables for name in table))
    lines = [
        (name, tuple(_frequency(name, table, length) for table in tables))
        for name in names
    ]
    return Panel(title, row, tuple(columns), tuple(sorted(lines, key=_order_of_line)))


def _frequency(name: str, table: Mapping[str, float], length: int) -> float | None:
    """Return how often a column's answers name a concept; None if that is not known.

    A concept that a full column lacks is rarer than its last; one that a shorter column lacks was
    never named. An empty column has no images.
    """
    is_complete = 0 < len(table) < length
    return table.get(name, 0.0 if is_complete else None)


def _order_of_line(line: Line) -> tuple[float, float, str]:
    """Return a concept's sort key: the largest difference first, then frequency, then name."""
    name, frequencies = line
    values = [float(settled(value)) for value in frequencies if value is not None]
    return min(values) - max(values), -max(values), name
