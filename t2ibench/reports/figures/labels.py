"""Placement of the names of points, so that none covers a point or another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_LETTER = 6.4  # CSS pixels of a letter, on the safe side
_GAP, _UP, _DOWN = 6.0, 10.0, 3.0  # from the point; above and below the base line
_DOT = 3.5


@dataclass(frozen=True, slots=True)
class Label:
    """The placed name of a point, which begins or ends at `x` on the base line `y`."""

    number: int
    x: float
    y: float
    anchor: Literal["start", "end"]

    def box(self, text: str) -> tuple[float, float, float, float]:
        """Return the rectangle that a text covers here, as left, top, right and bottom."""
        wide = _LETTER * len(text)
        left = self.x if self.anchor == "start" else self.x - wide
        return left, self.y - _UP, left + wide, self.y + _DOWN


def labels(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    order: Sequence[int],
    ends: tuple[float, float],
    most: int,
) -> list[Label]:
    """Return placed names for as many points as fit, trying the points in the given order."""
    placed: list[Label] = []
    taken: list[tuple[float, float, float, float]] = []
    for number in order:
        if len(placed) == most:
            break
        x, y = points[number]
        sides = (
            Label(number, x + _GAP, y + 4, "start"),
            Label(number, x - _GAP, y + 4, "end"),
        )
        for label in sides:
            left, top, right, bottom = box = label.box(names[number])
            inside = left >= ends[0] and right <= ends[1]
            dots = any(
                left < dot_x + _DOT
                and dot_x - _DOT < right
                and top < dot_y + _DOT
                and dot_y - _DOT < bottom
                for other, (dot_x, dot_y) in enumerate(points)
                if other != number
            )
            if inside and not dots and not any(_meet(box, other) for other in taken):
                placed.append(label)
                taken.append(box)
                break
    return placed


def _meet(
    first: tuple[float, float, float, float], second: tuple[float, float, float, float]
) -> bool:
    return (
        first[0] < second[2]
        and second[0] < first[2]
        and first[1] < second[3]
        and second[1] < first[3]
    )
