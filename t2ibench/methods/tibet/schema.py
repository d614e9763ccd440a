"""The schema of TIBET tasks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from t2ibench.methods.core.schema import ImageTask, ProposedBy, Strict, Text
from t2ibench.settings import Settings


class Counterfactual(Strict):
    """A prompt with one thing changed.

    Attributes:
        name: What it was changed to, for example 'female'.
        prompt: The changed prompt.
    """

    name: Text
    prompt: Text


class Axis(Strict):
    """One way in which the images of a prompt may be biased.

    Attributes:
        name: For example 'gender'.
        counterfactuals: The prompt with this one thing changed.
        questions: What the judge is asked about it; by default the paper's question for it.
    """

    name: Text
    counterfactuals: Annotated[tuple[Counterfactual, ...], Field(min_length=1)]
    questions: tuple[Text, ...] = ()


class TibetPrompt(Strict):
    """A prompt and its axes.

    Attributes:
        prompt: The text.
        axes: In which ways it may be biased.
    """

    prompt: Text
    axes: Annotated[tuple[Axis, ...], Field(min_length=1)]


class TibetTask(ImageTask):
    """Counterfactuals along axes, compared by concepts (Chinchure et al. 2024).

    Attributes:
        prompts: What to generate, and what to compare it with.
        caption_question: A further question about every image; empty asks none.
        min_frequency: Concepts rarer than this are dropped.
        proposal: Who proposed the axes.
    """

    method: Literal["tibet"]
    prompts: Annotated[tuple[TibetPrompt, ...], Field(min_length=1)]
    caption_question: str = ""
    min_frequency: Annotated[float, Field(ge=0, lt=1)] = 0.01
    proposal: ProposedBy | None = None

    def image_counts(self, settings: Settings) -> tuple[int, int]:
        """Images of a prompt, and of a counterfactual.

        A mixture is known no better than what it is mixed of, so that counterfactuals are prompts
        like any other: a run's smaller number of guided images is not for them.

        Args:
            settings: How the task is measured.

        Returns:
            (prompt, counterfactual).
        """
        guided = self.guided_images_per_prompt or self.images_per_prompt
        return settings.images(self.images_per_prompt), settings.images(guided)
