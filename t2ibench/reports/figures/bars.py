"""Numbers of the rows that lean most, as bars."""

from __future__ import annotations

from t2ibench.methods.core.presentation import Bars
from t2ibench.reports.cells import score_words
from t2ibench.reports.figures.axes import Scale, draw_ticks
from t2ibench.reports.figures.canvas import LETTER, Canvas, left_of, row_places
from t2ibench.reports.figures.figure import WIDTH, Figure, Samples, caption_of, described
from t2ibench.reports.view import TaskView

_BARS = 10


def draw(figure: Bars, task: TaskView, _: Samples, width: float = WIDTH) -> Figure | None:
    """The rows that lean most, a bar a score."""
    found = []
    for row in task.result.by:
        order = row.scores.get(figure.row)
        shown = {
            name.removeprefix(figure.prefix): score.value
            for name, score in row.scores.items()
            if name.startswith(figure.prefix) and score.value is not None
        }
        if order is not None and order.value is not None and shown:
            found.append((order.value, row.name, shown))
    if not found:
        return None
    found = sorted(found, key=lambda one: (-one[0], one[1]))[:_BARS]
    canvas = Canvas(width, 0.0, described(figure))
    left = left_of([label for _, _, shown in found for label in shown], 0.38 * width)
    across = Scale(0, 1, left + 8, width - 50)
    words = score_words(figure.row)
    side = LETTER * (len(words) + 6)
    y = 4.0
    rows: list[tuple[object, ...]] = []
    for order_value, name, shown in found:
        (place,), high = row_places([name], width - side, 18)
        canvas.label(0, y + place, name, width - side, "start", "strong")
        canvas.text(width, y + place + 4, f"{words} {order_value:.2f}", "end")
        y += high
        ordered = sorted(shown.items(), key=lambda pair: -pair[1])
        places, high = row_places([label for label, _ in ordered], left, 14)
        for place, (label, value) in zip(places, ordered, strict=True):
            end = across(min(max(value, 0), 1))
            canvas.label(left, y + place, label, left)
            canvas.box(left + 8, y + place - 4, max(end - left - 8, 1), 8)
            canvas.text(end + 6, y + place + 4, f"{value:.2f}")
            rows.append((name, label, value, order_value))
        y += high + 8
    canvas.height = y + 26
    draw_ticks(canvas, across, y)
    head = ("row", figure.prefix.rstrip(":"), "value", figure.row)
    return Figure(canvas, figure.title, caption_of(figure), head, rows)
