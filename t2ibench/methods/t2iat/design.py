"""The prompts of a T2IAT, and the images and texts that it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from t2ibench.methods.core.association import cycle_words
from t2ibench.methods.core.evidence import (
    Needs,
    PromptNeed,
    QuestionNeed,
)
from t2ibench.methods.core.guided import Wording
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one stimulus in one wording.

    Attributes:
        neutral: Without an attribute; several where the template has alternatives.
        guided: With the words of 'A' and of 'B'.
        words: Those words, in the same order.
    """

    neutral: tuple[str, ...]
    guided: dict[str, list[str]]
    words: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One stimulus and its prompts.

    Attributes:
        side: 'X' or 'Y'.
        concept: Name of its concept.
        word: The stimulus itself.
        number: Its position in its concept, from 0.
        wordings: Its prompts in each wording.
    """

    side: str
    concept: str
    word: str
    number: int
    wordings: tuple[Prompts, ...]

    @property
    def neutral(self) -> list[str]:
        """Prompts of the stimulus without an attribute, in every wording."""
        return [prompt for prompts in self.wordings for prompt in prompts.neutral]

    def guided(self, attribute: str) -> list[str]:
        """Return the stimulus's prompts with attribute 'A' or 'B', in every wording."""
        return [
            prompt for prompts in self.wordings for prompt in prompts.guided[attribute]
        ]


def stimuli_of(task: T2iatTask, settings: Settings) -> Iterator[Stimulus]:
    """Yield every stimulus of a task with its prompts, first those of X."""
    attributes = {"A": task.attributes.A.words, "B": task.attributes.B.words}
    count = None if task.pairing == "cross" else task.words_per_stimulus
    for side, concept in (("X", task.concepts.X), ("Y", task.concepts.Y)):
        for number, word in enumerate(settings.limited(concept.stimuli)):
            chosen = {
                name: cycle_words(words, number, count)
                for name, words in attributes.items()
            }
            wordings = tuple(
                _prompts(wording, word, chosen) for wording in task.prompts.wordings
            )
            yield Stimulus(side, concept.name, word, number, wordings)


def _prompts(wording: Wording, stimulus: str, words: dict[str, list[str]]) -> Prompts:
    """Return the prompts of a stimulus in one wording, without attributes and with their words."""
    neutral = wording.without_attribute(stimulus)
    guided = {
        attribute: wording.with_each(stimulus, of_attribute)
        for attribute, of_attribute in words.items()
    }
    return Prompts(tuple(neutral), guided, words)


def needs(task: T2iatTask, settings: Settings) -> Needs:
    """Return the evidence that a task needs: images of all prompts, and the prompts as texts."""
    n_neutral, n_guided = task.image_counts(settings)
    prompts: list[PromptNeed] = []
    checks: list[QuestionNeed] = []
    names = (task.attributes.A.name, task.attributes.B.name)
    for stimulus in stimuli_of(task, settings):
        if task.prompts.question:
            checks += [
                QuestionNeed(prompt, n_guided, task.prompts.question, names)
                for side in "AB"
                for prompt in stimulus.guided(side)
            ]
        concept = stimulus.concept
        prompts += [
            PromptNeed(prompt, n_neutral, concept, stimulus.word)
            for prompt in stimulus.neutral
        ]
        for side, attribute in (("A", task.attributes.A), ("B", task.attributes.B)):
            group = f"{concept}, {attribute.name}"
            for wording in stimulus.wordings:
                pairs = zip(wording.guided[side], wording.words[side], strict=True)
                prompts += [
                    PromptNeed(prompt, n_guided, group, stimulus.word, word)
                    for prompt, word in pairs
                ]
    texts = tuple(dict.fromkeys(need.prompt for need in prompts))
    return Needs(tuple(prompts), texts, checks=tuple(checks), guided_groups=names)


@dataclass(frozen=True, slots=True)
class ConceptImages(StimulusImages):
    """The images of one stimulus, without an attribute and with attribute 'A' and 'B'."""

    stimulus: Stimulus


def balanced(
    task: T2iatTask, collected: Sequence[ConceptImages]
) -> list[ConceptImages]:
    """Return the stimuli that have all of their images, and whose partner has them, too.

    Stimuli of one number share their attribute words, so that X and Y meet the same words equally
    often. A stimulus without its partner would compare other words on the two sides, which leans
    where words differ in strength. With pairing 'cross' every stimulus has all words.
    """
    if task.pairing == "cross":
        return [images for images in collected if images.complete]
    incomplete = {images.stimulus.number for images in collected if not images.complete}
    return [images for images in collected if images.stimulus.number not in incomplete]


def collect(
    task: T2iatTask, collector: ImageCollector, settings: Settings
) -> list[ConceptImages]:
    """Return the images of every stimulus of a task."""
    n_neutral, n_guided = task.image_counts(settings)
    images = []
    for stimulus in stimuli_of(task, settings):
        neutral = [
            collector.collect(prompts.neutral, n_neutral)
            for prompts in stimulus.wordings
        ]
        guided = {}
        for side in "AB":
            guided[side] = [
                collector.collect(prompts.guided[side], n_guided)
                for prompts in stimulus.wordings
            ]
        images.append(ConceptImages(stimulus.word, neutral, guided, stimulus))
    return images
