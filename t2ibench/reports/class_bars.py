"""Who is shown as the parts of a bar, with a key: the same on every page and in every figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.methods.core.answer_counts import ShownRow, bar_order
from t2ibench.methods.core.describe import people

NO_ANSWER = "none"  # what images without an answer look like


@dataclass(frozen=True, slots=True)
class ClassKey:
    """An entry of a key: the name of a class, and what its parts look like."""

    look: str
    name: str

    @property
    def classes(self) -> str:
        """The CSS class that gives the entry its colour and pattern."""
        return "key-none" if self.look == NO_ANSWER else f"key{self.look[1:]}"


@dataclass(frozen=True, slots=True)
class StackPart:
    """A part of a bar: what it looks like, as a CSS class, and its number of images."""

    classes: str
    size: float


def class_key(
    classes: Sequence[str], attribute: str, *, unanswered: bool = False
) -> tuple[ClassKey, ...]:
    """Return the names and colours of the classes of a question, missing answers last."""
    key = [
        ClassKey(f"k{colour}", people(name, attribute))
        for name, colour in bar_order(classes).items()
    ]
    if unanswered:
        key.append(ClassKey(NO_ANSWER, "no answer"))
    return tuple(key)


def stack_parts(row: ShownRow, classes: Sequence[str]) -> tuple[StackPart, ...]:
    """Return the answers about a prompt as parts of one bar, unanswered images last."""
    parts = [
        StackPart(f"k{colour}", row.counted.counts[name])
        for name, colour in bar_order(classes).items()
        if row.counted.counts.get(name)
    ]
    if row.counted.unanswered:
        parts.append(StackPart(NO_ANSWER, row.counted.unanswered))
    return tuple(parts)
