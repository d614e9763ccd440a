"""Top-K concepts of prompts beside those of their counterfactuals, as panels of a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from t2ibench.methods.core.presentation import Panel, Panels
from t2ibench.methods.tibet.explanations import TOP_CROSSED, TOP_K
from t2ibench.stats.rounding import settled

_AS_IT_STANDS = "as it stands"
_SOURCE = "Chinchure et al. (2024), figure 3"

Concepts = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class _Counterfactual:
    """Top concepts of the images of one counterfactual."""

    name: str
    concepts: Concepts
    axis_concepts: Concepts
    intersections: dict[str, Concepts]


@dataclass(frozen=True, slots=True)
class _Axis:
    """Top concepts along one axis: of the prompt as it stands, and of the counterfactuals."""

    axis: str
    concepts: Concepts
    counterfactuals: tuple[_Counterfactual, ...]


@dataclass(frozen=True, slots=True)
class _Prompt:
    """Top concepts of one prompt."""

    prompt: str
    concepts: Concepts
    axes: tuple[_Axis, ...]


_PROMPTS = TypeAdapter(tuple[_Prompt, ...])


def concept_figures() -> tuple[Panels, ...]:
    """The figures of Top-K concepts: of all answers, along each axis, and across two axes."""
    counted = "An answer counts the words that the judge used, per image"
    alone = "They have no interval: a place to look, not a test."
    return (
        Panels(
            "Top-K concepts of all answers",
            _overall,
            "squared_lean",
            "concept",
            f"A dash: not among the first {TOP_K} of that column.",
            f"{counted}, so a word of two answers counts twice. Concepts that set the columns "
            f"apart most come first; the prompts whose images lean most. {alone}",
            _SOURCE,
        ),
        Panels(
            "Axis-aligned Top-K concepts",
            _aligned,
            "squared_lean",
            "concept",
            f"A dash: not among the first {TOP_K} of that column.",
            f"{counted}, of the questions about one axis only. Where the first column looks like "
            f"one of the others, the prompt is taken for that counterfactual. {alone}",
            _SOURCE,
        ),
        Panels(
            "Intersectional Top-K concepts",
            _crossed,
            None,
            "concept",
            f"A dash: not among the first {TOP_CROSSED} of that column.",
            "The questions about one axis, asked of the counterfactuals of another: does the share "
            f"of men, say, change with the place? Those that differ most come first, and among few "
            f"images some do by chance. {alone}",
            "Chinchure et al. (2024), figure 6",
        ),
    )


def _read(details: Mapping[str, Any]) -> tuple[_Prompt, ...]:
    """The top concepts of a result; none where results.json holds something else."""
    try:
        return _PROMPTS.validate_python(details.get("prompts", ()))
    except ValidationError:
        return ()


def _overall(details: Mapping[str, Any]) -> Sequence[Panel]:
    return [
        _along(one, axis, one.concepts, {cf.name: cf.concepts for cf in axis.counterfactuals})
        for one, axis in _axes(details)
    ]


def _aligned(details: Mapping[str, Any]) -> Sequence[Panel]:
    return [
        _along(one, axis, axis.concepts, {cf.name: cf.axis_concepts for cf in axis.counterfactuals})
        for one, axis in _axes(details)
    ]


def _along(one: _Prompt, axis: _Axis, own: Concepts, others: Mapping[str, Concepts]) -> Panel:
    """A prompt's own concepts beside those of the counterfactuals of an axis."""
    columns = {_AS_IT_STANDS: own, **others}
    return _panel(f"{one.prompt}, {axis.axis}", f"{one.prompt} | {axis.axis}", columns, TOP_K)


def _crossed(details: Mapping[str, Any]) -> Sequence[Panel]:
    return [
        _panel(
            f"{one.prompt}, {other.axis} by {axis.axis}",
            f"{one.prompt} | {axis.axis}",
            {
                _AS_IT_STANDS: other.concepts[:TOP_CROSSED],
                **{
                    cf.name: cf.intersections.get(other.axis, ())
                    for cf in axis.counterfactuals
                },
            },
            TOP_CROSSED,
        )
        for one, axis in _axes(details)
        for other in one.axes
        if other.axis != axis.axis
    ]  # fmt: skip


def _axes(details: Mapping[str, Any]) -> Iterator[tuple[_Prompt, _Axis]]:
    for one in _read(details):
        for axis in one.axes:
            yield one, axis


def _panel(title: str, row: str, columns: Mapping[str, Concepts], k: int) -> Panel:
    """Concepts by columns, those that set them apart most first."""
    # What a full list lacks is rarer than its last, and not known; what a shorter one lacks was
    # never named. An empty list has no images.
    found = [dict(concepts) for concepts in columns.values()]
    absent = [0.0 if 0 < len(one) < k else None for one in found]
    names = list(dict.fromkeys(name for one in found for name in one))
    items = [
        (name, tuple(one.get(name, rest) for one, rest in zip(found, absent, strict=True)))
        for name in names
    ]

    def spread(item: tuple[str, tuple[float | None, ...]]) -> tuple[float, float, str]:
        known = [float(settled(value)) for value in item[1] if value is not None]
        return (min(known) - max(known), -max(known), item[0])

    return Panel(title, row, tuple(columns), tuple(sorted(items, key=spread)))
