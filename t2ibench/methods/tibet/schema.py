"""The schema of TIBET tasks."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from t2ibench.methods.core.schema import (
    ImageTask,
    ProposedBy,
    Strict,
    Text,
    Words,
    without_unused,
)
from t2ibench.settings import Settings

Bias = Literal["societal", "incidental"]
# An axis is societal where its name holds one of these words (appendix 13.2).
_SOCIETAL = {"gender", "age", "race", "racial", "geographic", "ethnicity", "cultural"}


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
        bias: What a leaning would be: 'societal', an unfair or harmful association, or
            'incidental', one that harms nobody (appendix 8). By default as the paper sorts axes by
            their names.
    """

    name: Text
    counterfactuals: Annotated[tuple[Counterfactual, ...], Field(min_length=1)]
    questions: tuple[Text, ...] = ()
    bias: Bias | None = None

    @property
    def kind(self) -> Bias:
        """What a leaning along it would be.

        Examples:
            >>> cfs = ({"name": "x", "prompt": "y"},)
            >>> [Axis(name=n, counterfactuals=cfs).kind for n in ("Age", "body image")]
            ['societal', 'incidental']
        """
        if self.bias is not None:
            return self.bias
        named = _SOCIETAL.intersection(re.findall(r"[a-z]+", self.name.lower()))
        return "societal" if named else "incidental"

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without keys that are not used: a task that does without them is the same task."""
        return without_unused(handler(self), "bias")


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
        baselines: Whether the paper's other measures are given, too: MAD of CAS_CLIP, the
            alternatives to MAD, and means over societal and over incidental axes.
        concept_words: Words whose embeddings concepts are matched by, for the paper's baseline
            that matches them pairwise; none leaves it out.
        proposal: Who proposed the axes.
    """

    method: Literal["tibet"]
    prompts: Annotated[tuple[TibetPrompt, ...], Field(min_length=1)]
    caption_question: str = ""
    min_frequency: Annotated[float, Field(ge=0, lt=1)] = 0.01
    baselines: bool = False
    concept_words: Words | None = None
    proposal: ProposedBy | None = None

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without keys that are not used: a task that does without them is the same task."""
        return without_unused(handler(self), "baselines", "concept_words")

    def image_counts(self, settings: Settings) -> tuple[int, int]:
        """Images of a prompt, and of a counterfactual.

        A mixture is known no better than what it is mixed of, so that counterfactuals are prompts
        like any other: a run's smaller number of guided images is not for them.
        """
        guided = self.guided_images_per_prompt or self.images_per_prompt
        return settings.images(self.images_per_prompt), settings.images(guided)
