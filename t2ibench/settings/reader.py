"""Settings from whatever source, checked, with messages in the user's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.settings.model import RunSettings, field_of


def read_settings(values: Mapping[str, Any], where: str = "") -> RunSettings:
    """Check settings, from whatever source."""
    # A flag may be spelled otherwise than its field, such as permutations and n_permutations.
    named = {
        name if name in RunSettings.model_fields else field_of(name) or name: value
        for name, value in values.items()
    }
    try:
        return RunSettings(**named)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else ""
        raise T2IBenchError(f"{where}{_problem(name, first)}") from None


def _problem(name: str, item: Any) -> str:
    kind, value = item["type"], item["input"]
    if kind == "extra_forbidden":
        return f"unknown setting '{shown(name)}'.{did_you_mean(name, RunSettings.model_fields)}"
    expected = {
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "greater_than_equal": f"a whole number of {item.get('ctx', {}).get('ge')} or more",
        "less_than_equal": f"a number of {item.get('ctx', {}).get('le')} or less",
        "string_type": "text",
        "string_unicode": "text in UTF-8",
        "tuple_type": "a list of names",
        "dict_type": "arguments: a mapping, or text of the form k=v,k=v",
        "bool_parsing": "true or false",
        "bool_type": "true or false",
        "literal_error": str(item.get("ctx", {}).get("expected")),
    }.get(kind)
    if expected is None:
        return f"{name}: {item['msg']} (found {shown(repr(value))})."
    if kind == "int_type" and name in RunSettings.model_fields:
        expected = f"a whole number of {0 if name == 'seed' else 1} or more"
    return f"{name}: expected {expected}, found {shown(repr(value))}."
