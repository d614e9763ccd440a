"""Arguments such as `call.NAME=VALUE`, which are passed on to a library as they are."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean

_WORDS = {"none": None, "null": None, "true": True, "false": False}


def gathered(data: Any, refused: Mapping[str, Mapping[str, str]]) -> Any:
    """Return arguments with each `call.NAME` collected in one mapping; reject forbidden names.

    Args:
        data: Arguments by name.
        refused: For each prefix, such as "call", the names that are not allowed, and why.

    Examples:
        >>> gathered({"steps": "4", "call.clip_skip": "2", "load.vae": "null"}, {"call": {}})
        {'steps': '4', 'call.NAME': {'clip_skip': 2}, 'load.vae': 'null'}
    """
    if not isinstance(data, Mapping):
        return data
    arguments: dict[str, Any] = {}
    for key, value in data.items():
        start, dot, name = key.partition(".")
        if not dot or start not in refused:
            arguments[key] = value
            continue
        if name in refused[start]:
            raise ValueError(f"{key} is not taken: {refused[start][name]}")
        arguments.setdefault(f"{start}.NAME", {})[name] = value_of(value)
    return arguments


def value_of(value: Any) -> Any:
    """Return the JSON value that a user's text denotes; the text itself if it is no JSON."""
    if not isinstance(value, str):
        return value
    if value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def check_name(
    written: str, name: str, accepted: Collection[str], who: str = "diffusers"
) -> None:
    """Raise an error if a class does not accept an argument of this name.

    Args:
        written: The argument as the user wrote it, such as call.eta.
        name: Its name for the class.
        accepted: The names that the class accepts.
        who: The class, as the message names it.
    """
    if name not in accepted:
        near = did_you_mean(name, accepted)
        message = f"--model-args: {who} takes no {written}.{near}"
        raise T2IBenchError(message, f"It takes: {', '.join(sorted(accepted))}.")
