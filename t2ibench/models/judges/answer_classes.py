"""Match a judge's answer with one of the classes of the question."""

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
    """Return an answer spelt like the class that it names, or without text, with a reason.

    All judges' answers pass through here. 'Male ' and 'man' are the class 'male'. A word that is no
    class counts as no answer, so that the question is asked again later.
    """
    if answer.answer is None or not classes:
        return answer
    name = class_named(answer.answer, (UNKNOWN, *classes))
    if name is not None:
        return replace(answer, answer=name)
    return replace(answer, answer=None, reason=_reason(answer.answer, classes))


def words_of_no_class(reply: str, classes: Sequence[str]) -> str | None:
    """Return why a reply counts as 'unknown' if no class occurs in it; None if one does."""
    words = _word(reply)
    if not words or any(_word(name) in words for name in (UNKNOWN, *classes)):
        return None
    return _reason(" ".join(reply.split()), classes)


def _word(text: str) -> str:
    return " ".join(text.casefold().split())


def _reason(words: str, classes: Sequence[str]) -> str:
    options = ", ".join(shown(option, _SHOWN) for option in classes[:_MOST_CLASSES])
    more = ", …" if len(classes) > _MOST_CLASSES else ""
    return f"it answered '{shown(words, _SHOWN)}'; classes are {options}{more}"
