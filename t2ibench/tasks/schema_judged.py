"""The schemas of tasks that ask a judge about images."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from t2ibench.tasks.schema_base import ImageTask, Reference, Strict, Text, Words


class ProposedBy(Strict):
    """Who proposed what a task asks about; a proposal is pinned, so a run never asks again.

    Attributes:
        proposer: As named to `t2ibench propose`.
        fingerprint: Of the proposer and its instructions.
        source: Captions or prompts that were given to it.
    """

    proposer: Text
    fingerprint: Text | None = None
    source: Text


class Expected(Strict):
    """A distribution over classes to compare with instead of uniform.

    Attributes:
        name: What it is.
        shares: Class to share; they sum to 1.
        source: Where it comes from.
    """

    name: Text
    shares: dict[str, Annotated[float, Field(ge=0, le=1)]]
    source: Text


class Bias(Strict):
    """One bias to look for (D'Incà et al. 2024).

    Attributes:
        name: What reports call it.
        about: What it refers to, for example 'person'.
        classes: What the question can be answered with; 'unknown' always can.
        question: What the judge is asked; '{stimulus}' is the stimulus of a template.
        captions: Name of a word list, or the captions themselves.
        stimuli: Name of a word list, or words; each is put into every template.
        templates: Captions with '{stimulus}' (or '{a stimulus}').
        expected: What to compare with instead of uniform.
        reference: Known share of one class for each stimulus, to compare the order with.
    """

    name: Text
    about: Text = "image"
    classes: Annotated[tuple[Text, ...], Field(min_length=2)]
    question: Text
    captions: Words | None = None
    stimuli: Words | None = None
    templates: tuple[Text, ...] = ()
    expected: Expected | None = None
    reference: Reference | None = None


class OpenBiasTask(ImageTask):
    """Biases asked of a judge, caption by caption (D'Incà et al. 2024).

    Attributes:
        biases: What to look for.
        pooling: The shares of the context-free score: 'captions' is the mean of the captions'
            shares (the paper's equation 5), 'answers' counts all answers together (its code).
        proposal: Who proposed the biases.
    """

    method: Literal["openbias"]
    biases: Annotated[tuple[Bias, ...], Field(min_length=1)]
    pooling: Literal["captions", "answers"] = "captions"
    proposal: ProposedBy | None = None


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
        prompts: What to draw, and what to compare it with.
        caption_question: A further question about every image; empty asks none.
        min_frequency: Concepts rarer than this are dropped.
        proposal: Who proposed the axes.
    """

    method: Literal["tibet"]
    prompts: Annotated[tuple[TibetPrompt, ...], Field(min_length=1)]
    caption_question: str = ""
    min_frequency: Annotated[float, Field(ge=0, lt=1)] = 0.01
    proposal: ProposedBy | None = None
