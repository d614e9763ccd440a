"""JSON texts from users, in which an object that has a key twice is an error."""

from __future__ import annotations

import json
from typing import Any

from t2ibench.errors import shown


def read_json_text(text: str) -> Any:
    """Return the content of a JSON text.

    A reader of the file may see the first of two values, and a program takes the last.

    Raises:
        ValueError: it is not JSON, or an object has a key twice.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_members)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; raise an error if a key occurs twice."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"it has the key '{shown(key)}' twice")
        members[key] = value
    return members
