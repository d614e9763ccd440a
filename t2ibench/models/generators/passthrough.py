"""`call.NAME=VALUE` and the like: what is passed on beyond named arguments."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean

_WORDS = {"none": None, "null": None, "true": True, "false": False}


def gathered(data: Any, refused: Mapping[str, Mapping[str, str]]) -> Any:
    """Arguments with those that are passed on gathered in mappings.

    `refused` has, by the beginning of a name, what is not taken and why.

    Examples:
        >>> gathered({"steps": "4", "call.clip_skip": "2", "load.vae": "null"}, {"call": {}})
        {'steps': '4', 'call.NAME': {'clip_skip': 2}, 'load.vae': 'null'}
    """
    if not isinstance(data, Mapping):
        return data
    kept: dict[str, Any] = {}
    for key, value in data.items():
        start, dot, name = key.partition(".")
        if not dot or start not in refused:
            kept[key] = value
            continue
        if name in refused[start]:
            raise ValueError(f"{key} is not taken: {refused[start][name]}")
        kept.setdefault(f"{start}.NAME", {})[name] = value_of(value)
    return kept


def value_of(value: Any) -> Any:
    """What a user wrote as a value of JSON; text that is none as it is."""
    if not isinstance(value, str):
        return value
    if value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    try:
        return json.loads(value)
    except ValueError:
        return value


def check_name(
    written: str, name: str, known: Collection[str], who: str = "diffusers"
) -> None:
    """Refuse a name that a class of diffusers does not have, as the user wrote it."""
    if name not in known:
        near = did_you_mean(name, known)
        message = f"--model-args: {who} takes no {written}.{near}"
        raise T2IBenchError(message, f"It takes: {', '.join(sorted(known))}.")
