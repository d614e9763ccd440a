"""What the checks of all kinds of adapters share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from t2ibench.errors import first_line
from t2ibench.models.resolve import lacking

T = TypeVar("T")
BATCHES = (1, 3, 8)
# An empty text, one that is longer than any model reads, and one of rare characters.
ODD_TEXTS = {
    "the empty text": "",
    "a text of 4,000 characters": "a photo of a nurse " * 211,
    "emoji": "👩🏿‍⚕️ 🌷 🐜",
}
_HEX = re.compile(r"[0-9a-f]{64}")


class Findings:
    """Collects a line for everything that is wrong, each once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """Note something that is wrong."""
        if line not in self.lines:
            self.lines.append(line)

    def require(self, kept: bool, line: str) -> bool:
        """Note a line unless the promise is kept.

        Args:
            kept: Whether it is.
            line: What is wrong, and how to repair it.

        Returns:
            `kept`.
        """
        if not kept:
            self.add(line)
        return kept

    def attempt(self, what: str, call: Callable[[], T]) -> T | None:
        """Call something that must not raise.

        Args:
            what: Such as 'generate() for the empty text'.
            call: The call.

        Returns:
            What it returns; None after an exception, which is noted.
        """
        try:
            return call()
        except Exception as error:
            self.add(f"{what} raises {type(error).__name__}: {first_line(error)}")
            return None


def check_members(
    findings: Findings, model: object, protocol: type, types: Mapping[str, tuple[type, ...]]
) -> bool:
    """Members of a Protocol, their types, the name, the fingerprint and the batch size.

    Args:
        findings: Where problems go.
        model: The model.
        protocol: Its Protocol.
        types: Attribute to what it may be.

    Returns:
        Whether all members exist, so that more can be tried.
    """
    missing = lacking(model, protocol)
    for name in missing:
        findings.add(f"{name} is missing; see {protocol.__module__}.{protocol.__name__}")
    for name, allowed in types.items():
        if name in missing:
            continue
        value = getattr(model, name)
        words = " or ".join("None" if kind is type(None) else kind.__name__ for kind in allowed)
        fits = isinstance(value, allowed) and (bool in allowed or not isinstance(value, bool))
        findings.require(fits, f"{name} is {value!r}; expected {words}")
    if missing:
        return False
    fingerprint, size = getattr(model, "fingerprint", None), getattr(model, "batch_size", None)
    findings.require(
        isinstance(fingerprint, str) and _HEX.fullmatch(fingerprint) is not None,
        f"fingerprint is {fingerprint!r}; expected 64 lower-case hex digits (a SHA-256)",
    )
    findings.require(bool(getattr(model, "name", None)), "name is empty")
    findings.require(
        isinstance(size, int) and size >= 1, f"batch_size is {size!r}; expected 1 or more"
    )
    return True


def check_fingerprints(
    findings: Findings, first: Any, second: Any, make_other: Callable[[], Any] | None
) -> None:
    """The same for the same settings, another for others.

    Args:
        findings: Where problems go.
        first: A model.
        second: Another instance, made in the same way.
        make_other: Makes one with other arguments; None where there are none.
    """
    findings.require(
        first.fingerprint == second.fingerprint,
        "fingerprint differs between two instances made in the same way; derive it from settings "
        "and weights, not from the object, the time or the process",
    )
    if make_other is None:
        return
    other = findings.attempt("making a model with other arguments", make_other)
    findings.require(
        other is None or other.fingerprint != first.fingerprint,
        "fingerprint is the same with other arguments; hash every setting that decides a result",
    )


def is_json(value: Any) -> bool:
    """Whether a value can be written as JSON and read back unchanged.

    Args:
        value: Any object.

    Returns:
        False for tuples, NaN and other values that JSON does not have.
    """
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False


def is_reordered(expected: list[Any], actual: list[Any]) -> bool:
    """Whether two lists have the same items in another order.

    Args:
        expected: What each gave alone.
        actual: What they gave together.

    Returns:
        False where they are equal, or where the items differ.

    Examples:
        >>> is_reordered([1, 2], [2, 1]), is_reordered([1, 2], [1, 2]), is_reordered([1], [3])
        (True, False, False)
    """
    return expected != actual and sorted(map(repr, expected)) == sorted(map(repr, actual))
