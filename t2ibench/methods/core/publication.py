"""A publication that a method or the words of a task come from, as `t2ibench cite` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication as BibTeX has it.

    Attributes:
        key: The key of its entry.
        kind: The kind of the entry, such as 'inproceedings'.
        fields: BibTeX's fields, as plain text; authors and bodies in braces stay as they are.
        marks: Words of a task's citation that name it.
    """

    key: str
    kind: str
    fields: Mapping[str, str]
    marks: tuple[str, ...] = ()
