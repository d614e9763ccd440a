"""How an OpenBias task is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from t2ibench.methods.core.presentation import (
    Axis,
    Combinations,
    Figure,
    ImageGroups,
    Presentation,
    Quantity,
    RowSeries,
    Scatter,
    short_name,
)
from t2ibench.methods.openbias.answers import full_name
from t2ibench.methods.openbias.naming import crossing_name
from t2ibench.methods.openbias.schema import OpenBiasTask


def present(task: OpenBiasTask) -> Presentation:
    """How the result of a task is shown."""
    rows = [
        RowSeries("h", "bias", square=True, groups=frozenset(bias.about for bias in task.biases))
    ]
    for bias in task.biases:
        groups = frozenset({full_name(bias)})
        noun = "stimulus" if bias.stimuli else "prompt"
        noun += f" ({full_name(bias)})" if len(task.biases) > 1 and not bias.stimuli else ""
        if len(bias.classes) == 2:
            first, second = bias.classes
            rows.append(RowSeries("lean", noun, Axis(second, first), groups=groups))
        elif not bias.stimuli:
            rows.append(RowSeries("majority_share", noun, groups=groups))
    figures: list[Figure] = [
        Scatter(
            "Caption by caption, and over all captions",
            Quantity("over all captions (context-free severity)", "severity_free"),
            Quantity("caption by caption (context-aware severity)", "severity"),
            "Above the line a question is answered one-sidedly within captions, but to different "
            "sides.",
            "D'Incà et al. (2024), figure 9; as published",
            groups=frozenset(bias.about for bias in task.biases),
            diagonal=True,
        )
    ]
    figures += [*_beside_references(task), *_combinations(task)]
    return Presentation(
        name=short_name(task.title),
        axis=None,
        rows=tuple(rows),
        images=ImageGroups(_answer, "answered “{group}”", "h"),
        formula=(
            "h = Σ (share of a class − expected share)² / (1 − 1/k), unbiased, over the k classes "
            "of a question; headline = mean over questions of the mean over captions, shown as "
            "its root"
        ),
        source="After D'Incà et al. (2024), equations 3 to 5",
        figures=tuple(figures),
    )


def _beside_references(task: OpenBiasTask) -> Iterator[Figure]:
    """The shares of each class with known shares, stimulus by stimulus."""
    several = len([bias for bias in task.biases if bias.known]) > 1
    for bias in task.biases:
        of = f" ({full_name(bias)})" if several else ""
        for reference in bias.known if bias.stimuli else ():
            yield Scatter(
                f"Share of {reference.group}: in the answers and at work{of}",
                Quantity(reference.name, given=reference.shares),
                Quantity(f"share of {reference.group} in the answers", f"share:{reference.group}"),
                "On the line the answers mirror the statistics; that is not the same as fair. In "
                "colour: clearly off it.",
                groups=frozenset({full_name(bias)}),
                diagonal=True,
                intervals=True,
                difference=f"share_minus_reference:{reference.group}",
            )


def _combinations(task: OpenBiasTask) -> Iterator[Figure]:
    """The share of each combination of classes against what its parts would make it."""
    for names in task.crossings:
        name = crossing_name(task, names)
        yield Combinations(
            f"Which combinations are shown: {name}",
            name,
            "Hollow: the share that its parts alone would make. Filled: the share of the images, "
            "in colour where the difference is clear after Holm’s correction; the line is the "
            "interval of the difference, for these prompts. It does not say whether a part by "
            "itself is balanced, and no clear difference is not independence.",
        )


def _answer(bias: str, row: Mapping[str, Any]) -> str | None:
    return str(row["answer"]) if row.get("bias") == bias else None
