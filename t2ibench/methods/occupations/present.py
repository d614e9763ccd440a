"""How an occupations task is shown."""

from __future__ import annotations

from typing import Literal

from t2ibench.methods.core.presentation import (
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
from t2ibench.methods.occupations.design import GroupPair, group_pairs
from t2ibench.methods.occupations.schema import OccupationsTask


def present(task: OccupationsTask) -> Presentation:
    """How the result of a task is shown."""
    pairs = group_pairs(task)
    series = tuple(
        RowSeries(f"lean{pair.suffix}", "stimulus", Axis(pair.second.name, pair.first.name))
        for pair in pairs
    )
    first = pairs[0]
    axis = Axis(first.second.name, first.first.name)
    return Presentation(
        name=short_name(task.title),
        axis=None,
        rows=series,
        images=ImageSeries(
            f"lean{first.suffix}", Axis(first.second.name, first.first.name), "stimulus"
        ),
        formula=(
            "lean = (2 y − a − b) / (a − b), with y, a and b the means of a stimulus's images "
            "without a group, of the first and of the second group, along the direction of all "
            "other stimuli; headline = unbiased mean of squared leans, shown as its root"
        ),
        source="After Wang et al. (2023), sections 5.3 and 5.4",
        figures=tuple(_figures(task, first, axis)),
    )


def _figures(task: OccupationsTask, first: GroupPair, axis: Axis) -> list[Figure]:
    figures: list[Figure] = []
    if task.reference is not None and len(task.groups) == 2:
        group = task.reference.group
        side: Literal["low", "high"] = "low" if group == axis.low else "high"
        figures.append(
            Scatter(
                f"Share of {group}: in the images and at work",
                Quantity(task.reference.name, given=task.reference.shares),
                Quantity(f"share of {group} in the images", f"lean{first.suffix}", share=side),
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
        title = " x ".join(task.crossing)
        figures.append(
            Combinations(
                f"Which combinations are shown: {title}",
                title,
                "Hollow: the share that its parts alone would make. Filled: the share of the "
                "images, in colour where the difference is clear after Holm’s correction; the line "
                "is the interval of the difference, for stimuli like these. It does not say "
                "whether a part by itself is balanced, and no clear difference is not "
                "independence.",
            )
        )
    if task.likeness:
        figures += [
            Apart(
                f"How far apart: images with {pair.first.name} and with {pair.second.name}",
                f"apart{pair.suffix}",
                "apart_halves",
                "stimulus",
                "stimuli",
                "0: both are drawn alike, and below 0 by chance; 1: the images with either are all "
                "the same. Two halves: of the images without either, which only chance sets apart. "
                "A filled dot is clear after Holm’s correction; single rows have no interval. It "
                "is a distance between images: it does not say what differs, nor "
                "whom the images without either resemble.",
                "Hudson, Slatkin and Maddison (1992), equation 3",
            )
            for pair in group_pairs(task)
        ]
    return figures
