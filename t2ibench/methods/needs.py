"""What evidence a method asks for, and the settings that both of its functions read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run measures; the same values go to `needs` and to `score`.

    Attributes:
        images_per_prompt: Images of every prompt; None leaves it to the task.
        guided_images_per_prompt: Images of prompts that name an attribute or are counterfactuals;
            None is as many as of the others.
        limit: Keep only the first so many stimuli of each concept (for a try).
        seed: Seed of permutations and bootstrap (and, in the pipeline, of the images).
        n_permutations: Monte Carlo draws of a permutation test.
        n_bootstrap: Bootstrap draws of an interval.
        max_exact: Enumerate where there are at most so many partitions.
        level: Level of the confidence intervals.
    """

    images_per_prompt: int | None = None
    guided_images_per_prompt: int | None = None
    limit: int | None = None
    seed: int = 0
    n_permutations: int = 100_000
    n_bootstrap: int = 10_000
    max_exact: int = 200_000
    level: float = 0.95

    def limited(self, items: Sequence[_T]) -> Sequence[_T]:
        """The first `limit` items."""
        return items if self.limit is None else items[: self.limit]

    def images(self, of_task: int) -> int:
        """Images of a prompt, where the task asks for `of_task`."""
        return self.images_per_prompt or of_task

    def guided_images(self, of_task: int) -> int:
        """Images of a guided prompt, where the task asks for `of_task`."""
        return self.guided_images_per_prompt or self.images_per_prompt or of_task

    def rng(self, task_id: str, purpose: str) -> np.random.Generator:
        """A generator for one purpose within one task.

        It depends on neither encoder nor other tasks, so encoders are resampled in pairs and a
        task's numbers do not change with the tasks around it.
        """
        digest = hashlib.sha256(f"{task_id}\0{purpose}".encode()).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest[:8], "little")])


@dataclass(frozen=True, slots=True)
class PromptNeed:
    """Images of one prompt.

    Attributes:
        prompt: The text.
        images: How many, indices 0 to images - 1.
        role: 'neutral', 'guided', 'attribute' or 'target'.
        concept: Name of the concept it stands for.
        stimulus: The word of the concept.
        attribute: Name of the attribute, for guided and attribute prompts.
    """

    prompt: str
    images: int
    role: str
    concept: str = ""
    stimulus: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class QuestionNeed:
    """A judge's answer to one question about every image of a prompt.

    Attributes:
        prompt: Whose images.
        images: How many of them, indices 0 to images - 1.
        question: What is asked.
        classes: What it can be answered with ('unknown' always can); empty for free text.
    """

    prompt: str
    images: int
    question: str
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needs:
    """All evidence one task asks for.

    Attributes:
        prompts: Images to draw; a prompt may stand here twice with different roles.
        texts: Texts to embed.
        questions: Questions for a judge.
        embeds: Whether the images are embedded.
    """

    prompts: tuple[PromptNeed, ...] = ()
    texts: tuple[str, ...] = ()
    questions: tuple[QuestionNeed, ...] = ()
    embeds: bool = True

    @property
    def n_images(self) -> int:
        """Distinct images."""
        most: dict[str, int] = {}
        for need in self.prompts:
            most[need.prompt] = max(need.images, most.get(need.prompt, 0))
        return sum(most.values())

    @property
    def n_prompts(self) -> int:
        """Distinct prompts."""
        return len({need.prompt for need in self.prompts})
