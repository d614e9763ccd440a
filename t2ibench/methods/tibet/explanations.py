"""What stands behind the scores: concepts, their intersections and the sensitivity to answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from t2ibench.methods.tibet.associations import Sensitivity
from t2ibench.methods.tibet.image_sets import PromptSets
from t2ibench.methods.tibet.questions import questions_of
from t2ibench.methods.tibet.schema import TibetPrompt

TOP_K = 10
TOP_CROSSED = 3  # concepts along one axis's counterfactuals for another axis


def mean_curve(curves: Sequence[Sensitivity], *, pooled: bool = False) -> list[dict[str, float]]:
    """The sensitivity over all prompts and axes, as an entry of `details`."""
    steps = []
    for step, share in enumerate(curves[0].flipped):
        entry = {"flipped": share}
        for name in curves[0].changes:
            entry[f"{name}_change"] = float(np.mean([one.changes[name][step] for one in curves]))
        for name in curves[0].changes if pooled else ():
            total = sum(one.values[name] for one in curves)
            change = sum(one.moved[name][step] for one in curves)
            entry[f"{name}_pooled"] = change / total if total > 0 else 0.0
        steps.append(entry)
    return sorted(steps, key=lambda entry: entry["flipped"])


def top_concepts(target: TibetPrompt, sets: PromptSets) -> dict[str, Any]:
    """Top concepts, overall and by axis, and along each axis's counterfactuals for the others."""
    start = sets.sets[target.prompt]
    axes = []
    for axis in target.axes:
        others = [other for other in target.axes if other.name != axis.name]
        counterfactuals = []
        for cf in axis.counterfactuals:
            changed = sets.sets[cf.prompt]
            counterfactuals.append(
                {
                    "name": cf.name,
                    "concepts": sets.top(changed, TOP_K),
                    "axis_concepts": sets.top(changed, TOP_K, questions_of(axis)),
                    "intersections": {
                        other.name: sets.top(changed, TOP_CROSSED, questions_of(other))
                        for other in others
                    },
                }
            )
        axes.append(
            {
                "axis": axis.name,
                "questions": list(questions_of(axis)),
                "concepts": sets.top(start, TOP_K, questions_of(axis)),
                "counterfactuals": counterfactuals,
            }
        )
    return {"prompt": target.prompt, "concepts": sets.top(start, TOP_K), "axes": axes}
