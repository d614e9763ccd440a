"""Explain validation errors to a user who edits YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from t2ibench.errors import did_you_mean, shown

_KINDS = {
    "tuple_type": "expected a list",
    "dict_type": "expected a mapping of keys to values",
    "model_type": "expected a mapping of keys to values",
}


def explain(item: Any, model: type[Any]) -> str:
    """Return one line that says what is wrong at a key, what was expected, and a near spelling."""
    location = ".".join(str(part) for part in item["loc"])
    kind, value = item["type"], item["input"]
    if kind == "extra_forbidden":
        key = str(item["loc"][-1])
        expected_keys = _fields_at(model, item["loc"][:-1])
        listed = (
            f" Known here: {', '.join(sorted(expected_keys))}." if expected_keys else ""
        )
        return f"unknown key '{shown(key)}'.{did_you_mean(key, expected_keys)}{listed}"
    if kind == "missing":
        return f"the key '{location}' is missing"
    return f"{location}: {_expected(kind, value, item)}"[:600]


def _expected(kind: str, value: Any, item: Any) -> str:
    """Return a clause that says what was expected, and what was given instead."""
    message = str(item["msg"])
    text = f"{message[:1].lower()}{message[1:]} (found {_shown(value)})"
    if kind == "literal_error":
        expected = item["ctx"]["expected"]
        options = expected.replace(" or ", ", ").replace("'", "").split(", ")
        text = f"'{shown(value)}' is not one of {expected}.{did_you_mean(str(value), options)}"
    elif kind == "value_error":
        text = str(item["ctx"]["error"])
    elif kind == "string_type" and isinstance(value, bool):
        word = str(value).lower()
        text = f"expected text, found {word}; put words such as yes, no, on in quotes"
    elif kind == "string_type" and not isinstance(value, (dict, list, type(None))):
        text = f"expected text, found {shown(value)}; put it in quotes"
    elif kind == "too_short" and not value:
        text = "this is empty"
    elif kind == "too_short":
        least = item["ctx"]["min_length"]
        text = f"expected at least {least} entries, found {len(value)}: {_shown(value)}"
    elif kind == "too_long":
        text = f"expected at most {item['ctx']['max_length']} items, found {len(value)}"
    elif kind == "string_pattern_mismatch":
        text = (
            f"'{shown(value)}' may only have lower-case letters, digits and underscores"
        )
    elif kind in _KINDS:
        text = f"{_KINDS[kind]}, found {'nothing' if value is None else _shown(value)}"
    return text


def _shown(value: Any) -> str:
    """Return the `repr` of a value, shortened for a message."""
    return shown(repr(value))


def _fields_at(model: Any, location: Sequence[str | int]) -> list[str]:
    """Return the keys that a model accepts at a location, such as ("groups", 0)."""
    current: Any = model
    # True where the next part is a free key of a dict, not the name of a field.
    in_mapping = False
    for part in location:
        if isinstance(part, int) or in_mapping:
            in_mapping = False
            continue
        fields = getattr(current, "model_fields", {})
        if part not in fields:
            return []
        annotation = fields[part].annotation
        in_mapping = getattr(annotation, "__origin__", None) is dict
        current = _inner_model(annotation)
    return list(getattr(current, "model_fields", {}))


def _inner_model(annotation: Any) -> Any:
    """Return the pydantic model inside an annotation such as `list[Model]`; None if none is."""
    if hasattr(annotation, "model_fields"):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        inner = _inner_model(argument)
        if inner is not None:
            return inner
    return None
