"""The prompts of a T2IAT, and so the evidence it needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from t2ibench.methods.core.association import cycle_words, guided_prompts
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One stimulus and its prompts.

    Attributes:
        side: 'X' or 'Y'.
        concept: Name of its concept.
        word: The stimulus itself.
        neutral: The prompt without an attribute.
        guided: The prompts with the words of 'A' and of 'B'.
    """

    side: str
    concept: str
    word: str
    neutral: str
    guided: dict[str, list[str]]


def stimuli_of(task: T2iatTask, settings: Settings) -> Iterator[Stimulus]:
    """Every stimulus with its prompts.

    Args:
        task: The task.
        settings: How it is measured.

    Yields:
        The stimuli of X, then those of Y.
    """
    attributes = {"A": task.attributes.A.words, "B": task.attributes.B.words}
    count = None if task.pairing == "cross" else task.words_per_stimulus
    for side, concept in (("X", task.concepts.X), ("Y", task.concepts.Y)):
        for number, word in enumerate(settings.limited(concept.stimuli)):
            guided = {
                name: guided_prompts(task.prompts.guided, word, cycle_words(words, number, count))
                for name, words in attributes.items()
            }
            neutral = fill(task.prompts.neutral, stimulus=word)
            yield Stimulus(side, concept.name, word, neutral, guided)


def needs(task: T2iatTask, settings: Settings) -> Needs:
    """Images of neutral and guided prompts; the guided prompts as texts for the adherence check.

    Args:
        task: The task.
        settings: How it is measured.

    Returns:
        Prompts and texts.
    """
    n_neutral, n_guided = task.image_counts(settings)
    prompts, texts = [], []
    for stimulus in stimuli_of(task, settings):
        prompts.append(PromptNeed(stimulus.neutral, n_neutral))
        for guided in stimulus.guided.values():
            texts += guided
            prompts += [PromptNeed(prompt, n_guided) for prompt in guided]
    return Needs(tuple(prompts), tuple(dict.fromkeys(texts)))


def variants(task: T2iatTask) -> dict[str, T2iatTask]:
    """The same task with each pairing of stimuli and attribute words, for comparing their cost.

    Args:
        task: The task.

    Returns:
        Description to task.
    """
    names = {
        "cycle": f"pairing: cycle ({task.words_per_stimulus} words a stimulus)",
        "cross": "pairing: cross",
    }
    return {name: task.model_copy(update={"pairing": pairing}) for pairing, name in names.items()}
