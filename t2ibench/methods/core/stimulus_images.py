"""Images of stimuli with and without a group, and checks of the group that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import adherence
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.leans import BOTTOM, TOP
from t2ibench.methods.core.obedience import Seen, obedient
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.text_vectors import mean_vector
from t2ibench.methods.core.wording_images import WordingImages, held_out


@dataclass(frozen=True, slots=True)
class StimulusImages:
    """The images of one stimulus, with and without a group, in every wording."""

    name: str
    neutral: list[PromptImages]  # without a group, for each wording
    guided: dict[str, list[PromptImages]]  # of each group, for each wording

    @property
    def complete(self) -> bool:
        """Whether every prompt of the stimulus has an image."""
        return all(
            images.whole
            for part in (self.neutral, *self.guided.values())
            for images in part
        )

    @property
    def all_neutral(self) -> PromptImages:
        """All images without a group, of every wording."""
        return PromptImages.merged(self.neutral)

    def of_group(self, name: str) -> PromptImages:
        """Return the images of one group, of every wording."""
        return PromptImages.merged(self.guided[name])

    def wording_images(self, first: str, second: str) -> list[WordingImages]:
        """Return the images of each wording, with `first` as attribute A and `second` as B."""
        sides = zip(self.neutral, self.guided[first], self.guided[second], strict=True)
        return [WordingImages(*images) for images in sides]


ImagesT = TypeVar("ImagesT", bound=StimulusImages)


def obeying(
    images: Sequence[ImagesT],
    evidence: Evidence,
    count: int,
    question: str | None,
    answers: Mapping[str, str],
) -> tuple[list[ImagesT], dict[str, Seen]]:
    """Return stimuli without guided images that fail to show their group, with counts.

    The counts are by answer: how many images show the group. All images and no counts
    are returned where nobody answered about some group. `answers` is group to the
    answer that names it.
    """
    names = tuple(answers.values())
    totals, left = dict.fromkeys(names, Seen()), []
    for stimulus in images if question else ():
        guided = {}
        for group, name in answers.items():
            parts = [
                obedient(evidence, part, count, (question or "", names), name)
                for part in stimulus.guided[group]
            ]
            guided[group] = [part for part, _ in parts]
            totals[name] = sum((seen for _, seen in parts), totals[name])
        left.append(replace(stimulus, guided=guided))
    if not all(seen.asked for seen in totals.values()):
        return list(images), {}
    return left, totals


def read_groups(
    images: Sequence[StimulusImages], first: str, second: str, evidence: Evidence
) -> tuple[Seen, Seen]:
    """Return how many images of each of two groups are nearer to their own group's text."""
    of_first = Seen()
    of_second = Seen()
    for stimulus in images:
        for a, b in zip(stimulus.guided[first], stimulus.guided[second], strict=True):
            a_texts = evidence.texts(a.prompts)
            b_texts = evidence.texts(b.prompts)
            a_seen, b_seen = adherence(a.embeddings, b.embeddings, a_texts, b_texts)
            of_first += a_seen
            of_second += b_seen
    return of_first, of_second


def text_leans(
    images: Sequence[StimulusImages], first: str, second: str, evidence: Evidence
) -> tuple[Float64Array, Float64Array]:
    """Return each lean's numerator N and distance D, from embeddings of prompts, not images.

    Both are NaN for a stimulus whose prompts without a group, or with either, have no
    vector.
    """
    points = []
    for stimulus in images:
        groups = (stimulus.of_group(first), stimulus.of_group(second))
        sides = (stimulus.all_neutral, *groups)
        points.append([mean_vector(evidence.texts(side.prompts)) for side in sides])
    vectors = np.array(points)  # shape (stimuli, 3, d)
    complete = np.isfinite(vectors).all(axis=(1, 2))
    means = np.full(vectors.shape[:2], np.nan)
    if complete.sum() > 1:
        sides_of_known = vectors[complete].swapaxes(0, 1)
        directions = held_out(sides_of_known[1] - sides_of_known[2])
        means[complete] = np.einsum("sjd,jd->js", sides_of_known, directions)
    return means @ TOP, means @ BOTTOM
