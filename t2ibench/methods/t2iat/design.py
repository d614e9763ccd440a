"""The prompts of a T2IAT, and so the evidence it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from t2ibench.methods.core.association import cycle_words
from t2ibench.methods.core.evidence import (
    ImageCollector,
    Needs,
    PromptNeed,
    QuestionNeed,
)
from t2ibench.methods.core.prompts import alternatives
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one stimulus in one wording."""

    # without an attribute; several where the template has alternatives
    neutral: tuple[str, ...]
    guided: dict[str, list[str]]  # with the words of 'A' and of 'B'
    words: dict[str, list[str]]  # those words, in the same order


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One stimulus and its prompts."""

    side: str  # 'X' or 'Y'
    concept: str  # name of its concept
    word: str  # the stimulus itself
    number: int  # its position in its concept, from 0
    wordings: tuple[Prompts, ...]  # its prompts in each wording

    @property
    def neutral(self) -> list[str]:
        """The prompts without an attribute."""
        return [prompt for prompts in self.wordings for prompt in prompts.neutral]

    def guided(self, attribute: str) -> list[str]:
        """The prompts with an attribute."""
        return [
            prompt for prompts in self.wordings for prompt in prompts.guided[attribute]
        ]


def stimuli_of(task: T2iatTask, settings: Settings) -> Iterator[Stimulus]:
    """Every stimulus with its prompts."""
    attributes = {"A": task.attributes.A.words, "B": task.attributes.B.words}
    count = None if task.pairing == "cross" else task.words_per_stimulus
    for side, concept in (("X", task.concepts.X), ("Y", task.concepts.Y)):
        for number, word in enumerate(settings.limited(concept.stimuli)):
            chosen = {
                name: cycle_words(words, number, count)
                for name, words in attributes.items()
            }
            wordings = tuple(
                Prompts(
                    tuple(
                        wording.model_copy(update={"neutral": one}).without(word)
                        for one in alternatives(wording.neutral)
                    ),
                    {
                        name: wording.with_each(word, words)
                        for name, words in chosen.items()
                    },
                    chosen,
                )
                for wording in task.prompts.wordings
            )
            yield Stimulus(side, concept.name, word, number, wordings)


def needs(task: T2iatTask, settings: Settings) -> Needs:
    """Images of neutral and guided prompts, and the same prompts as texts."""
    n_neutral, n_guided = task.image_counts(settings)
    prompts, checks = [], []
    names = (task.attributes.A.name, task.attributes.B.name)
    for stimulus in stimuli_of(task, settings):
        if task.prompts.question:
            checks += [
                QuestionNeed(prompt, n_guided, task.prompts.question, names)
                for side in "AB"
                for prompt in stimulus.guided(side)
            ]
        concept, word = stimulus.concept, stimulus.word
        prompts += [
            PromptNeed(prompt, n_neutral, concept, word) for prompt in stimulus.neutral
        ]
        for side, attribute in (("A", task.attributes.A), ("B", task.attributes.B)):
            prompts += [
                PromptNeed(
                    prompt, n_guided, f"{concept}, {attribute.name}", word, shared
                )
                for one in stimulus.wordings
                for prompt, shared in zip(
                    one.guided[side], one.words[side], strict=True
                )
            ]
    texts = tuple(dict.fromkeys(need.prompt for need in prompts))
    return Needs(tuple(prompts), texts, checks=tuple(checks))


@dataclass(frozen=True, slots=True)
class ConceptImages(StimulusImages):
    """The images of one stimulus; guided ones are of attribute 'A' and 'B'."""

    stimulus: Stimulus


def balanced(
    task: T2iatTask, collected: Sequence[ConceptImages]
) -> list[ConceptImages]:
    """The stimuli that have all of their images, and whose partners on the other side have them.

    Stimuli of one number share their attribute words, so that X and Y meet the same words equally
    often. A stimulus without its partner would compare other words on the two sides, which leans
    where words differ in strength. With pairing 'cross' every stimulus has all words.
    """
    lacking = {one.stimulus.number for one in collected if not one.complete}
    cross = task.pairing == "cross"
    return [
        one
        for one in collected
        if (one.complete if cross else one.stimulus.number not in lacking)
    ]


def collect(
    task: T2iatTask, collector: ImageCollector, settings: Settings
) -> list[ConceptImages]:
    """The images of every stimulus."""
    n_neutral, n_guided = task.image_counts(settings)
    return [
        ConceptImages(
            stimulus.word,
            [
                collector.collect(prompts.neutral, n_neutral)
                for prompts in stimulus.wordings
            ],
            {
                side: [
                    collector.collect(prompts.guided[side], n_guided)
                    for prompts in stimulus.wordings
                ]
                for side in "AB"
            },
            stimulus,
        )
        for stimulus in stimuli_of(task, settings)
    ]
