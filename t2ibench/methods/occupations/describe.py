"""An occupations task in a sentence, and how pages show it."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

from t2ibench.methods.core.describe import GROUP, leaning, nothing_shown, people, sentence
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.presentation import (
    LEAN,
    Apart,
    Arrows,
    Axis,
    Combinations,
    Figure,
    ImageSeries,
    Presentation,
    Quantity,
    RowSeries,
    Scatter,
    short_name,
)
from t2ibench.methods.occupations.design import group_pairs
from t2ibench.methods.occupations.schema import OccupationsTask

_ALPHA = 0.05


def describe(task: OccupationsTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction."""
    groups = " or ".join(people(group.name, GROUP) for group in task.groups)
    claim = f"images of {task.concept.name} lean to {groups}"
    return nothing_shown(result, claim) or (
        _directions(task, result, groups) + _of_sets(task, result)
    )


def _directions(task: OccupationsTask, result: MethodResult, groups: str) -> str:
    nouns = task.concept.name if task.concept.name.endswith("s") else "stimuli"
    pairs, found = group_pairs(task), []
    for pair in pairs:
        low, high = people(pair.second.name, GROUP), people(pair.first.name, GROUP)
        if len(pairs) > 1:
            low, high = f"{low} rather than {high}", f"{high} rather than {low}"
        found.append(leaning(result.by, f"lean{pair.suffix}", low, high, nouns))
    none = (
        f"together the {nouns} lean to {groups} further than by chance; none of them is clear by "
        "itself"
    )
    return sentence("; ".join(filter(None, found)) or none)


def _of_sets(task: OccupationsTask, result: MethodResult) -> str:
    """Which sets differ most, in a sentence of its own; '' where none do beyond chance."""
    clear = []
    for name, p in (result.details.get("sets_holm") or {}).items():
        value = result.scores[name].value if name in result.scores else None
        if p is not None and p < _ALPHA and value is not None:
            clear.append((abs(value), name, value))
    if not clear:
        return ""
    _, most, value = max(clear)
    first, second, pair = next(
        (one.name, other.name, pair)
        for pair in group_pairs(task)
        for one, other in combinations(task.sets, 2)
        if most == f"sets:{one.name}-{other.name}{pair.suffix}"
    )
    near, far = (first, second) if value > 0 else (second, first)
    return " " + sentence(
        f"images of {near} lean further to {people(pair.first.name, GROUP)}, and those of {far} to "
        f"{people(pair.second.name, GROUP)}"
    )


def present(task: OccupationsTask) -> Presentation:
    """How the result of a task is shown."""
    pairs = group_pairs(task)
    series = tuple(
        RowSeries(f"lean{pair.suffix}", "stimulus", Axis(pair.second.name, pair.first.name))
        for pair in pairs
    )
    first = pairs[0]
    axis = Axis(first.second.name, first.first.name)
    figures: list[Figure] = []
    if task.reference is not None and len(task.groups) == 2:
        group = task.reference.group
        side: Literal["low", "high"] = "low" if group == axis.low else "high"
        who = people(group, GROUP)
        figures.append(
            Scatter(
                f"Share of {who}: in the images and at work",
                Quantity(task.reference.name, given=task.reference.shares),
                Quantity(f"share of {who} in the images", f"lean{first.suffix}", share=side),
                "On the line the images mirror the statistics; that is not the same as fair. In "
                "colour: clearly off it.",
                diagonal=True,
                intervals=True,
                difference=f"share_minus_reference:{group}",
            )
        )
    figures.append(
        Arrows(
            "From the words to the images",
            f"lean_text{first.suffix}",
            f"lean{first.suffix}",
            axis,
            "The tail is the lean of the encoder's own words, the head that of the images.",
            "Wang et al. (2023), figure 4",
        )
    )
    if task.crossing:
        figures.append(Combinations.of(" x ".join(task.crossing), "stimuli like these"))
    if task.likeness:
        figures += [
            Apart(
                f"How far apart: images of {people(pair.first.name, GROUP)} and of "
                f"{people(pair.second.name, GROUP)}",
                f"group_distance{pair.suffix}",
                "group_distance_of_halves",
                "0: both are drawn alike, and below 0 by chance; 1: the images with either are all "
                "the same. Two halves: of the images without either, which only chance sets apart. "
                "A filled dot is clear after Holm’s correction; single rows have no interval. It "
                "is a distance between images: it does not say what differs, nor "
                "whom the images without either resemble.",
                "Hudson, Slatkin and Maddison (1992), equation 3",
            )
            for pair in pairs
        ]
    return Presentation(
        name=short_name(task.title),
        rows=series,
        images=ImageSeries(f"lean{first.suffix}", axis, "stimulus"),
        formula=(
            f"{LEAN} without a group, of the first and of the second group, along the direction of "
            "all other stimuli; headline = unbiased mean of squared leans, shown as its root"
        ),
        source="After Wang et al. (2023), sections 5.3 and 5.4",
        figures=tuple(figures),
    )
