"""The presentation of a TIBET task's result on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.methods.core.presentation import (
    Bars,
    ImageGroups,
    Presentation,
    RowSeries,
)
from t2ibench.methods.tibet.concept_figures import AS_IT_STANDS, concept_figures
from t2ibench.methods.tibet.published import CAS, MAD
from t2ibench.methods.tibet.schema import Axis, TibetPrompt, TibetTask


def present(task: TibetTask) -> Presentation:
    """Return the presentation of a TIBET task's result on pages."""
    return Presentation(
        name=_short_name(task),
        rows=(RowSeries("squared_lean", "prompt and axis", square=True),),
        images=_image_groups(task),
        formula=(
            "π = the shares of the counterfactuals' images that best make up the prompt's, by the "
            "concepts that a judge names; h = (|π − 1/K|² − its sampling variance) / (1 − 1/K) "
            "for K counterfactuals; headline = mean over prompts and axes, shown as its root"
        ),
        source="After Chinchure et al. (2024)",
        figures=(_association_bars(), *concept_figures()),
        leans=_leans(task),
    )


def _axes_by_name(task: TibetTask) -> dict[str, Axis]:
    return {axis.name: axis for _, axis in task.rows.values()}


def _short_name(task: TibetTask) -> str:
    """Return a task's short name: its prompt and axis, or how many it has."""
    axes = list(_axes_by_name(task))
    prompts = f"{len(task.prompts)} prompts"
    if len(task.prompts) == 1:
        prompts = task.prompts[0].prompt
    return f"{prompts}, {axes[0] if len(axes) == 1 else f'{len(axes)} axes'}"


def _image_groups(task: TibetTask) -> ImageGroups:
    """Return how pages group each row's images: the prompt's and each counterfactual's."""
    groups = {
        name: _groups_of_row(target, axis) for name, (target, axis) in task.rows.items()
    }

    def group_of(row_name: str, sample: Mapping[str, Any]) -> str | None:
        return groups.get(row_name, {}).get(str(sample.get("prompt")))

    return ImageGroups(group_of, "{group}", "squared_lean")


def _groups_of_row(target: TibetPrompt, axis: Axis) -> dict[str, str]:
    """Return the names of a row's groups of images, keyed by prompt."""
    groups = {target.prompt: AS_IT_STANDS}
    for counterfactual in axis.counterfactuals:
        groups[counterfactual.prompt] = f"changed to “{counterfactual.name}”"
    return groups


def _association_bars() -> Bars:
    return Bars(
        title="Concept association scores",
        prefix=f"{CAS}:",
        row=MAD,
        caption=(
            "CAS of each counterfactual, as published, for the prompts and axes whose MAD is "
            "largest. CAS is near 1 for alike images without any bias, too."
        ),
        source="Chinchure et al. (2024), figure 4",
        axis="likeness to the counterfactual (CAS, as published)",
    )


def _leans(task: TibetTask) -> tuple[RowSeries, ...]:
    """Return the leans that pages show, for each axis with two counterfactuals."""
    series = []
    for name, axis in sorted(_axes_by_name(task).items()):
        if len(axis.counterfactuals) == 2:
            first, second = axis.counterfactuals
            names = (first.name, second.name)
            series.append(RowSeries.of_classes("prompt", names, frozenset({name})))
    return tuple(series)
