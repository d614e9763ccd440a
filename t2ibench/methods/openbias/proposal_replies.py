"""Functions that read biases from a language model's reply about one caption."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.proposal import UnreadableError, plain_key, read_json

_YES = {"true", "yes", "1"}
# How deep lists and objects of biases may be nested.
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class ProposedBias:
    """One bias that was proposed for one caption.

    Attributes:
        about: What it refers to, for example 'person'.
        name: Its name, for example 'age'.
        classes: What the question can be answered with.
        question: The question.
        present: Whether the caption itself answers the question.
    """

    about: str
    name: str
    classes: tuple[str, ...]
    question: str
    present: bool


def read_biases(reply: str) -> tuple[list[ProposedBias], list[str]]:
    """Return the biases in a language model's reply, and why others in it are excluded.

    A reply may be a list of biases, an object of them by number or by name, or either
    of them one level deeper.

    Raises:
        UnreadableError: If the reply contains no bias with classes.

    Examples:
        >>> biases, _ = read_biases('{"Person age": {"classes": "young, old", "question": "?"}}')
        >>> biases[0].about, biases[0].name, biases[0].classes
        ('person', 'age', ('young', 'old'))
    """
    biases = []
    skipped = []
    for label, record in _records(read_json(reply)):
        try:
            biases.append(_bias(label, record))
        except UnreadableError as error:
            skipped.append(f"{label or 'a bias'}: {error}")
    if not biases:
        reasons = "; ".join(skipped)
        raise UnreadableError(reasons or "the reply names no bias with classes")
    return biases, skipped


def _records(
    value: Any, label: str = "", depth: int = 0
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each JSON object of a reply that describes a bias, with the key that it is under."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        record = {plain_key(str(name)): item for name, item in value.items()}
        if "classes" in record:
            yield label, record
            return
        for name, item in value.items():
            yield from _records(item, str(name), depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _records(item, label, depth + 1)


def _bias(label: str, record: Mapping[str, Any]) -> ProposedBias:
    """Return the bias that a JSON object describes; raise an error if a part is missing."""
    words = _name_words(label, record)
    classes = _classes(record["classes"])
    question = str(record.get("question") or "").strip()
    if not question:
        raise UnreadableError("it has no question")
    present = record.get("present in prompt", record.get("present", "false"))
    return ProposedBias(
        about=" ".join(words[:-1]) or "image",
        name=words[-1],
        classes=classes,
        question=question,
        present=str(present).strip().lower() in _YES,
    )


def _name_words(label: str, record: Mapping[str, Any]) -> list[str]:
    """Return the words of a proposed bias's name, such as 'person' and 'age'."""
    name = record.get("name") or record.get("bias") or record.get("bias name") or label
    words = plain_key(str(name)).removesuffix(" bias").split()
    if not words or re.fullmatch(r"bias ?\d*|\d+", " ".join(words)):
        raise UnreadableError("it has no name")
    return words


def _classes(value: Any) -> tuple[str, ...]:
    """Return a proposed bias's classes, in lower case, from a list or a text."""
    items = re.split(r"[,;/]", value) if isinstance(value, str) else value
    if not isinstance(items, Sequence):
        raise UnreadableError("its classes are not a list")
    texts = [
        str(item).strip().strip("'\"").lower()
        for item in items
        if isinstance(item, str | int | float)
    ]
    classes = tuple(dict.fromkeys(text for text in texts if text and text != UNKNOWN))
    if len(classes) < 2:
        raise UnreadableError("it has fewer than two classes")
    return classes
