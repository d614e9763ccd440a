"""What the checks of all kinds of adapters share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from t2ibench.errors import first_line
from t2ibench.models.resolution import lacking

T = TypeVar("T")
Item = TypeVar("Item")
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


class Trial(Generic[Item, T]):
    """A method of a model that takes a list and gives one thing for each of its items.

    Args:
        findings: Where problems go.
        name: The method's name.
        call: The method.
        kind: What it gives.
        asked: What messages call the items.
        given: What messages call the things.
    """

    def __init__(
        self,
        findings: Findings,
        name: str,
        call: Callable[[list[Item]], list[T]],
        kind: type[T],
        asked: str,
        given: str,
    ) -> None:
        self.findings = findings
        self._name, self._call, self._kind = name, call, kind
        self._asked, self._given = asked, given

    def of(self, items: list[Item], how: str) -> list[T] | None:
        """Call it once.

        Args:
            items: What it is called with.
            how: Words that follow the items in a message, such as 'alone'.

        Returns:
            What it gives; None where that is not one thing of the right type for each item.
        """
        name, asked = self._name, self._asked
        found = self.findings.attempt(
            f"{name}() of {len(items)} {asked} {how}", lambda: self._call(items)
        )
        if found is None:
            return None
        typed = isinstance(found, list) and all(isinstance(one, self._kind) for one in found)
        if not self.findings.require(
            typed, f"{name}() must return a list of {self._kind.__name__}"
        ):
            return None
        count = f"{name}() returns {len(found)} {self._given} for {len(items)} {asked}"
        return found if self.findings.require(len(found) == len(items), count) else None

    def check_batches(
        self,
        texts_of: Callable[[list[Item], str], list[str | None] | None],
        items: list[Item],
        alone: list[str | None],
        rule: str,
    ) -> None:
        """Batches of 3 and 8, and another order, give what each item gives alone.

        Args:
            texts_of: Calls the method as `of` does; a text for each item.
            items: What it is called with.
            alone: The text that each gave alone.
            rule: What is broken where texts differ.
        """

        def compare(found: list[str | None], where: str) -> None:
            given = self._given
            if is_reordered(alone, found):
                self.findings.add(f"{given} are not in the order of the {self._asked} ({where})")
            elif alone != found:
                self.findings.add(f"{given} in {where} differ from those given alone: {rule}")

        call_together(items, texts_of, compare, self._asked)


def call_together(
    items: list[Item],
    call: Callable[[list[Item], str], list[Any] | None],
    compare: Callable[[list[Any], str], None],
    asked: str,
) -> None:
    """Compare batches of 3 and 8, and another order, with what each item gives alone.

    Args:
        items: What the method is called with.
        call: Calls it; None where it breaks its contract.
        compare: Takes one thing for each item, and where they come from.
        asked: What messages call the items.
    """
    for size in BATCHES[1:]:
        batched: list[Any] = []
        for start in range(0, len(items), size):
            part = call(items[start : start + size], f"in batches of {size}")
            if part is None:
                return
            batched += part
        compare(batched, f"a batch of {size}")
    backwards = call(items[::-1], "in another order")
    if backwards is not None:
        compare(backwards[::-1], f"another order of the {asked}")


def make_two(
    findings: Findings,
    make: Callable[[], T],
    make_other: Callable[[], T] | None,
    protocol: type,
    types: Mapping[str, tuple[type, ...]],
) -> tuple[T | None, T | None]:
    """Two models made in the same way, after comparing their members and fingerprints.

    Args:
        findings: Where problems go.
        make: Makes a model.
        make_other: Makes one with other arguments.
        protocol: Its Protocol.
        types: Attribute to what it may be.

    Returns:
        The two; the first is None where no more can be tried.
    """
    model = findings.attempt("making it", make)
    if model is None or not check_members(findings, model, protocol, types):
        return None, None
    second = findings.attempt("making it again", make)
    if second is not None:
        check_fingerprints(findings, model, second, make_other)
    return model, second


def check_members(
    findings: Findings, model: object, protocol: type, types: Mapping[str, tuple[type, ...]]
) -> bool:
    """Members of a Protocol, their types, the name, the fingerprint and any batch size.

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
    fingerprint = getattr(model, "fingerprint", None)
    findings.require(
        isinstance(fingerprint, str) and _HEX.fullmatch(fingerprint) is not None,
        f"fingerprint is {fingerprint!r}; expected 64 lower-case hex digits (a SHA-256)",
    )
    findings.require(bool(getattr(model, "name", None)), "name is empty")
    if "batch_size" in types:
        size = getattr(model, "batch_size", None)
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
