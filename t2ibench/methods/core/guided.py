"""The schema of neutral and guided prompts, with their wordings and languages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, model_validator

from t2ibench.errors import shown
from t2ibench.methods.core.language_detection import LANGUAGE_NAMES
from t2ibench.methods.core.prompts import (
    alternatives,
    fill,
    number_of_alternatives,
)
from t2ibench.methods.core.schema import ImageTask, Line, Strict, Text
from t2ibench.settings import Settings

_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_LONGEST_TAG = 35
# Prompts that one template may make with its alternatives; the shipped ones make four.
_MOST_ALTERNATIVES = 100


def _language_tag(value: str) -> str:
    """Return a valid language tag unchanged; raise an error for others, such as 'German'."""
    if _TAG.fullmatch(value) and len(value) <= _LONGEST_TAG:
        return value
    tags = {name.lower(): tag for tag, name in LANGUAGE_NAMES.items()}
    meant = tags.get(value.lower()) or (
        value.lower() if value.lower() in LANGUAGE_NAMES else None
    )
    hint = f" Did you mean '{meant}'?" if meant else ""
    raise ValueError(
        f"'{shown(value)}' is no language tag such as 'de' or 'pt-BR'.{hint}"
    )


Language = Annotated[str, AfterValidator(_language_tag)]


def _few_alternatives(template: str) -> str:
    """Return a template unchanged; raise an error if it stands for very many prompts."""
    number = number_of_alternatives(template)
    if number > _MOST_ALTERNATIVES:
        many = f"{number:,}" if number < 10**9 else "more than a billion"
        raise ValueError(
            f"with its alternatives this template makes {many} prompts for each word, but at "
            f"most {_MOST_ALTERNATIVES} are allowed: '{shown(template)}'"
        )
    return template


Template = Annotated[Text, AfterValidator(_few_alternatives)]


class Wording(Strict):
    """One way to ask for an image, with and without an attribute.

    Attributes:
        neutral: With '{stimulus}' (or '{a stimulus}'), without the attribute. It may have
            alternatives, such as '{child|kid}' or 'a {local|real} {stimulus}': its prompts are then
            drawn with each of them, as one wording.
        guided: With '{stimulus}' and '{attribute}'.
        language: Of the prompts, a tag such as 'en' or 'pt-BR'; None where the task has one.
        words: The task's words as this wording says them, such as translations.
        asked_as: What kind of prompt it is: a word, a phrase, a sentence or a paragraph. Where
            wordings are of several kinds, tasks of occupations measure how leans change with their
            length.
    """

    later = frozenset(
        {"language", "words", "templates", "images", "question", "asked_as"}
    )

    neutral: Template
    guided: Text
    language: Language | None = None
    words: dict[str, Line] | None = None
    asked_as: Literal["word", "phrase", "sentence", "paragraph"] | None = None

    def in_words(self, word: str) -> str:
        """Return the word that this wording uses, such as a translation, for a task's word."""
        return (self.words or {}).get(word, word)

    def without_attribute(self, stimulus: str) -> list[str]:
        """Return a stimulus's neutral prompts, one for each alternative of the template."""
        word = self.in_words(stimulus)
        return [
            fill(template, stimulus=word) for template in alternatives(self.neutral)
        ]

    def with_each(self, stimulus: str, words: Sequence[str]) -> list[str]:
        """Return a stimulus's guided prompts, one for each of an attribute's `words`."""
        stimulus = self.in_words(stimulus)
        return [
            fill(self.guided, stimulus=stimulus, attribute=self.in_words(word))
            for word in words
        ]


class GuidedPrompts(Wording):
    """Prompt templates with and without an attribute, in one or more wordings.

    Either `neutral` and `guided`, with `paraphrases`, or `templates` and `images`.

    Attributes:
        paraphrases: Further wordings of the same two prompts. With one wording, what it happens to
            do to the images cannot be told from what is measured.
        templates: Every wording, each with its language and perhaps translated words.
        images: What a number of images is of: 'each' prompt in each wording, or 'divided', a
            stimulus's over its wordings (rounded up, so that each has as many).
        question: What a judge is asked about each guided image, answered with the name of a group;
            images that do not show the group they were asked for are left out of leans. None asks
            nobody.
    """

    paraphrases: tuple[Wording, ...] = ()
    templates: tuple[Wording, ...] = ()
    images: Literal["each", "divided"] | None = None
    question: Line | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_templates(cls, value: Any) -> Any:
        """Fill in a task's `neutral` and `guided` from the first of `templates`, if given."""
        if not isinstance(value, dict) or "templates" not in value:
            return value
        both = sorted(
            {"neutral", "guided", "paraphrases", "language", "words", "asked_as"}
            & set(value)
        )
        given = value["templates"]
        first = given[0] if isinstance(given, (list, tuple)) and given else None
        lists = {"neutral": "{stimulus}", "guided": "{attribute} {stimulus}"}
        if both and not _same(value, first):
            raise ValueError(f"give either 'templates' or '{both[0]}', not both")
        if value.get("images") is None:
            raise ValueError(
                "'templates' needs 'images': 'each' (images_per_prompt in each wording) or "
                "'divided' (images_per_prompt over all wordings)"
            )
        template = first if isinstance(first, dict) else {}
        for key, stand_in in lists.items():
            text = template.get(key)
            lists[key] = text if isinstance(text, str) and text else stand_in
        return {**value, **lists}

    @property
    def wordings(self) -> tuple[Wording, ...]:
        """Every wording of the prompts, the task's own first."""
        return self.templates or (self, *self.paraphrases)

    def language_of(self, wording: Wording) -> str | None:
        """Return the language of a wording, or of the first wording if it names none."""
        return wording.language or self.wordings[0].language

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the wordings, each once; empty where none is named."""
        named = [wording.language for wording in self.wordings if wording.language]
        return tuple(dict.fromkeys(named))

    def images_of(self, count: int) -> int:
        """Return how many images a prompt has in each wording, if the task has `count`."""
        return -(-count // len(self.wordings)) if self.images == "divided" else count


def _same(value: Mapping[str, Any], first: Any) -> bool:
    """Return whether a task's own wording only repeats its first template.

    A task that was dumped, and is read again, has both.
    """
    template = first if isinstance(first, dict) else {}
    given = {key: value[key] for key in ("neutral", "guided") if key in value}
    has_more = any(
        value.get(key) for key in ("paraphrases", "language", "words", "asked_as")
    )
    return not has_more and all(
        template.get(key) == text for key, text in given.items()
    )


class GuidedTask(ImageTask):
    """Base class of tasks with neutral and guided prompts.

    Attributes:
        prompts: Templates.
    """

    prompts: GuidedPrompts

    def counts_over_wordings(self, settings: Settings) -> tuple[int, int]:
        """Return the same counts over all wordings among which images are divided."""
        return super().image_counts(settings)

    def image_counts(self, settings: Settings) -> tuple[int, int]:
        """Return how many images a neutral prompt, and a guided one, has in each wording."""
        neutral, guided = self.counts_over_wordings(settings)
        return self.prompts.images_of(neutral), self.prompts.images_of(guided)
