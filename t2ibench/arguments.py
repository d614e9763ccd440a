"""Reading `--model-args k=v,k=v` strictly: an unknown key is an error with the nearest spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean


def parse_model_args(text: str, flag: str = "--model-args") -> dict[str, str]:
    """Split 'k=v,k=v' into a dict of strings.

    A comma inside brackets or quotes does not split, so `negative_prompt="blurry, dark"` works.

    Raises:
        T2IBenchError: a part has no '=', a key is empty or is given twice.
    """
    parts: list[str] = []
    depth, quote, current = 0, "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "[({":
            depth += 1
        elif char in "])}":
            depth -= 1
        if char == "," and depth <= 0 and not quote:
            parts.append(current)
            current = ""
        else:
            current += char
    parts.append(current)

    args: dict[str, str] = {}
    for part in (p.strip() for p in parts):
        if not part:
            continue
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key:
            raise T2IBenchError(
                f"{flag}: '{part}' is not of the form key=value.",
                f"Write for example {flag} steps=30,guidance=7.5",
            )
        if key in args:
            raise T2IBenchError(f"{flag}: '{key}' is given twice.", "Keep one of them.")
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        args[key] = value
    return args


def take_args(
    args: Mapping[str, str],
    known: Mapping[str, Callable[[str], Any]],
    model: str,
    flag: str = "--model-args",
) -> dict[str, Any]:
    """Convert the arguments a model understands.

    Args:
        args: As given by the user.
        known: Key to converter; a converter raises ValueError with what it expected.
        model: Name of the model, for the message.
        flag: Where they were given, for the message.

    Raises:
        T2IBenchError: an unknown key or a value that does not convert.
    """
    values: dict[str, Any] = {}
    for key, text in args.items():
        if key not in known:
            raise T2IBenchError(
                f"{flag}: '{model}' has no argument '{key}'.{did_you_mean(key, known)}",
                f"It takes: {', '.join(sorted(known)) or 'none'}.",
            )
        try:
            values[key] = known[key](text)
        except ValueError as error:
            detail = str(error) or "another kind of value was expected"
            raise T2IBenchError(f"{flag}: {key}={text}: {detail}") from None
    return values


def boolean(text: str) -> bool:
    """'true'/'false' and the usual synonyms."""
    lowered = text.lower()
    if lowered in {"true", "yes", "on", "1"}:
        return True
    if lowered in {"false", "no", "off", "0"}:
        return False
    raise ValueError("expected true or false")


def positive_int(text: str) -> int:
    """A whole number of 1 or more."""
    try:
        number = int(text)
    except ValueError:
        raise ValueError("expected a whole number of 1 or more") from None
    if number < 1:
        raise ValueError("expected a whole number of 1 or more")
    return number


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError("expected a number from 0 to 1") from None
    if not 0.0 <= number <= 1.0:
        raise ValueError("expected a number from 0 to 1")
    return number
