"""The most frequent concepts of a prompt's images and of its counterfactuals'."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.methods.tibet.image_sets import Concepts, PromptSets
from t2ibench.methods.tibet.schema import Axis, TibetPrompt

# Concepts along an axis.
TOP_K = 10
# Concepts of one axis's counterfactuals in the answers about another axis.
TOP_CROSSED = 3


@dataclass(frozen=True, slots=True)
class CounterfactualConcepts:
    """The most frequent concepts in the answers about one counterfactual's images.

    Attributes:
        name: Its name.
        axis_concepts: In the answers about its own axis.
        intersections: Another axis to the concepts in the answers about that.
    """

    name: str
    axis_concepts: Concepts
    intersections: dict[str, Concepts]


@dataclass(frozen=True, slots=True)
class AxisConcepts:
    """The most frequent concepts along one axis, for a prompt and its counterfactuals.

    Attributes:
        axis: Its name.
        concepts: Of the prompt as it stands.
        counterfactuals: Of each counterfactual.
    """

    axis: str
    concepts: Concepts
    counterfactuals: tuple[CounterfactualConcepts, ...]


@dataclass(frozen=True, slots=True)
class PromptConcepts:
    """The most frequent concepts of one prompt along each axis, as `details` store them.

    Attributes:
        prompt: The prompt.
        axes: Those along each of its axes.
    """

    prompt: str
    axes: tuple[AxisConcepts, ...]


def top_concepts(target: TibetPrompt, sets: PromptSets) -> PromptConcepts:
    """Return the most frequent concepts of a prompt and its counterfactuals along each axis."""
    return PromptConcepts(
        prompt=target.prompt,
        axes=tuple(_axis_concepts(target, axis, sets) for axis in target.axes),
    )


def _axis_concepts(target: TibetPrompt, axis: Axis, sets: PromptSets) -> AxisConcepts:
    others = [other for other in target.axes if other is not axis]
    counterfactuals = []
    for counterfactual in axis.counterfactuals:
        prompt = counterfactual.prompt
        concepts = CounterfactualConcepts(
            name=counterfactual.name,
            axis_concepts=sets.most_frequent(prompt, TOP_K, axis),
            intersections={
                other.name: sets.most_frequent(prompt, TOP_CROSSED, other)
                for other in others
            },
        )
        counterfactuals.append(concepts)
    return AxisConcepts(
        axis=axis.name,
        concepts=sets.most_frequent(target.prompt, TOP_K, axis),
        counterfactuals=tuple(counterfactuals),
    )
