"""Biases in the replies of language models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.replies import UnreadableError, plain_key, read_json

_YES = {"true", "yes", "1"}
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class ProposedBias:
    """One bias of one caption.

    Attributes:
        about: What it refers to, such as 'person'.
        name: Such as 'gender'.
        classes: Lower-cased, each once.
        question: What to ask.
        present: Whether the caption itself answers it.
    """

    about: str
    name: str
    classes: tuple[str, ...]
    question: str
    present: bool


def read_biases(reply: str) -> tuple[list[ProposedBias], list[str]]:
    """The biases of a reply, and what was skipped.

    Understands a list of biases, an object of them by number or by name, and either of them one
    level deeper.

    Examples:
        >>> read_biases('{"Person age": {"classes": ["young", "old"], "question": "How old?"}}')
        ([ProposedBias(about='person', name='age', classes=('young', 'old'), question='How old?', \
present=False)], [])
    """
    biases, skipped = [], []
    for label, record in _records(read_json(reply)):
        try:
            biases.append(_bias(label, record))
        except UnreadableError as error:
            skipped.append(f"{label or 'a bias'}: {error}")
    if not biases:
        raise UnreadableError("; ".join(skipped) or "the reply names no bias with classes")
    return biases, skipped


def _records(value: Any, label: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mapping that has a key like 'classes', with the label above it."""
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
    """One bias from its record."""
    named = record.get("name") or record.get("bias") or record.get("bias name") or label
    words = plain_key(str(named)).removesuffix(" bias").split()
    if not words or re.fullmatch(r"bias ?\d*|\d+", " ".join(words)):
        raise UnreadableError("it has no name")
    classes = _classes(record["classes"])
    if len(classes) < 2:
        raise UnreadableError("it has fewer than two classes")
    question = str(record.get("question") or "").strip()
    if not question:
        raise UnreadableError("it has no question")
    present = str(record.get("present in prompt", record.get("present", "false"))).strip().lower()
    about = " ".join(words[:-1]) or "image"
    return ProposedBias(about, words[-1], classes, question, present in _YES)


def _classes(value: Any) -> tuple[str, ...]:
    """Classes from a list or from text, each once; 'unknown' is none."""
    items = re.split(r"[,;/]", value) if isinstance(value, str) else value
    if not isinstance(items, Sequence):
        raise UnreadableError("its classes are not a list")
    texts = [
        str(item).strip().strip("'\"").lower()
        for item in items
        if isinstance(item, str | int | float)
    ]
    return tuple(dict.fromkeys(text for text in texts if text and text != UNKNOWN))
