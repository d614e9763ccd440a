"""Placement of the names of points, so that none covers a point, a line or another name."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.marks import LEFT_OF_ANCHOR, Line
from t2ibench.reports.figures.text_size import text_width

_UP, _DOWN = 10.0, 3.0  # of a text, above and below its base line
_DOT = 3.5
# From a point to the base line of its name, with the side at which the name begins or ends; tried
# in this order.
_Side = tuple[float, float, Literal["start", "middle", "end"]]
_LEVEL: tuple[_Side, ...] = ((6.0, 4.0, "start"), (-6.0, 4.0, "end"))
_DIAGONAL: tuple[_Side, ...] = (
    (5.0, -5.0, "start"),
    (5.0, 13.0, "start"),
    (-5.0, -5.0, "end"),
    (-5.0, 13.0, "end"),
)
_ABOVE_OR_BELOW: tuple[_Side, ...] = ((0.0, -7.0, "middle"), (0.0, 15.0, "middle"))
_SIDES = (*_LEVEL, *_DIAGONAL, *_ABOVE_OR_BELOW)

Rectangle = tuple[float, float, float, float]  # left, top, right, bottom
Segment = tuple[float, float, float, float]  # x and y of both ends


@dataclass(frozen=True, slots=True)
class Label:
    """The placed name of a point, which begins, is centred or ends at `x` on the base line `y`.

    Attributes:
        number: Index of the point.
        x: Where it is anchored.
        y: Its base line.
        anchor: What lies at `x`.
        on_plate: Whether a line would strike it, so that it stands on a plate.
    """

    number: int
    x: float
    y: float
    anchor: Literal["start", "middle", "end"]
    on_plate: bool = False

    def box(self, text: str, bold: bool = False) -> Rectangle:
        """Return the rectangle that a text covers here, as left, top, right and bottom."""
        return text_box(self.x, self.y, self.anchor, text, bold)


def text_box(
    x: float, y: float, anchor: str, text: str, bold: bool = False
) -> Rectangle:
    """Return the rectangle that a text covers, as left, top, right and bottom."""
    width = text_width(text, bold)
    left = x - LEFT_OF_ANCHOR[anchor] * width
    return left, y - _UP, left + width, y + _DOWN


def labels(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    order: Sequence[int],
    bounds: Rectangle,
    most: int,
    *,
    lines: Sequence[Segment] = (),
    intervals: Mapping[int, Segment] | None = None,
    bold: bool = False,
    named_anyway: Collection[int] = (),
) -> list[Label]:
    """Return placed names for as many points as fit, trying the points in the given order.

    Args:
        points: Where they lie.
        names: Their names.
        order: Which points are tried, the first ones first.
        bounds: Where names may be, as left, top, right and bottom.
        most: How many are named at most.
        lines: What no name may touch.
        intervals: Lines that are drawn only with the name of a point.
        bold: Whether names are bold.
        named_anyway: Points that get a name on a plate where lines leave no other place.
    """
    placed: list[Label] = []
    taken: list[Rectangle] = []
    strokes = list(lines)
    for number in order:
        if len(placed) == most:
            break
        interval = (intervals or {}).get(number)
        of_point = [] if interval is None else [interval]
        if any(strikes(box, of_point) for box in taken):
            continue
        free = [
            label
            for label in _places(number, points[number])
            if _is_free(label.box(names[number], bold), number, points, taken, bounds)
        ]
        label = _first_clear(free, names[number], bold, strokes + of_point)
        if label is None and free and number in named_anyway:
            label = replace(free[0], on_plate=True)
        if label is not None:
            placed.append(label)
            taken.append(label.box(names[number], bold))
            strokes += of_point
    return placed


def _first_clear(
    places: Sequence[Label], name: str, bold: bool, lines: Sequence[Segment]
) -> Label | None:
    """Return the first place at which no line strikes a name; None if there is none."""
    for label in places:
        if not strikes(label.box(name, bold), lines):
            return label
    return None


def _places(number: int, point: tuple[float, float]) -> Iterator[Label]:
    for across, down, anchor in _SIDES:
        yield Label(number, point[0] + across, point[1] + down, anchor)


def _is_free(
    box: Rectangle,
    number: int,
    points: Sequence[tuple[float, float]],
    taken: Iterable[Rectangle],
    bounds: Rectangle,
) -> bool:
    """Return whether a name is within the bounds and covers no other point and no other name."""
    left, top, right, bottom = box
    inside = (
        left >= bounds[0]
        and top >= bounds[1]
        and right <= bounds[2]
        and bottom <= bounds[3]
    )
    if not inside or any(meet(box, other) for other in taken):
        return False
    return not any(
        left < x + _DOT and x - _DOT < right and top < y + _DOT and y - _DOT < bottom
        for other, (x, y) in enumerate(points)
        if other != number
    )


def meet(first: Rectangle, second: Rectangle) -> bool:
    """Return whether two rectangles overlap."""
    across = first[0] < second[2] and second[0] < first[2]
    return across and first[1] < second[3] and second[1] < first[3]


def strikes(box: Rectangle, lines: Iterable[Segment]) -> bool:
    """Return whether one of several lines passes through a rectangle."""
    return any(_passes(box, line) for line in lines)


def _passes(box: Rectangle, line: Segment) -> bool:
    """Return whether a line has a part within a rectangle (Liang and Barsky 1984)."""
    x, y, end_x, end_y = line
    enters = 0.0
    leaves = 1.0
    edges = (
        (x - end_x, x - box[0]),
        (end_x - x, box[2] - x),
        (y - end_y, y - box[1]),
        (end_y - y, box[3] - y),
    )
    for towards, room in edges:
        if towards == 0:
            if room <= 0:
                return False
            continue
        crossing = room / towards
        if towards < 0:
            enters = max(enters, crossing)
        else:
            leaves = min(leaves, crossing)
    return enters < leaves


def write_label(canvas: Canvas, label: Label, text: str, name: str = "") -> None:
    """Write a placed name; one that lines would strike stands on a plate."""
    if label.on_plate:
        left, top, right, bottom = label.box(text, bold=name == "strong")
        canvas.box(left - 1, top + 1, right - left + 2, bottom - top - 1, "plate")
    canvas.text(label.x, label.y, text, label.anchor, name)


def lines_of(canvas: Canvas) -> list[Segment]:
    """Return the straight parts of all lines that a figure has so far."""
    return [
        (*start, *end)
        for mark in canvas.marks
        if isinstance(mark, Line)
        for start, end in itertools.pairwise(mark.points)
    ]
