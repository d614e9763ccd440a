"""Matching of a judge's answer with one of the requested classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from t2ibench.errors import shown
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.judges.class_words import class_named
from t2ibench.models.protocols import Answer

_SHOWN = 60  # characters of an answer and of a class
_MOST_CLASSES = 12  # that a message lists


def in_its_classes(answer: Answer, classes: Sequence[str]) -> Answer:
    """Return the answer with its class's spelling; unanswered if it names no class.

    Every judge's answers come through here. 'Male ' and 'man' are the class 'male'; a word that is
    no class is no answer, and is asked for again once the judge or the task knows the word.
    """
    if answer.answer is None or not classes:
        return answer
    name = class_named(answer.answer, (UNKNOWN, *classes))
    if name is not None:
        return replace(answer, answer=name)
    return replace(answer, answer=None, reason=_said(answer.answer, classes))


def words_of_no_class(reply: str, classes: Sequence[str]) -> str | None:
    """Return a reply that counts as 'unknown' although its words name no class."""
    words = _word(reply)
    if not words or any(_word(name) in words for name in (UNKNOWN, *classes)):
        return None
    return _said(" ".join(reply.split()), classes)


def _word(text: str) -> str:
    return " ".join(text.casefold().split())


def _said(words: str, classes: Sequence[str]) -> str:
    options = ", ".join(shown(option, _SHOWN) for option in classes[:_MOST_CLASSES])
    more = ", …" if len(classes) > _MOST_CLASSES else ""
    return f"it answered '{shown(words, _SHOWN)}'; classes are {options}{more}"
