"""The evidence of an MCAS task: attributes as poles, targets as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.schema import Side
from t2ibench.methods.mcas.axis import Axis, Poles
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.settings import Settings
from t2ibench.stats.sums import sums_by

ATTRIBUTE_UNITS = "attribute "  # with which the names of the attributes' strata begin
_MOST_IMAGES = 100_000  # of one prompt; see `core.schema.Count`


def chosen_targets(task: McasTask, settings: Settings) -> list[McasTarget]:
    """The targets of a run: with `--limit`, the first of each stereotype in each category."""
    groups: dict[tuple[str | None, Side | None], list[McasTarget]] = {}
    for target in task.targets:
        groups.setdefault((target.category, target.stereotype), []).append(target)
    kept = {target.name for group in groups.values() for target in settings.limited(group)}
    return [target for target in task.targets if target.name in kept]


def prompt_means(images: PromptImages) -> tuple[Float64Array, BoolArray]:
    """The mean embedding of each prompt's images.

    Args:
        images: Images of several prompts.

    Returns:
        Means of shape (prompts, d), 0 for a prompt without images; and which prompts have any.
    """
    sums = sums_by(images.clusters, images.embeddings, len(images.prompts))
    sizes = np.bincount(images.clusters, minlength=len(images.prompts))
    return sums / np.maximum(sizes, 1)[:, None], sizes > 0


def image_poles(a: PromptImages, b: PromptImages, by_image: bool) -> Poles:
    """The attributes by their images."""
    if by_image:
        of_a, of_b = (side.clusters * _MOST_IMAGES + side.indices for side in (a, b))
        return Poles(a.embeddings, b.embeddings, of_a, of_b, False, f"{ATTRIBUTE_UNITS}images")
    (means_a, has_a), (means_b, has_b) = prompt_means(a), prompt_means(b)
    paired = len(has_a) == len(has_b)
    if paired:
        has_a = has_b = has_a & has_b
    return Poles(
        means_a[has_a],
        means_b[has_b],
        np.flatnonzero(has_a),
        np.flatnonzero(has_b),
        paired,
        f"{ATTRIBUTE_UNITS}prompts",
    )


def word_poles(a: Float64Array, b: Float64Array) -> Poles:
    """The attributes by their words.

    Args:
        a: Words of A, shape (k, d).
        b: Words of B, shape (l, d).

    Returns:
        The poles, paired where both have as many words.
    """
    return Poles(
        a, b, np.arange(len(a)), np.arange(len(b)), len(a) == len(b), f"{ATTRIBUTE_UNITS}words"
    )


@dataclass(frozen=True, slots=True)
class Target:
    """One target with its images and its texts.

    Attributes:
        spec: The target.
        images: Its images, of those of its prompts that have any.
        texts: Its prompts as texts, shape (prompts, d).
        by_image: Whether images are the units where it has several prompts.
    """

    spec: McasTarget
    images: PromptImages
    texts: Float64Array
    by_image: bool

    @property
    def point(self) -> Float64Array:
        """Mean embedding of its images, each prompt counting alike, shape (d,)."""
        means, has = prompt_means(self.images)
        mean: Float64Array = means[has].mean(axis=0)
        return mean

    @property
    def text(self) -> Float64Array:
        """Mean embedding of its texts, shape (d,)."""
        mean: Float64Array = self.texts.mean(axis=0)
        return mean

    def image_influence(self, direction: Float64Array) -> Influence:
        """The influence of its images, or of its prompts, on its point along a direction.

        Args:
            direction: Shape (d,).

        Returns:
            Nan for a single unit.
        """
        values = self.images.embeddings @ direction
        numbers = np.unique(self.images.clusters)
        if len(numbers) > 1 and not self.by_image:
            means, _ = prompt_means(self.images)
            return Influence.of_mean(self._stratum, numbers, means[numbers] @ direction)
        parts = []
        for number in numbers:
            mine = self.images.clusters == number
            stratum, units = self.images.prompts[number], self.images.indices[mine]
            parts.append((1.0 / len(numbers), Influence.of_mean(stratum, units, values[mine])))
        return parts[0][1] if len(parts) == 1 else Influence.combined(parts)

    def text_influence(self, direction: Float64Array) -> Influence:
        """The influence of its prompts on its text along a direction.

        Args:
            direction: Shape (d,).

        Returns:
            None of a single prompt, whose text is what it is.
        """
        if len(self.texts) == 1 or self.by_image:
            return Influence.none()
        return Influence.of_mean(self._stratum, np.arange(len(self.texts)), self.texts @ direction)

    @property
    def _stratum(self) -> str:
        return f"prompts of {self.spec.name}"


def image_influences(targets: Sequence[Target], direction: Float64Array) -> list[Influence]:
    """The influence of each target's images on its point along a direction.

    Args:
        targets: The targets.
        direction: Shape (d,).

    Returns:
        One a target. A target with a single image gets the mean variance of the others' images;
        nan where there is none.
    """
    found = [target.image_influence(direction) for target in targets]
    single = [len(target.images) == 1 for target in targets]
    if not any(single):
        return found
    variances = [
        influence.variance * len(influence.value)
        for influence, alone in zip(found, single, strict=True)
        if not alone
    ]
    spread = np.sqrt(np.mean(variances)) if variances else np.nan
    return [
        replace(influence, value=np.full(1, spread)) if alone else influence
        for influence, alone in zip(found, single, strict=True)
    ]


def text_axis(a: Float64Array, b: Float64Array) -> Axis:
    """The axis between two attributes' words.

    Args:
        a: Words of A, shape (k, d).
        b: Words of B, shape (l, d).

    Returns:
        The axis.
    """
    return Axis.between(word_poles(a, b))
