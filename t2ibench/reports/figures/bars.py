"""Figure of the rows with the largest leans, as bars."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.presentation import Bars
from t2ibench.reports.cells import score_words
from t2ibench.reports.figures.axes import AXIS_HEIGHT, PixelScale, draw_ticks
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import DrawnFigure, Samples, canvas_of, finished
from t2ibench.reports.figures.text_size import LETTER, left_of, row_places
from t2ibench.reports.view import TaskView

_BARS = 10
# heading, bars, what stands to its right
Group = tuple[str, Sequence[tuple[str, float]], str]


def draw(figure: Bars, task: TaskView, _: Samples) -> DrawnFigure | None:
    """Return a figure of up to ten rows with the largest scores, as bars; None without rows."""
    rows_of_bars = []
    for row in task.result.by:
        order = row.scores.get(figure.row)
        shown = {
            name.removeprefix(figure.prefix): score.value
            for name, score in row.scores.items()
            if name.startswith(figure.prefix) and score.value is not None
        }
        if order is not None and order.value is not None and shown:
            bars = sorted(shown.items(), key=lambda pair: -pair[1])
            rows_of_bars.append((order.value, row.name, bars))
    if not rows_of_bars:
        return None
    rows_of_bars = sorted(
        rows_of_bars, key=lambda row_of_bars: (-row_of_bars[0], row_of_bars[1])
    )[:_BARS]
    canvas = canvas_of(figure)
    words = score_words(figure.row)
    draw_bars(
        canvas,
        [(name, bars, f"{words} {order:.2f}") for order, name, bars in rows_of_bars],
        figure.axis,
    )
    rows = [
        (name, label, value, order)
        for order, name, bars in rows_of_bars
        for label, value in bars
    ]
    head = ("row", figure.prefix.rstrip(":"), "value", figure.row)
    return finished(figure, canvas, head, rows)


def draw_bars(canvas: Canvas, groups: Sequence[Group], axis: str) -> None:
    """Draw groups of bars under their headings, on one axis that reaches from 0 to at least 1."""
    width = canvas.width
    y = 4.0
    left = left_of([label for _, bars, _ in groups for label, _ in bars], 0.38 * width)
    most = max(1.0, *(value for _, bars, _ in groups for _, value in bars))
    across = PixelScale(0, most, left + 8, width - 50).to_ticks()
    for name, bars, side in groups:
        room = width - LETTER * (len(side) + 1)
        (place,), high = row_places([name], room, 18)
        canvas.label(0, y + place, name, room, "start", "strong")
        canvas.text(width, y + place + 4, side, "end")
        y += high
        places, high = row_places([label for label, _ in bars], left, 14)
        for place, (label, value) in zip(places, bars, strict=True):
            end = across(max(value, 0.0))
            canvas.label(left, y + place, label, left)
            canvas.box(left + 8, y + place - 4, max(end - left - 8, 1), 8)
            canvas.text(end + 6, y + place + 4, f"{value:.2f}")
        y += high + 8
    canvas.height = y + AXIS_HEIGHT
    draw_ticks(canvas, across, y, name=axis)
