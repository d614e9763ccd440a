"""Axes and counterfactuals in the replies of language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from t2ibench.methods.core.replies import UnreadableError, plain_key, read_json

_NO_AXIS = {"bias", "biases", "axis", "axes", "of", "counterfactuals", "and"}
_NAME_KEYS = ("axis", "name", "bias axis")
_PROMPT_KEYS = ("prompt", "counterfactual", "text")
_DEEPEST = 4


def read_axes(reply: str) -> dict[str, list[str]]:
    """Axis to counterfactuals, from the third reply of the conversation.

    Examples:
        >>> read_axes('{"Gender biases": ["a male chef", "a female chef"]}')
        {'gender': ['a male chef', 'a female chef']}
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
    """The axis that a language model means.

    Examples:
        >>> normal_axis("Gender biases"), normal_axis("gender_bias"), normal_axis("Bias of gender")
        ('gender', 'gender', 'gender')
    """
    return " ".join(word for word in plain_key(name).split() if word not in _NO_AXIS)


def _axes(value: Any, label: str = "", depth: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Every list of prompts, with the label above it."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        record = {plain_key(str(key)): item for key, item in value.items()}
        named = record.get("axis") or record.get("name") or record.get("bias axis")
        if isinstance(named, str):
            for key, item in record.items():
                if key not in _NAME_KEYS:
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
        for key in _PROMPT_KEYS:
            if isinstance(item.get(key), str):
                return " ".join(item[key].split())
    return ""
