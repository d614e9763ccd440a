"""A TIBET task in a sentence, and how pages show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from t2ibench.methods.core.answer_counts import shown_of
from t2ibench.methods.core.describe import nothing_shown, shown_sentence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.presentation import Axis as PageAxis
from t2ibench.methods.core.presentation import (
    Bars,
    ImageGroups,
    Panel,
    Panels,
    Presentation,
    RowSeries,
)
from t2ibench.methods.tibet.image_sets import (
    TOP_CROSSED,
    TOP_K,
    AxisConcepts,
    Concepts,
    PromptConcepts,
)
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.stats.rounding import settled

_TOLD = 3  # axes that are told
_AS_IT_STANDS = "as it stands"

_PROMPTS = TypeAdapter(tuple[PromptConcepts, ...])


def concept_figures() -> tuple[Panels, ...]:
    """The figures of Top-K concepts: along each axis, and across two axes."""
    alone = "They have no interval: a place to look, not a test."
    return (
        Panels(
            "Axis-aligned Top-K concepts",
            _along,
            "squared_lean",
            "concept",
            f"A dash: not among the first {TOP_K} of that column.",
            "How often an answer to the questions about one axis has each word, per image. Where "
            "the first column looks like one of the others, the prompt is taken for that "
            f"counterfactual. {alone}",
            "Chinchure et al. (2024), figure 3",
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


def _along(details: Mapping[str, Any]) -> Sequence[Panel]:
    """Each prompt beside the counterfactuals of each axis, by the axis's own questions."""
    panels = []
    for one, axis in _axes(details):
        columns = {_AS_IT_STANDS: axis.concepts}
        columns |= {cf.name: cf.axis_concepts for cf in axis.counterfactuals}
        title, row = f"{one.prompt}, {axis.axis}", f"{one.prompt} | {axis.axis}"
        panels.append(_panel(title, row, columns, TOP_K))
    return panels


def _crossed(details: Mapping[str, Any]) -> Sequence[Panel]:
    """The concepts along one axis beside those of the counterfactuals of another."""
    panels = []
    for one, axis in _axes(details):
        for other in (other for other in one.axes if other.axis != axis.axis):
            columns = {_AS_IT_STANDS: other.concepts[:TOP_CROSSED]}
            for cf in axis.counterfactuals:
                columns[cf.name] = cf.intersections.get(other.axis, ())
            title, row = (
                f"{one.prompt}, {other.axis} by {axis.axis}",
                f"{one.prompt} | {axis.axis}",
            )
            panels.append(_panel(title, row, columns, TOP_CROSSED))
    return panels


def _axes(details: Mapping[str, Any]) -> Iterator[tuple[PromptConcepts, AxisConcepts]]:
    """The top concepts of a result; none where results.json holds something else."""
    try:
        found = _PROMPTS.validate_python(details.get("prompts", ()))
    except ValidationError:
        return
    yield from ((one, axis) for one in found for axis in one.axes)


def _panel(title: str, row: str, columns: Mapping[str, Concepts], k: int) -> Panel:
    """Concepts by columns, those that set them apart most first."""
    # What a full list lacks is rarer than its last, and not known; what a shorter one lacks was
    # never named. An empty list has no images.
    found = [dict(concepts) for concepts in columns.values()]
    absent = [0.0 if 0 < len(one) < k else None for one in found]
    names = list(dict.fromkeys(name for one in found for name in one))
    items = [
        (
            name,
            tuple(one.get(name, rest) for one, rest in zip(found, absent, strict=True)),
        )
        for name in names
    ]

    def spread(item: tuple[str, tuple[float | None, ...]]) -> tuple[float, float, str]:
        known = [float(settled(value)) for value in item[1] if value is not None]
        return (min(known) - max(known), -max(known), item[0])

    return Panel(title, row, tuple(columns), tuple(sorted(items, key=spread)))


_CLAIM = "images look like one counterfactual when none is asked for"


def describe(task: TibetTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    missing = nothing_shown(result, _CLAIM)
    if missing:
        return missing
    axes = {item.group for item in result.by}
    axis = min(str(name) for name in axes) if len(axes) == 1 else "counterfactual"
    clauses = []
    for one in shown_of(result):
        if any(row.clear for row in one.rows):
            who = shown_sentence(one.rows)
            clauses.append(f"when no {one.counted.attribute} is asked for, {who}")
    if not clauses:
        told = f"Together the images favour one {axis} when none is asked for"
        return f"{told}; no prompt is clear by itself."
    rest = len(clauses) - _TOLD
    more = "another axis is clear" if rest == 1 else f"{rest} more axes are clear"
    clauses = clauses[:_TOLD] + ([more] if rest > 0 else [])
    return ". ".join(f"{one[:1].upper()}{one[1:]}" for one in clauses) + "."


def present(task: TibetTask) -> Presentation:
    """How the result of a task is shown."""
    axes = {axis.name: axis for _, axis in task.rows.values()}
    groups = {
        name: {
            prompt.prompt: _AS_IT_STANDS,
            **{
                other.prompt: f"changed to “{other.name}”"
                for other in axis.counterfactuals
            },
        }
        for name, (prompt, axis) in task.rows.items()
    }

    def group(name: str, row: Mapping[str, Any]) -> str | None:
        return groups.get(name, {}).get(str(row.get("prompt")))

    count = (
        f"{len(task.prompts)} prompts"
        if len(task.prompts) > 1
        else task.prompts[0].prompt
    )
    return Presentation(
        name=f"{count}, {next(iter(axes))}"
        if len(axes) == 1
        else f"{count}, {len(axes)} axes",
        rows=(RowSeries("squared_lean", "prompt and axis", square=True),),
        images=ImageGroups(group, "{group}", "squared_lean"),
        formula=(
            "π = the shares of the counterfactuals' images that best make up the prompt's, by the "
            "concepts that a judge names; h = (|π − 1/K|² − its sampling variance) / (1 − 1/K) "
            "for K counterfactuals; headline = mean over prompts and axes, shown as its root"
        ),
        source="After Chinchure et al. (2024)",
        figures=(
            Bars(
                "Concept association scores",
                "concept_association_score:",
                "mean_absolute_deviation",
                "CAS of each counterfactual, as published, for the prompts and axes whose MAD is "
                "largest. CAS is near 1 for alike images without any bias, too.",
                "Chinchure et al. (2024), figure 4",
            ),
            *concept_figures(),
        ),
        leans=tuple(
            RowSeries(
                "lean", "prompt", PageAxis(second, first), groups=frozenset({name})
            )
            for name, first, second in sorted(
                (axis.name, *(other.name for other in axis.counterfactuals))
                for axis in axes.values()
                if len(axis.counterfactuals) == 2
            )
        ),
    )
