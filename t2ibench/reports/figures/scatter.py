"""Scatter plot of two numbers of each row, with the line on which both are equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from t2ibench.decimals import decimal
from t2ibench.methods.core.presentation import Quantity, Scatter
from t2ibench.reports.figures.axes import PixelScale, draw_axes
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import (
    WIDTH,
    DrawnFigure,
    Samples,
    canvas_of,
    finished,
)
from t2ibench.reports.figures.labels import (
    Label,
    Rectangle,
    Segment,
    labels,
    lines_of,
    write_label,
)
from t2ibench.reports.view import TaskView
from t2ibench.results.display import row_state
from t2ibench.results.schema import Row, Score

_LEFT = 44.0
_RIGHT = 16.0
_MANY = 60  # points, above which only those with a name show their interval
_TABLE = 40  # points that are a table on the page, too
_LABELLED = 14  # points that are named at most


@dataclass(frozen=True, slots=True)
class _Point:
    name: str
    x: float
    y: float
    ends: tuple[float, float] | None
    side: str  # 'high' or 'low' where it is clearly off the line, else empty


def draw(figure: Scatter, task: TaskView, _: Samples) -> DrawnFigure | None:
    """Return a scatter plot of a task's rows, the outermost named; None with fewer than two."""
    points = [
        point for row in task.result.by if (point := _point(figure, row)) is not None
    ]
    if len(points) < 2:
        return None
    canvas = canvas_of(figure)
    top = canvas.key(8, _key(figure, points)) + 24
    canvas.height = top + 276.0
    xs = [point.x for point in points]
    ys = [point.y for point in points]
    right = WIDTH - _RIGHT
    bottom = canvas.height - 40
    x_axis = figure.x
    y_axis = figure.y
    across = _scale(min(x_axis.low, *xs), max(x_axis.high, *xs), _LEFT, right)
    up = _scale(min(y_axis.low, *ys), max(y_axis.high, *ys), bottom, top)
    draw_axes(canvas, across, up, x_axis.label, y_axis.label)
    if figure.diagonal:
        low = max(across.low, up.low)
        high = min(across.high, up.high)
        canvas.line(across(low), up(low), across(high), up(high), "eq")
    order = farthest([(across(point.x), up(point.y)) for point in points])
    order.sort(key=lambda number: not points[number].side)
    _draw(canvas, points, order, across, up)
    some = len(points) > _MANY and any(point.ends for point in points)
    more = " Only points with a name show their interval." if some else ""
    head, rows = _data(figure, points)
    says = _says(points) if figure.difference else ""
    return finished(figure, canvas, head, rows, more, says, _TABLE)


def _key(figure: Scatter, points: Sequence[_Point]) -> list[tuple[str, str]]:
    """Return the entries of the figure's legend, each a CSS class and what it means."""
    sides = {point.side for point in points} - {""}
    entries = [("pt", "not clearly off the line" if sides else "a row")]
    if "high" in sides:
        entries.append(("high", "above it"))
    if "low" in sides:
        entries.append(("low", "below it"))
    if any(point.ends for point in points):
        entries.append(("ax", "interval"))
    if figure.diagonal:
        entries.append(("eq", "equal"))
    return entries


def _scale(low: float, high: float, begin: float, end: float) -> PixelScale:
    return PixelScale(low, high, begin, end).to_ticks()


def _data(
    figure: Scatter, points: Sequence[_Point]
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return the figure's data as column names and rows."""
    if not figure.intervals:
        return ("row", "x", "y"), [(point.name, point.x, point.y) for point in points]
    rows = [
        (point.name, point.x, point.y, *(point.ends or ("", ""))) for point in points
    ]
    return ("row", "x", "y", "y_low", "y_high"), [*rows]


def _point(figure: Scatter, row: Row) -> _Point | None:
    if figure.groups is not None and row.group not in figure.groups:
        return None
    x = _value(figure.x, row)
    y = _value(figure.y, row)
    if x is None or y is None:
        return None
    difference = row.scores.get(figure.difference or "", Score())
    side = ""
    if difference.value and row_state(difference) == "clear":
        side = "high" if difference.value > 0 else "low"
    return _Point(row.name, x, y, _interval(figure, row), side)


def _value(quantity: Quantity, row: Row) -> float | None:
    """Return a row's number on one axis, given by the figure or else from the row's scores."""
    if quantity.given is not None:
        return quantity.given.get(row.name)
    return _placed(quantity, row.scores.get(quantity.score or "", Score()).value)


def _interval(figure: Scatter, row: Row) -> tuple[float, float] | None:
    """Return a row's interval on the y axis; None if it has none or intervals are not drawn."""
    score = row.scores.get(figure.y.score or "", Score())
    low = _placed(figure.y, score.ci_low)
    high = _placed(figure.y, score.ci_high)
    if not figure.intervals or low is None or high is None:
        return None
    return min(low, high), max(low, high)


def _draw(
    canvas: Canvas,
    points: Sequence[_Point],
    order: Sequence[int],
    across: PixelScale,
    up: PixelScale,
) -> None:
    places = [(across(point.x), up(point.y)) for point in points]
    many = len(points) > _MANY
    intervals = {
        number: _interval_line(places[number], point.ends, up)
        for number, point in enumerate(points)
        if point.ends is not None
    }
    bounds = (_LEFT, up.end - 7, canvas.width, up.begin)
    named = _named(points, places, order, bounds, lines_of(canvas), intervals)
    with_interval = set(range(len(points)))
    if many:
        with_interval = {label.number for label in named}
    for number, line in intervals.items():
        if number in with_interval:
            canvas.line(*line)
    for point, place in zip(points, places, strict=True):
        tip = f"{point.name}: {decimal(point.x, 2)}, {decimal(point.y, 2)}"
        radius = 2.2 if many and not point.side else 3.0
        canvas.dot(*place, point.side or "pt", radius, tip)
    for label in named:
        write_label(canvas, label, points[label.number].name)


def _named(
    points: Sequence[_Point],
    places: Sequence[tuple[float, float]],
    order: Sequence[int],
    bounds: Rectangle,
    lines: Sequence[Segment],
    intervals: Mapping[int, Segment],
) -> list[Label]:
    """Return the names of points that have room; among many, only those show their interval."""
    many = len(points) > _MANY
    return labels(
        places,
        [point.name for point in points],
        order,
        bounds,
        _LABELLED,
        lines=lines if many else [*lines, *intervals.values()],
        intervals=intervals if many else None,
        named_anyway=[number for number, point in enumerate(points) if point.side],
    )


def _interval_line(
    place: tuple[float, float], ends: tuple[float, float], up: PixelScale
) -> Segment:
    """Return the line of a point's interval, cut at the ends of the axis."""
    low, high = (min(max(end, up.low), up.high) for end in ends)
    return place[0], up(low), place[0], up(high)


def _says(points: Sequence[_Point]) -> str:
    above, below = (
        sum(point.side == side for point in points) for side in ("high", "low")
    )
    count = len(points)
    if not above + below:
        return (
            f"None of {count} rows lies clearly off the line after Holm’s correction, which is "
            "not the same as on it."
        )
    on_line = count - above - below
    return (
        f"Clearly off the line after Holm’s correction: {above} of {count} rows above it, {below} "
        f"below; {on_line} cannot be distinguished from it."
    )


def farthest(places: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of points, outermost first; distance from the diagonal counts twice."""
    middle_x = math.fsum(x for x, _ in places) / len(places)
    middle_y = math.fsum(y for _, y in places) / len(places)

    def distance(number: int) -> float:
        x = places[number][0] - middle_x
        y = places[number][1] - middle_y
        return math.hypot(x, y) + abs(x + y)

    return sorted(range(len(places)), key=distance, reverse=True)


def _placed(quantity: Quantity, value: float | None) -> float | None:
    if value is None or quantity.share is None:
        return value
    return (1 + value) / 2 if quantity.share == "high" else (1 - value) / 2
