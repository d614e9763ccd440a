"""Named sets of a task, such as concepts with their stimuli, found in the schema of any method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

# Keys of a set's members, of which the first counts; and parts of a task that are no sets.
_MEMBERS = ("words", "stimuli", "classes")
_NOT_SETS = {"published", "proposal", "reference"}


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A named part of a task, such as a concept with its stimuli.

    Attributes:
        key: Its place in the task's file, such as 'attributes.A'.
        name: Its name in reports.
        words: Its members; empty if it has only a name.
    """

    key: str
    name: str
    words: tuple[str, ...] = ()


def named_sets(spec: BaseModel) -> list[NamedSet]:
    """Return every named set of a task, such as concepts, groups, attributes and anchors.

    For every method, these are the models in the task's schema that have a name.
    """
    parts: list[NamedSet] = []
    for key in type(spec).model_fields:
        if key not in _NOT_SETS:
            parts += _sets_in(getattr(spec, key), key)
    return parts


def set_lines(spec: BaseModel, most: int | None) -> list[str]:
    """Return a line for each set of a task, with its first words; None for all words."""
    lines = []
    for named in named_sets(spec):
        line = f"{named.key}: {named.name}"
        if named.words:
            hidden = len(named.words) - len(named.words[:most])
            more = f", … ({len(named.words)} words)" if hidden else ""
            line += f" ({', '.join(named.words[:most])}{more})"
        lines.append(line)
    return list(dict.fromkeys(lines))  # an axis that many prompts share is named once


def _sets_in(value: object, key: str) -> Iterator[NamedSet]:
    if isinstance(value, BaseModel):
        name = getattr(value, "name", None)
        if isinstance(name, str):
            yield NamedSet(key, name, _members(value))
        for field in type(value).model_fields:
            if field not in _MEMBERS:
                yield from _sets_in(getattr(value, field), f"{key}.{field}")
    elif isinstance(value, Mapping):
        for field, part in value.items():
            yield from _sets_in(part, f"{key}.{field}")
    elif isinstance(value, tuple):
        for part in value:
            yield from _sets_in(part, key)


def _members(part: BaseModel) -> tuple[str, ...]:
    for key in _MEMBERS:
        words = getattr(part, key, None)
        if (
            isinstance(words, tuple)
            and words
            and all(isinstance(word, str) for word in words)
        ):
            return words
    return ()
