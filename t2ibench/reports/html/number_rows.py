"""Rows of a table of numbers under headings, as the pages of `where` and `frontier` have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_PART = "· "  # begins the name of a part of the row above


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A row of a table of numbers.

    Attributes:
        heading: What the rows from here on are about; empty where it is that of the row above.
        name: What the number is of.
        cells: The other columns.
        is_part: Whether it is a part of the number above.
    """

    heading: str
    name: str
    cells: tuple[str, ...]
    is_part: bool


def number_rows(rows: Sequence[Sequence[str]]) -> Iterator[NumberRow]:
    """Yield the rows of a table whose first two columns are the heading and the name."""
    previous = ""
    for heading, name, *cells in rows:
        yield NumberRow(
            heading=heading if heading != previous else "",
            name=name.removeprefix(_PART),
            cells=tuple(cells),
            is_part=name.startswith(_PART),
        )
        previous = heading or previous
