"""Images and texts of a task's attributes and targets, as they were collected."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.obedience import Seen, obedient
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.text_vectors import has_vector, mean_vector, with_vector
from t2ibench.methods.mcas.axis import AttributeAxis
from t2ibench.methods.mcas.needs import chosen_targets
from t2ibench.methods.mcas.poles import image_poles, text_axis
from t2ibench.methods.mcas.schema import McasTarget, McasTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class Attributes:
    """The two attributes of a task, as images and as words.

    Attributes:
        images: Images of A and of B.
        words: Vectors of the words of A and of B, each of shape (words, d).
        image_axis: The axis of their images.
        word_axis: The axis of their words.
    """

    images: tuple[PromptImages, PromptImages]
    words: tuple[Float64Array, Float64Array]
    image_axis: AttributeAxis
    word_axis: AttributeAxis

    @property
    def prompts_without_images(self) -> list[str]:
        """Attribute prompts for which there is no image."""
        return [
            prompt
            for side in self.images
            for number, prompt in enumerate(side.prompts)
            if not (side.clusters == number).any()
        ]


@dataclass(frozen=True, slots=True)
class Target:
    """One target of a task, with its images and texts.

    Attributes:
        spec: The target in the task file.
        images: Its images, of every prompt of the target.
        texts: Vectors of its texts that have one, shape (texts, d).
        by_image: Whether images are the units where it has several prompts; otherwise
            prompts are.
    """

    spec: McasTarget
    images: PromptImages
    texts: Float64Array
    by_image: bool

    @property
    def point(self) -> Float64Array:
        """Mean embedding of the target's images, with equal weight for each prompt, shape (d,)."""
        has_images = self.images.sizes > 0
        mean: Float64Array = self.images.means[has_images].mean(axis=0)
        return mean

    @property
    def text(self) -> Float64Array:
        """Mean embedding of the target's texts, shape (d,); NaN where none has a vector."""
        return mean_vector(self.texts)

    def image_influence(self, direction: Float64Array) -> Influence:
        """Return the influence of each image, or prompt, on the target's mean along a direction.

        The values are nan where there is one unit only.
        """
        numbers = np.unique(self.images.clusters)
        if len(numbers) > 1 and not self.by_image:
            along = self.images.means[numbers] @ direction
            return Influence.of_mean(self._stratum, numbers, along)
        values = self.images.along(direction)
        weight = 1.0 / len(numbers)
        parts = []
        for number in numbers:
            of_prompt = self.images.clusters == number
            influence = Influence.of_mean(
                self.images.prompts[number],
                self.images.indices[of_prompt],
                values[of_prompt],
            )
            parts.append((weight, influence))
        return parts[0][1] if len(parts) == 1 else Influence.combined(parts)

    def text_influence(self, direction: Float64Array) -> Influence:
        """Return each text's influence on the mean of the target's texts along a direction.

        It is that on a constant where there is a single text, or where images are the
        units.
        """
        if len(self.texts) <= 1 or self.by_image:
            return Influence.none()
        numbers = np.arange(len(self.texts))
        return Influence.of_mean(self._stratum, numbers, self.texts @ direction)

    @property
    def _stratum(self) -> str:
        return f"prompts of {self.spec.name}"


def collect_attributes(
    task: McasTask, evidence: Evidence, settings: Settings, collector: ImageCollector
) -> Attributes | None:
    """Return images and words of both attributes; None where one has no image."""
    n_images = settings.guided_images(task.attribute_images_per_prompt)
    images_a = collector.collect(task.attributes.A.prompts, n_images)
    images_b = collector.collect(task.attributes.B.prompts, n_images)
    poles = image_poles(images_a, images_b, task.unit == "image")
    if not len(poles.a) or not len(poles.b):
        return None
    words_a = evidence.texts(task.attributes.A.words).astype(np.float64)
    words_b = evidence.texts(task.attributes.B.words).astype(np.float64)
    if len(words_a) == len(words_b):
        # Words are pairs: of each, both have a vector or neither counts.
        both = has_vector(words_a) & has_vector(words_b)
        words = (words_a[both], words_b[both])
    else:
        words = (with_vector(words_a), with_vector(words_b))
    return Attributes(
        images=(images_a, images_b),
        words=words,
        image_axis=AttributeAxis.between(poles),
        word_axis=text_axis(*words),
    )


def attributes_that_obey(
    task: McasTask, attributes: Attributes, evidence: Evidence, settings: Settings
) -> tuple[Attributes, dict[str, Seen]]:
    """Return the attributes without the images that fail to show them, and the counts.

    Returns:
        The attributes, and how many images show each, by its name. All images, and no counts,
        where the task has no question or nobody answered it about one of the attributes.
    """
    if task.question is None:
        return attributes, {}
    names = task.attribute_names
    n_images = settings.guided_images(task.attribute_images_per_prompt)
    asked = (task.question, names)
    obeying = []
    counts = {}
    for images, name in zip(attributes.images, names, strict=True):
        images_that_show_it, counts[name] = obedient(
            evidence, images, n_images, asked, name
        )
        obeying.append(images_that_show_it)
    if not all(seen.asked for seen in counts.values()):
        return attributes, {}
    return replace(attributes, images=(obeying[0], obeying[1])), counts


def collect_targets(
    task: McasTask, evidence: Evidence, settings: Settings, collector: ImageCollector
) -> tuple[list[Target], list[str]]:
    """Return the targets of a run with images and texts, and the names of those left out.

    Returns:
        The targets, and the names of those that are left out because a prompt has no
        image: without one of its wordings it would be another target.
    """
    n_images = settings.images(task.images_per_prompt)
    targets = []
    left_out = []
    for spec in chosen_targets(task, settings):
        images = collector.collect(spec.prompts, n_images)
        if images.whole:
            texts = with_vector(evidence.texts(list(spec.texts)).astype(np.float64))
            targets.append(Target(spec, images, texts, task.unit == "image"))
        else:
            left_out.append(spec.name)
    return targets, left_out
