"""Figure of small bars with their numbers, in panels of items and columns."""

from __future__ import annotations

import math

from t2ibench.methods.core.presentation import Panel, Panels
from t2ibench.reports.figures.axes import PixelScale
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import (
    WIDTH,
    DrawnFigure,
    Samples,
    canvas_of,
    finished,
)
from t2ibench.reports.figures.text_size import LINE, left_of, wrapped
from t2ibench.reports.html.numbers import plain
from t2ibench.reports.view import TaskView
from t2ibench.results.schema import Score

_NUMBER = 32.0  # of a column, for the number behind its bar
_GAP = 8.0  # between columns
_LINE = 16.0
_BETWEEN = 20.0
_KEY = (
    ("bar", "times an image names it, as it stands"),
    ("soft", "as a counterfactual"),
)
_COLUMNS = 5  # of a panel that are drawn at most
_ITEMS = 6
_MOST = 3  # panels that are drawn; the CSV has all
_TABLE = 200  # lines of the table


def draw(figure: Panels, task: TaskView, _: Samples) -> DrawnFigure | None:
    """Return a figure of up to three panels, the largest scores first; None if there are none."""
    panels = _sorted(figure, task)
    if not panels:
        return None
    shown = panels[:_MOST]
    canvas = canvas_of(figure)
    drawn = [
        value or 0.0
        for panel in shown
        for _, numbers in panel.items[:_ITEMS]
        for value in numbers[:_COLUMNS]
    ]
    most = max([1.0, *drawn])
    items = [name for panel in shown for name, _ in panel.items[:_ITEMS]]
    y = 0.0
    left = left_of(items, 0.25 * WIDTH) + 8
    for panel in shown:
        y = _panel(canvas, panel, most, y, left) + _BETWEEN
    canvas.height = canvas.key(y, _KEY)
    rows = [
        (panel.title, item, column, "" if value is None else value)
        for panel in panels
        for item, numbers in panel.items
        for column, value in zip(panel.columns, numbers, strict=True)
    ]
    head = ("of", figure.item, "column", "value")
    more = f" {figure.absent}"
    return finished(figure, canvas, head, rows, more, most=_TABLE)


def _sorted(figure: Panels, task: TaskView) -> list[Panel]:
    panels = [panel for panel in figure.read(task.result.details) if panel.items]
    if figure.order is None:
        return sorted(panels, key=lambda panel: -_spread(panel))
    scored = [
        (row.name, row.scores.get(figure.order, Score()).value)
        for row in task.result.by
    ]
    order = {name: -value for name, value in scored if value is not None}
    return sorted(panels, key=lambda panel: order.get(panel.row, math.inf))


def _spread(panel: Panel) -> float:
    values = [value for value in panel.items[0][1] if value is not None]
    return max(values) - min(values) if values else 0.0


def _panel(canvas: Canvas, panel: Panel, most: float, top: float, left: float) -> float:
    columns = panel.columns[:_COLUMNS]
    wide = (canvas.width - left + _GAP) / max(len(columns), 2)
    more = len(panel.columns) - len(columns)
    title = f"{panel.title} (+ {more} more in the CSV)" if more else panel.title
    y = top + LINE * len(wrapped(title, canvas.width))
    canvas.label(0, (top + y) / 2 + 2, title, canvas.width, "start", "strong")
    heads = max(len(wrapped(name, wide - _GAP)) for name in columns)
    y += 8 + LINE * heads / 2
    for place, name in enumerate(columns):
        canvas.label(
            left + place * wide,
            y,
            name,
            wide - _GAP,
            "start",
            "" if place else "strong",
        )
    y += LINE * heads / 2 + 4
    for item, values in panel.items[:_ITEMS]:
        high = max(_LINE, LINE * len(wrapped(item, left - 8)) + 3)
        canvas.label(left - 8, y + high / 2, item, left - 8)
        for place, value in enumerate(values[:_COLUMNS]):
            x = left + place * wide
            middle = y + high / 2
            across = PixelScale(0.0, most, x, x + wide - _GAP - _NUMBER)
            canvas.line(x, y, x, y + high)
            if value is None:
                canvas.text(x + 5, middle + 4, "–")
                continue
            end = across(min(max(value, 0.0), most))
            if value > 0:
                canvas.box(x, middle - 5, end - x, 10, "soft" if place else "bar")
            canvas.text(end + 5, middle + 4, plain(value))
        y += high
    return y
