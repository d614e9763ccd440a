"""From what a model wrote to one of the classes."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from t2ibench.methods.core.evidence import UNKNOWN


def instruction(question: str, classes: Sequence[str]) -> str:
    """What a language model is told."""
    if not classes:
        return f"{question} Answer in a few words."
    options = "; ".join((*classes, UNKNOWN))
    return (
        f"{question}\nAnswer with exactly one of these, and nothing else: {options}.\n"
        f"Answer '{UNKNOWN}' if the image does not show it."
    )


def class_of(reply: str, classes: Sequence[str]) -> str:
    """The class a reply names; 'unknown' where it names none, or more than one.

    Understands a bare class, a sentence around it, quotes, fences and a JSON object.

    Examples:
        >>> class_of("The person is Female.", ["male", "female"])
        'female'
        >>> class_of("either male or female", ["male", "female"])
        'unknown'
    """
    text = _unwrapped(reply).strip().strip("\"'`*. \n").lower()
    by_lower = {name.lower(): name for name in (*classes, UNKNOWN)}
    if text in by_lower:
        return by_lower[text]
    named = set()
    rest = text
    # The longest first, so that 'female' is not also read as 'male'.
    for lowered in sorted(by_lower, key=lambda name: (-len(name), name)):
        pattern = rf"(?<![^\W_]){re.escape(lowered)}(?![^\W_])"
        rest, count = re.subn(pattern, " ", rest)
        if count:
            named.add(lowered)
    return by_lower[named.pop()] if len(named) == 1 else UNKNOWN


def _unwrapped(reply: str) -> str:
    """The value inside a JSON object such as {"answer": "male"}, or the reply itself."""
    start, end = reply.find("{"), reply.rfind("}")
    if 0 <= start < end:
        try:
            value = json.loads(reply[start : end + 1])
            if isinstance(value, dict) and len(value) == 1:
                return str(next(iter(value.values())))
        except (ValueError, RecursionError):  # not JSON, or nested too deeply
            return reply
    return reply
