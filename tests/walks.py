"""The walks of CONTRIBUTING.md, followed while a command runs.

A walk is a table of functions, each of which makes something of what the one before gave. It is
followed if that is so in a real run: if the earlier function was called by the later one, or if
the later one, or a caller of it, has in its hands what the earlier one returned.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import t2ibench

ROOT = Path(t2ibench.__file__).parent
CONTRIBUTING = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
# Objects that are looked at for what an earlier function returned.
_MOST_OBJECTS = 100_000


def in_contributing(name: str) -> list[tuple[str, str]]:
    """The functions of a walk and their files, as its table has them."""
    _, begin, after = CONTRIBUTING.partition(f"\n**{name}**")
    assert begin, f"CONTRIBUTING.md has no walk of '{name}'"
    table = after.partition("\n| --- ")[2].partition("\n\n")[0]
    return re.findall(r"^\| `([\w.]+)` \| `([\w./]+)`", table, re.MULTILINE)


def code_of(function: str, file: str) -> CodeType:
    """The code of a function or method; it must be there."""
    module = f"t2ibench.{file.removesuffix('.py').replace('/', '.')}"
    target: Any = importlib.import_module(module.removesuffix(".__init__"))
    for name in function.split("."):
        target = getattr(target, name)
    while hasattr(target, "__wrapped__"):
        target = target.__wrapped__
    code = getattr(target, "__func__", target).__code__
    assert Path(code.co_filename) == ROOT / file, f"{function} is not in {file}"
    return code


def callers(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those of the package that called it, without comprehensions."""
    while frame is not None:
        code = frame.f_code
        if Path(code.co_filename).is_relative_to(ROOT) and code.co_name[0] != "<":
            yield frame
        frame = frame.f_back


def parts_of(item: Any) -> Iterable[Any]:
    """What an object holds directly."""
    if isinstance(item, Mapping):
        return item.values()
    if isinstance(item, (list, tuple, set, frozenset)):
        return item
    if not type(item).__module__.startswith("t2ibench"):
        return ()
    if is_dataclass(item):
        return [getattr(item, part.name, None) for part in fields(item)]
    return list(getattr(item, "__dict__", {}).values())


def number_of(item: Any) -> float | None:
    """The number that an object holds as its value; None without one."""
    value = getattr(item, "value", None)
    return value if isinstance(value, float) else None


def is_same(item: Any, other: Any) -> bool:
    """Whether two objects are one, or one is a copy of the other with the same number."""
    if item is other:
        return True
    number = number_of(item) if type(item) is type(other) else None
    return number is not None and number == number_of(other)


def holds(items: Iterable[Any], wanted: list[Any]) -> bool:
    """Whether one of the wanted objects is among some, or in one of them."""
    waiting = list(items)
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _MOST_OBJECTS:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen[id(item)] = item
        if any(is_same(item, other) for other in wanted):
            return True
        waiting += parts_of(item)
    return False


@dataclass
class Step:
    """A function of a walk.

    Attributes:
        code: Its code.
        returned: What it returned in the calls that the walk leads to.
        called_by: The frames that those calls came from.
        following: The frames of calls under way that have in their hands what is before.
    """

    code: CodeType
    returned: list[Any] = field(default_factory=list)
    called_by: set[FrameType] = field(default_factory=set)
    following: set[FrameType] = field(default_factory=set)


class Walk:
    """A walk, and how far a run followed it."""

    def __init__(self, functions: Iterable[tuple[str, str]]) -> None:
        self.functions = list(functions)
        self.steps = [Step(code_of(*function)) for function in self.functions]

    @property
    def followed(self) -> list[tuple[str, str]]:
        """The functions that each made something of what the one before gave."""
        return [
            function
            for function, step in zip(self.functions, self.steps, strict=True)
            if step.returned
        ]

    def note(self, frame: FrameType, event: str, result: Any) -> None:
        """Note the call of a function or its return."""
        for number, step in enumerate(self.steps):
            if step.code is frame.f_code:
                before = self.steps[number - 1] if number else None
                if event == "call":
                    self._begin(frame, step, before)
                else:
                    self._end(frame, step, before, result)

    def _begin(self, frame: FrameType, step: Step, before: Step | None) -> None:
        if before is None:
            step.following.add(frame)
        elif before.returned:
            hands = [value for at in callers(frame) for value in at.f_locals.values()]
            if holds(hands, before.returned):
                step.following.add(frame)

    def _end(
        self, frame: FrameType, step: Step, before: Step | None, result: Any
    ) -> None:
        has_called_it = before is not None and frame in before.called_by
        if result is not None and (frame in step.following or has_called_it):
            step.returned.append(result)
            step.called_by.update(callers(frame))


class Recorder:
    """Follows walks through whatever runs inside `recording`.

    Attributes:
        depths: By the code of a function of a walk, from how many functions of the package it was
            called, itself included: one number for each call.
        returned: Every object of the package that one of its functions returned.
    """

    def __init__(self, *walks: Walk) -> None:
        self.walks = walks
        self.depths: dict[CodeType, list[int]] = {}
        self.returned: list[Any] = []
        self._steps = {step.code for walk in walks for step in walk.steps}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record what runs inside of it, in this thread."""
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _note(self, frame: FrameType, event: str, result: Any) -> None:
        if event not in {"call", "return"}:
            return
        if event == "return" and type(result).__module__.startswith("t2ibench"):
            self.returned.append(result)
        if frame.f_code not in self._steps:
            return
        if event == "call":
            depth = sum(1 for _ in callers(frame))
            self.depths.setdefault(frame.f_code, []).append(depth)
        for walk in self.walks:
            walk.note(frame, event, result)

    def deepest(self) -> int:
        """From how many functions a function of a walk was called at most, itself included."""
        return max(max(depths) for depths in self.depths.values())


def types_with(number: float, objects: Iterable[Any]) -> set[str]:
    """The types of the objects that have a number, rounded as in results.json, as a field."""
    names: set[str] = set()
    for item in objects:
        numbers = [part for part in parts_of(item) if isinstance(part, float)]
        if any(abs(part - number) < 1e-8 for part in numbers):
            names.add(type(item).__name__)
    return names
