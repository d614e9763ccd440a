"""Reading what language models write when they are asked for JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WORD = re.compile(r"[a-z0-9]+(?:[-'/][a-z0-9]+)*")
_YES = {"true", "yes", "1"}
_SMART = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "−": "-", "\u00a0": " "})


class UnreadableError(ValueError):
    """A reply that holds nothing of what was asked for; the message says why."""


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


def read_json(reply: str) -> Any:
    """The JSON value in a reply: in fences, in prose, with trailing commas or single quotes.

    Raises:
        UnreadableError: there is no object and no list in it.
    """
    import json_repair

    text = reply.translate(_SMART)
    fenced = re.search(r"```(?:json|JSON)?\s*(.*?)(?:```|\Z)", text, re.DOTALL)
    if fenced and re.search(r"[{\[]", fenced.group(1)):
        text = fenced.group(1)
    start = re.search(r"[{\[]", text)
    if not start:
        raise UnreadableError("the reply has no JSON in it")
    value = json_repair.loads(text[start.start() :])
    if not isinstance(value, dict | list) or not value:
        raise UnreadableError("the reply's JSON is empty")
    return value


def read_biases(reply: str) -> tuple[list[ProposedBias], list[str]]:
    """The biases of a reply, and what was skipped.

    Understands a list of biases, an object of them by number or by name, and either of them one
    level deeper.

    Raises:
        UnreadableError: no bias can be read.
    """
    found, skipped = [], []
    for label, record in _records(read_json(reply), "classes"):
        try:
            found.append(_bias(label, record))
        except UnreadableError as error:
            skipped.append(f"{label or 'a bias'}: {error}")
    if not found:
        raise UnreadableError("; ".join(skipped) or "the reply names no bias with classes")
    return found, skipped


def _records(value: Any, key: str, label: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every mapping that has a key like `key`, with the label above it."""
    if depth > 4:
        return
    if isinstance(value, Mapping):
        plain = {_plain(str(name)): item for name, item in value.items()}
        if key in plain:
            yield label, plain
            return
        for name, item in value.items():
            yield from _records(item, key, str(name), depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _records(item, key, label, depth + 1)


def _plain(name: str) -> str:
    """'Present in prompt', 'present_in_prompt' and 'PresentInPrompt' are one key."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return " ".join(_WORD.findall(spaced.lower().replace("_", " ")))


def _bias(label: str, record: Mapping[str, Any]) -> ProposedBias:
    named = record.get("name") or record.get("bias") or record.get("bias name") or label
    words = _plain(str(named)).removesuffix(" bias").split()
    if not words or re.fullmatch(r"bias ?\d*|\d+", " ".join(words)):
        raise UnreadableError("it has no name")
    classes = record["classes"]
    if isinstance(classes, str):
        classes = re.split(r"[,;/]", classes)
    if not isinstance(classes, Sequence):
        raise UnreadableError("its classes are no list")
    kept = tuple(
        dict.fromkeys(
            text
            for item in classes
            if isinstance(item, str | int | float)
            and (text := str(item).strip().strip("'\"").lower())
            and text != "unknown"
        )
    )
    if len(kept) < 2:
        raise UnreadableError("it has fewer than two classes")
    question = str(record.get("question") or "").strip()
    if not question:
        raise UnreadableError("it has no question")
    present = str(record.get("present in prompt", record.get("present", "false"))).strip().lower()
    about = " ".join(words[:-1]) or "image"
    return ProposedBias(about, words[-1], kept, question, present in _YES)


def read_axes(reply: str) -> dict[str, list[str]]:
    """Axis to counterfactuals, from TIBET's third reply.

    Raises:
        UnreadableError: there is no axis with a list of prompts.
    """
    axes: dict[str, list[str]] = {}
    for name, prompts in _axes(read_json(reply)):
        plain = normal_axis(name)
        if plain and prompts:
            kept = axes.setdefault(plain, [])
            kept += [prompt for prompt in prompts if prompt not in kept]
    if not axes:
        raise UnreadableError("the reply has no axis with a list of counterfactuals")
    return axes


def normal_axis(name: str) -> str:
    """'Gender biases', 'gender_bias' and 'Bias of gender' are the axis 'gender'."""
    words = [
        word
        for word in _plain(name).split()
        if word not in {"bias", "biases", "axis", "axes", "of", "counterfactuals", "and"}
    ]
    return " ".join(words)


def _axes(value: Any, label: str = "", depth: int = 0) -> Iterator[tuple[str, list[str]]]:
    if depth > 4:
        return
    if isinstance(value, Mapping):
        plain = {_plain(str(key)): item for key, item in value.items()}
        named = plain.get("axis") or plain.get("name") or plain.get("bias axis")
        if isinstance(named, str):
            for key, item in plain.items():
                if key not in {"axis", "name", "bias axis"}:
                    yield from _axes(item, named, depth + 1)
            return
        for key, item in value.items():
            # A wrapper such as {"gender": {"counterfactuals": [...]}} keeps the name above it.
            yield from _axes(item, str(key) if normal_axis(str(key)) else label, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        texts = [_prompt(item) for item in value]
        if any(texts) and label:
            yield label, [text for text in texts if text]
            return
        for item in value:
            yield from _axes(item, label, depth + 1)


def _prompt(item: Any) -> str:
    """A counterfactual as text, also from {'prompt': text}."""
    if isinstance(item, str):
        return " ".join(item.split())
    if isinstance(item, Mapping):
        for key in ("prompt", "counterfactual", "text"):
            if isinstance(item.get(key), str):
                return " ".join(item[key].split())
    return ""
