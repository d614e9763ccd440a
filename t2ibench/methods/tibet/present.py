"""How a TIBET task is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from t2ibench.methods.core.presentation import Bars, ImageGroups, Presentation, RowSeries
from t2ibench.methods.tibet.concept_panels import concept_figures
from t2ibench.methods.tibet.schema import TibetTask


def present(task: TibetTask) -> Presentation:
    """How the result of a task is shown."""
    axes = {axis.name for prompt in task.prompts for axis in prompt.axes}
    groups = _groups(task)

    def group(name: str, row: Mapping[str, Any]) -> str | None:
        return groups.get(name, {}).get(str(row.get("prompt")))

    count = f"{len(task.prompts)} prompts" if len(task.prompts) > 1 else task.prompts[0].prompt
    return Presentation(
        name=f"{count}, {next(iter(axes))}" if len(axes) == 1 else f"{count}, {len(axes)} axes",
        axis=None,
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
                "cas:",
                "mad",
                "CAS of each counterfactual, as published, for the prompts and axes whose MAD is "
                "largest. CAS is near 1 for alike images without any bias, too.",
                "Chinchure et al. (2024), figure 4",
            ),
            *concept_figures(),
        ),
    )


def _groups(task: TibetTask) -> dict[str, dict[str, str]]:
    """Row's name to prompt to what its images are: of the prompt itself or a counterfactual."""
    return {
        f"{prompt.prompt} | {axis.name}": {
            prompt.prompt: "as it stands",
            **{other.prompt: f"changed to “{other.name}”" for other in axis.counterfactuals},
        }
        for prompt in task.prompts
        for axis in prompt.axes
    }
