"""Functions that read axes and counterfactuals from a language model's replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from t2ibench.methods.core.proposal import UnreadableError, plain_key, read_json

# Words of a key that do not name an axis.
_NO_AXIS = {"bias", "biases", "axis", "axes", "of", "counterfactuals", "and"}
# Keys of a record that name its axis, the first of them first.
_NAME_KEYS = ("axis", "name", "bias axis")
_PROMPT_KEYS = ("prompt", "counterfactual", "text")
_DEEPEST = 4
# A label and the prompts below it.
LabelledPrompts = tuple[str, list[str]]


def read_axes(reply: str) -> dict[str, list[str]]:
    """Return the counterfactuals in a language model's third reply, keyed by axis.

    Examples:
        >>> read_axes('{"Gender biases": ["a male chef", "a female chef"]}')
        {'gender': ['a male chef', 'a female chef']}
    """
    axes: dict[str, list[str]] = {}
    for label, prompts in _labelled_prompts(read_json(reply)):
        axis = normal_axis(label)
        if axis and prompts:
            counterfactuals = axes.setdefault(axis, [])
            counterfactuals += [
                prompt for prompt in prompts if prompt not in counterfactuals
            ]
    if not axes:
        raise UnreadableError("the reply has no axis with a list of counterfactuals")
    return axes


def normal_axis(name: str) -> str:
    """Return the plain name of an axis, without words such as 'bias'.

    Examples:
        >>> normal_axis("Gender biases"), normal_axis("gender_bias"), normal_axis("Bias of gender")
        ('gender', 'gender', 'gender')
    """
    return " ".join(word for word in plain_key(name).split() if word not in _NO_AXIS)


def _labelled_prompts(
    value: Any, label: str = "", depth: int = 0
) -> Iterator[LabelledPrompts]:
    """Yield every list of prompts in a reply's JSON, with the label above it.

    Args:
        value: The reply's JSON, or a part of it.
        label: The nearest label above that part.
        depth: How deep it is nested.
    """
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        yield from _of_mapping(value, label, depth)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from _of_list(value, label, depth)


def _of_mapping(
    mapping: Mapping[Any, Any], label: str, depth: int
) -> Iterator[LabelledPrompts]:
    """Yield the lists of prompts in a JSON object that names its axis, or has axes as keys."""
    record = {plain_key(str(key)): item for key, item in mapping.items()}
    names = [record[key] for key in _NAME_KEYS if record.get(key)]
    if names and isinstance(names[0], str):
        for key, item in record.items():
            if key not in _NAME_KEYS:
                yield from _labelled_prompts(item, names[0], depth + 1)
        return
    for key, item in mapping.items():
        # A wrapper such as {"gender": {"counterfactuals": [...]}} keeps the name above it.
        names_axis = normal_axis(str(key))
        below = str(key) if names_axis else label
        yield from _labelled_prompts(item, below, depth + 1)


def _of_list(items: Sequence[Any], label: str, depth: int) -> Iterator[LabelledPrompts]:
    """Yield a JSON list as a list of prompts, or the lists of prompts inside it."""
    prompts = [_prompt(item) for item in items]
    if any(prompts) and label:
        yield label, [prompt for prompt in prompts if prompt]
        return
    for item in items:
        yield from _labelled_prompts(item, label, depth + 1)


def _prompt(item: Any) -> str:
    """Return the text of a counterfactual, a string or {'prompt': text}; '' for anything else."""
    if isinstance(item, str):
        return " ".join(item.split())
    if isinstance(item, Mapping):
        for key in _PROMPT_KEYS:
            if isinstance(item.get(key), str):
                return " ".join(item[key].split())
    return ""
