"""The result of an occupations task in a sentence, and its presentation on pages."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

from t2ibench.decimals import SCALE_DECIMALS, readable
from t2ibench.methods.core.describe import (
    GROUP,
    leaning,
    listed,
    nothing_shown,
    people,
    sentence,
)
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
from t2ibench.methods.core.schema import Reference
from t2ibench.methods.occupations.describe_weights import of_weights
from t2ibench.methods.occupations.design import GroupPair, group_pairs, other_forms
from t2ibench.methods.occupations.forms import contrast_names
from t2ibench.methods.occupations.schema import OccupationsTask

_ALPHA = 0.05


def describe(task: OccupationsTask, result: MethodResult) -> str:
    """Return the result of an occupations task as plain sentences that name its direction."""
    groups = " or ".join(people(group.name, GROUP) for group in task.groups)
    claim = f"images of {task.concept.name}{_in_form(task)} lean to {groups}"
    shown = nothing_shown(result, claim) or (
        _directions(task, result, groups) + _of_sets(task, result)
    )
    return shown + of_weights(_nouns(task), result) + _of_forms(task, result)


def _in_form(task: OccupationsTask) -> str:
    """Return ' in the … form' for the form that the headline is about; '' without forms."""
    form = task.concept.headline_form
    return f" in the {form} form" if form is not None else ""


def _directions(task: OccupationsTask, result: MethodResult, groups: str) -> str:
    nouns = _nouns(task)
    pairs = group_pairs(task)
    clauses = []
    for pair in pairs:
        first = people(pair.first.name, GROUP)
        second = people(pair.second.name, GROUP)
        low = f"{second} rather than {first}" if len(pairs) > 1 else second
        high = f"{first} rather than {second}" if len(pairs) > 1 else first
        clauses.append(leaning(result.by, f"lean{pair.suffix}", low, high, nouns))
    none = (
        f"together the {nouns} lean to {groups} further than by chance; none of them is clear by "
        "itself"
    )
    return sentence(("; ".join(filter(None, clauses)) or none) + _in_form(task))


def _of_sets(task: OccupationsTask, result: MethodResult) -> str:
    """Return the sentence on the two sets of stimuli that differ most; '' if none clearly do."""
    clear = []
    for name, p in (result.details.get("sets_holm") or {}).items():
        value = result.scores[name].value if name in result.scores else None
        if p is not None and p < _ALPHA and value is not None:
            clear.append((abs(value), name, value))
    if not clear:
        return ""
    _, most, value = max(clear)
    first, second, pair = next(
        (concept.name, other.name, pair)
        for pair in group_pairs(task)
        for concept, other in combinations(task.sets, 2)
        if most == f"sets:{concept.name}-{other.name}{pair.suffix}"
    )
    near = first if value > 0 else second
    far = second if value > 0 else first
    return " " + sentence(
        f"images of {near} lean further to {people(pair.first.name, GROUP)}, and those of {far} to "
        f"{people(pair.second.name, GROUP)}"
    )


def _of_forms(task: OccupationsTask, result: MethodResult) -> str:
    """Return the sentence on which forms lean further than others; '' if none were tested."""
    corrected = result.details.get("forms_holm") or {}
    if result.inconclusive or not any(p is not None for p in corrected.values()):
        return ""
    count = result.details["forms_stimuli"]
    clauses = []
    for pair in group_pairs(task):
        for name, forms in contrast_names(task.concept.forms, pair).items():
            value = result.scores[name].value
            p = corrected.get(name)
            if value is None or p is None or p >= _ALPHA:
                continue
            further, other = forms if value > 0 else forms[::-1]
            side = pair.first if value > 0 else pair.second
            difference = readable(abs(value), SCALE_DECIMALS)
            clauses.append(
                f"images of the {further} form lean {difference} further to "
                f"{people(side.name, GROUP)} than those of the {other} form"
            )
    over = f"over {count} {_nouns(task)}"
    if not clauses:
        return " " + sentence(f"no two forms differ beyond chance, {over}")
    return " " + sentence(f"{listed(clauses)}, {over}")


def _nouns(task: OccupationsTask) -> str:
    """Return the plural noun for the stimuli, such as 'occupations'."""
    return task.concept.name if task.concept.name.endswith("s") else "stimuli"


def present(task: OccupationsTask) -> Presentation:
    """Return the presentation of an occupations task's result on pages."""
    pairs = group_pairs(task)
    first = pairs[0]
    axis = Axis(first.second.name, first.first.name)
    figures: list[Figure] = []
    if task.reference is not None and len(task.groups) == 2:
        figures.append(_reference_figure(task.reference, first, axis))
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
    figures += [_form_figure(task, form, first, axis) for form in other_forms(task)]
    if task.crossing:
        figures.append(Combinations.of(" x ".join(task.crossing), "stimuli like these"))
    if task.likeness:
        figures += [_distance_figure(pair) for pair in pairs]
    return Presentation(
        name=short_name(task.title),
        rows=tuple(_rows_of(pair) for pair in pairs),
        images=ImageSeries(f"lean{first.suffix}", axis, "stimulus"),
        formula=(
            f"{LEAN} without a group, of the first and of the second group, along the direction of "
            "all other stimuli; headline = unbiased mean of squared leans, shown as its root"
        ),
        source="After Wang et al. (2023), sections 5.3 and 5.4",
        figures=tuple(figures),
    )


def _rows_of(pair: GroupPair) -> RowSeries:
    axis = Axis(pair.second.name, pair.first.name)
    return RowSeries(f"lean{pair.suffix}", "stimulus", axis)


def _reference_figure(reference: Reference, pair: GroupPair, axis: Axis) -> Scatter:
    """Return the figure that compares a group's shares in images with its known shares."""
    side: Literal["low", "high"] = "low" if reference.group == axis.low else "high"
    who = people(reference.group, GROUP)
    in_images = Quantity(
        f"share of {who} in the images", f"lean{pair.suffix}", share=side
    )
    return Scatter(
        f"Share of {who}: in the images and at work",
        Quantity(reference.name, given=reference.shares),
        in_images,
        "On the line the images mirror the statistics; that is not the same as fair. In "
        "colour: clearly off it.",
        diagonal=True,
        intervals=True,
        difference=f"share_minus_reference:{reference.group}",
    )


def _form_figure(
    task: OccupationsTask, form: str, pair: GroupPair, axis: Axis
) -> Arrows:
    """Return the figure that compares the leans of one form with those of the headline's form."""
    concept = task.concept
    return Arrows(
        f"From the {concept.headline_form} to the {form} form",
        f"lean{pair.suffix}",
        f"lean:{form}{pair.suffix}",
        axis,
        f"The tail is the lean of the {concept.headline_form} form, the head that of the "
        f"{form} form of the same {concept.name}, measured between the same images of "
        "either group.",
        tail=f"{concept.headline_form} form",
        head=f"{form} form",
    )


def _distance_figure(pair: GroupPair) -> Apart:
    """Return the figure of the distance between the images of two groups."""
    first = people(pair.first.name, GROUP)
    second = people(pair.second.name, GROUP)
    return Apart(
        f"How far apart: images of {first} and of {second}",
        f"group_distance{pair.suffix}",
        "group_distance_of_halves",
        "0: both are drawn alike, and below 0 by chance; 1: the images with either are all "
        "the same. Two halves: of the images without either, which only chance sets apart. "
        "A filled dot is clear after Holm’s correction; single rows have no interval. It "
        "is a distance between images: it does not say what differs, nor "
        "whom the images without either resemble.",
        "Hudson, Slatkin and Maddison (1992), equation 3",
    )
