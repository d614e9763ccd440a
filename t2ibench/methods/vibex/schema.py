"""The schema of concept queries."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import Count, ImageTask, Strict, Text, Words

EVERYDAY = "everyday_words"  # the list of tasks/stimuli that concepts are compared with by default


class Anchor(Strict):
    """An anchor concept: images that a test concept is compared against.

    Attributes:
        name: What reports call it.
        prompt: The prompt of its images.
        text: Its text for inverse queries; by default its prompt.
    """

    name: Text
    prompt: Text
    text: Text | None = None


class TestConcept(Strict):
    """A test concept.

    Attributes:
        name: What reports call it.
        prompt: Its text, and for an inverse query the prompt of its images.
        query: 'forward' asks how much of it each anchor's images show; 'inverse' generates images
            of it and asks which anchor they are nearest.
        tendency: The anchor that a publication associates it with, or 'balanced'; used only in the
            share of tendencies that come out.
    """

    __test__ = False  # a name that pytest would take for a test

    name: Text
    prompt: Text
    query: Literal["forward", "inverse"] = "forward"
    tendency: Text | None = None


class ReferenceWords(Strict):
    """Everyday words that concepts are compared with: none has to do with the anchors.

    Attributes:
        words: Name of a word list, or the words themselves.
        template: How a word is put, with '{word}' or '{a word}': as the concepts are.
    """

    words: Annotated[Words, Field(validate_default=True)] = EVERYDAY  # type: ignore[assignment]
    template: Text = "{word}"

    @property
    def texts(self) -> tuple[str, ...]:
        """The reference texts, in order."""
        return tuple(fill(self.template, word=word) for word in self.words)


def _words_alone(value: Any) -> Any:
    return value if isinstance(value, (dict, ReferenceWords)) else {"words": value}


class VibexTask(ImageTask):
    """Test concepts against anchors (Eschner et al. 2025).

    Attributes:
        anchors: Two or more.
        concepts: What is asked about them.
        intersections: Pairs of concepts, by name, looked at together.
        inverse_images: Images of each inverse query.
        reference: Words that the concepts are compared with: a list's name, the words, or a
            mapping of words and template.
    """

    method: Literal["vibex"]
    anchors: Annotated[tuple[Anchor, ...], Field(min_length=2)]
    concepts: Annotated[tuple[TestConcept, ...], Field(min_length=1)]
    intersections: tuple[tuple[Text, Text], ...] = ()
    inverse_images: Count = 5
    reference: Annotated[
        ReferenceWords, BeforeValidator(_words_alone), Field(validate_default=True)
    ] = EVERYDAY  # type: ignore[assignment]
