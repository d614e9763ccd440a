"""The schema of ViBEx tasks, and checks that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from t2ibench.errors import did_you_mean
from t2ibench.methods.core import checks
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import EVERYDAY, Count, ImageTask, Strict, Text, Words


class Anchor(Strict):
    """An anchor: a concept whose images other concepts are compared with.

    Attributes:
        name: What reports call it.
        prompt: The prompt of its images.
        text: Its text for inverse queries; by default its prompt.
    """

    name: Text
    prompt: Text
    text: Text | None = None


class TestConcept(Strict):
    """A test concept, with the kind of query that is made about it.

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
    """Everyday words, unrelated to the anchors, with which concepts are compared.

    Attributes:
        words: Name of a word list, or the words themselves.
        template: How a word is put, with '{word}' or '{a word}': as the concepts are.
    """

    words: Annotated[Words, Field(validate_default=True)] = EVERYDAY  # type: ignore[assignment]
    template: Text = "{word}"

    @property
    def texts(self) -> tuple[str, ...]:
        """Reference texts, in the order of their words."""
        return tuple(fill(self.template, word=word) for word in self.words)


def _words_alone(value: Any) -> Any:
    return value if isinstance(value, (dict, ReferenceWords)) else {"words": value}


class VibexTask(ImageTask):
    """A task that queries concepts in relation to anchors (Eschner et al. 2025).

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


# Reference words for each concept: with fewer, Holm's p cannot fall below 1 / 20.
_WORDS_EACH = 20


def check(task: VibexTask) -> Iterator[checks.Finding]:
    """Yield each problem of a task that its schema cannot express."""
    anchors = [anchor.name for anchor in task.anchors]
    yield from checks.duplicates(anchors, ("anchors",))
    yield from checks.duplicates(
        [anchor.prompt for anchor in task.anchors], ("anchors",)
    )
    yield from checks.duplicates(
        [f"{concept.name} ({concept.query})" for concept in task.concepts],
        ("concepts",),
    )
    yield from _check_tendencies(task, (*anchors, "balanced"))
    yield from _check_intersections(task)
    yield from _check_reference(task)


def _check_tendencies(
    task: VibexTask, tendencies: Sequence[str]
) -> Iterator[checks.Finding]:
    for number, concept in enumerate(task.concepts):
        if concept.tendency is not None and concept.tendency not in tendencies:
            suggestion = did_you_mean(concept.tendency, tendencies)
            yield checks.Finding(
                ("concepts", number, "tendency"),
                f"unknown anchor '{concept.tendency}'.{suggestion}",
            )


def _check_intersections(task: VibexTask) -> Iterator[checks.Finding]:
    names = [concept.name for concept in task.concepts]
    for number, pair in enumerate(task.intersections):
        for name in pair:
            if name not in names:
                yield checks.Finding(
                    ("intersections", number),
                    f"unknown concept '{name}'.{did_you_mean(name, names)}",
                )


def _check_reference(task: VibexTask) -> Iterator[checks.Finding]:
    at = ("reference",)
    words = task.reference.words
    template = task.reference.template
    problems = list(checks.template(template, ["word"], (*at, "template")))
    yield from problems
    yield from checks.duplicates(words, (*at, "words"))
    asked = [concept for concept in task.concepts if concept.query == "forward"]
    needed = _WORDS_EACH * len(asked)
    if len(words) < needed:
        yield checks.Finding(
            (*at, "words"),
            f"{len(words)} reference words for {len(asked)} forward queries: with fewer than "
            f"{needed}, no concept can stand out after Holm's correction",
            warning=True,
        )
    if problems:
        return
    texts = task.reference.texts
    yield from checks.articles(texts, (*at, "template"))
    yield from checks.article_language(template, words, (*at, "template"))
    asked_texts = {concept.prompt for concept in asked}
    anchor_prompts = {anchor.prompt for anchor in task.anchors}
    in_both = sorted((asked_texts | anchor_prompts) & set(texts))
    if in_both:
        yield checks.Finding(
            (*at, "words"),
            f"the reference holds what is asked: {', '.join(map(repr, in_both))}",
        )
