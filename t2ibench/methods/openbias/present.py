"""The presentation of an OpenBias task's result on pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from t2ibench.methods.core.describe import people
from t2ibench.methods.core.presentation import (
    Combinations,
    Figure,
    ImageGroups,
    Presentation,
    Quantity,
    RowSeries,
    Scatter,
    short_name,
)
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.openbias.schema import OpenBiasTask, crossing_names

_FORMULA = (
    "h = Σ (share of a class − expected share)² / (1 − 1/k), unbiased, over the k classes "
    "of a question; headline = mean over questions of the mean over captions, shown as "
    "its root"
)


def present(task: OpenBiasTask) -> Presentation:
    """Return which rows, images and figures pages show for an OpenBias task."""
    figures: list[Figure] = [*_shares_beside_references(task)]
    figures += [Combinations.of(name, "these prompts") for name in crossing_names(task)]
    return Presentation(
        name=short_name(task.title),
        rows=tuple(_row_series(task)),
        images=ImageGroups(
            _answer,
            "answered “{group}”",
            "squared_lean",
            stimuli=_stimulus_by_prompt(task),
        ),
        formula=_FORMULA,
        source="After D'Incà et al. (2024), equations 3 to 5",
        figures=tuple(figures),
    )


def _row_series(task: OpenBiasTask) -> Iterator[RowSeries]:
    """Yield the series of rows that pages show: questions, then stimuli or captions."""
    subjects = frozenset(bias.about for bias in task.biases)
    yield RowSeries("squared_lean", "bias", square=True, groups=subjects)
    for bias in task.biases:
        group = frozenset({bias.full_name})
        noun = "stimulus" if bias.stimuli else "prompt"
        if len(task.biases) > 1 and not bias.stimuli:
            noun = f"prompt ({bias.full_name})"
        if len(bias.classes) == 2:
            first, second = bias.classes
            yield RowSeries.of_classes(noun, (first, second), group)
        elif not bias.stimuli:
            yield RowSeries("majority_share", noun, groups=group)


def _stimulus_by_prompt(task: OpenBiasTask) -> dict[str, str]:
    """Return the stimulus of each prompt made from a template, keyed by prompt."""
    stimuli = {}
    for bias in task.biases:
        for template in bias.templates:
            for stimulus in bias.stimuli or ():
                stimuli[fill(template, stimulus=stimulus)] = stimulus
    return stimuli


def _shares_beside_references(task: OpenBiasTask) -> Iterator[Scatter]:
    """Yield, for each class with known shares, a figure that compares them with images."""
    n_with_reference = len([bias for bias in task.biases if bias.all_references])
    for bias in task.biases:
        if not bias.stimuli:
            continue
        of_bias = f" ({bias.full_name})" if n_with_reference > 1 else ""
        for reference in bias.all_references:
            group = people(reference.group, bias.full_name)
            share = join_score_name("share", reference.group)
            yield Scatter(
                f"Share of {group}: in the answers and at work{of_bias}",
                Quantity(reference.name, given=reference.shares),
                Quantity(f"share of {group} in the answers", share),
                "On the line the answers mirror the statistics; that is not the same as fair. In "
                "colour: clearly off it.",
                groups=frozenset({bias.full_name}),
                diagonal=True,
                intervals=True,
                difference=join_score_name("share_minus_reference", reference.group),
            )


def _answer(bias: str, row: Mapping[str, Any]) -> str | None:
    """Return the answer in a row of samples, if it is about this bias; None for others."""
    return str(row["answer"]) if row.get("bias") == bias else None
