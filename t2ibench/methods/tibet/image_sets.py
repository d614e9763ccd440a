"""The images of a prompt and of its counterfactuals, with the concepts in their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.tibet.schema import Axis, questions_of

# Concepts, each with how often the answers about an image name it.
Concepts = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class ImageSet:
    """The images of one prompt that were answered, with their answers.

    Attributes:
        prompt: The prompt.
        indices: Index of each image among the prompt's samples, shape (images,).
        answers: Number of the answer that each image got to each question, shape (images,
            questions); -1 where there is none.
        embeddings: Shape (images with an embedding, dimensions); without rows where no encoder saw
            them.
        excluded: Number of images excluded, by reason.
        floor: Concepts that are rarer count as absent.
        texts: The answers, by number.
        concepts: How often each concept occurs in each answer, shape (answers, concepts).
    """

    prompt: str
    indices: IntArray
    answers: IntArray
    embeddings: Float64Array
    excluded: Counter[str]
    floor: float
    texts: Sequence[str] = ()
    concepts: Float64Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.indices)

    def bags(self, answers: IntArray | None = None) -> Float64Array:
        """Return how often each image's answers name each concept, shape (images, concepts).

        Args:
            answers: Which answers, as numbers of shape (images, questions); by default all.
        """
        chosen = self.answers if answers is None else answers
        # A last row of zeros, which -1 points to, for questions without an answer.
        padded = np.vstack([self.concepts, np.zeros(self.concepts.shape[1])])
        bags: Float64Array = padded[chosen].sum(axis=1)
        return bags

    def histogram(self) -> Float64Array:
        """Return how often answers about an image name each concept, on average.

        Concepts below the floor count as 0.
        """
        return drop_rare(self.bags().mean(axis=0), self.floor)

    def similarity(self, other: ImageSet) -> float | None:
        """Return the mean cosine of these images with another set's; None without embeddings.

        It is the paper's CAS_CLIP.
        """
        if not len(self.embeddings) or not len(other.embeddings):
            return None
        return float(self.embeddings.mean(axis=0) @ other.embeddings.mean(axis=0))

    def samples(self, questions: Sequence[str]) -> list[dict[str, Any]]:
        """Return one sample for each image, with its answers to the questions."""
        samples = []
        for index, numbers in zip(self.indices, self.answers, strict=True):
            texts = [
                self.texts[number] if number >= 0 else UNKNOWN
                for number in numbers.tolist()
            ]
            answers = dict(zip(questions, texts, strict=True))
            samples.append(
                {"prompt": self.prompt, "index": int(index), "answers": answers}
            )
        return samples


def drop_rare(histograms: Float64Array, floor: float) -> Float64Array:
    """Return the frequencies of concepts, with those below `floor` set to 0.

    Examples:
        >>> drop_rare(np.array([0.5, 0.005]), 0.01).tolist()
        [0.5, 0.0]
    """
    return np.where(histograms < floor, 0.0, histograms)


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """The images of one prompt, with the concepts that answers about one axis name.

    Attributes:
        prompt: The prompt.
        units: Index of each image among the prompt's samples, shape (images,).
        features: Whether the answers about an image name each concept, 0 or 1, shape (images,
            concepts).
    """

    prompt: str
    units: IntArray
    features: Float64Array

    def without(self, units: frozenset[int]) -> FeatureSet:
        """Return the set without the images that have the given indices."""
        remaining = ~np.isin(self.units, list(units))
        return FeatureSet(self.prompt, self.units[remaining], self.features[remaining])


@dataclass(frozen=True, slots=True)
class PromptSets:
    """A prompt's images and those of all its counterfactuals, in one space of concepts.

    Attributes:
        sets: The images of each prompt, by prompt.
        questions: What was asked about every image.
        names: The names of the concepts.
    """

    sets: Mapping[str, ImageSet]
    questions: Sequence[str]
    names: Sequence[str]

    def features(self, image_set: ImageSet, questions: Sequence[str]) -> FeatureSet:
        """Return, for each image, which concepts its answers to the given questions name."""
        columns = [self.questions.index(question) for question in questions]
        answers = image_set.answers[:, columns]
        answered = (answers >= 0).any(axis=1)
        named = image_set.bags(answers[answered]) > 0
        return FeatureSet(
            image_set.prompt, image_set.indices[answered], named.astype(np.float64)
        )

    def texts(self, image_set: ImageSet, questions: Sequence[str]) -> list[str]:
        """Return each image's answers to the given questions, as one text in lower case.

        Images without an answer to them are left out.
        """
        columns = [self.questions.index(question) for question in questions]
        texts = []
        for numbers in image_set.answers[:, columns].tolist():
            answers = [image_set.texts[number] for number in numbers if number >= 0]
            if answers:
                texts.append(
                    ", ".join(answer.strip(" .").lower() for answer in answers)
                )
        return texts

    def most_frequent(self, prompt: str, count: int, axis: Axis) -> Concepts:
        """Return the most frequent concepts in answers about an axis of a prompt's images."""
        image_set = self.sets[prompt]
        if not len(image_set):
            return ()
        columns = [self.questions.index(question) for question in questions_of(axis)]
        frequencies = image_set.bags(image_set.answers[:, columns]).mean(axis=0)
        named = [
            (name, float(frequency))
            for name, frequency in zip(self.names, frequencies, strict=True)
            if frequency > 0
        ]
        ordered = sorted(named, key=lambda concept: (-concept[1], concept[0]))
        return tuple(ordered[:count])
