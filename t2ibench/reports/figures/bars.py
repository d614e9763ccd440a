"""Numbers of the rows that lean most, as bars."""

from __future__ import annotations

from t2ibench.methods.core.presentation import Bars
from t2ibench.reports.cells import score_words
from t2ibench.reports.figures.axes import Scale
from t2ibench.reports.figures.canvas import Canvas, shortened
from t2ibench.reports.figures.figure import WIDTH, Figure, Samples, caption_of, described
from t2ibench.reports.view import TaskView

_BARS = 10


def draw(figure: Bars, task: TaskView, _: Samples) -> Figure | None:
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
    height = sum(24.0 + 14 * len(shown) for _, _, shown in found) - 4
    canvas = Canvas(WIDTH, height, described(figure))
    left = 110.0
    across = Scale(0, 1, left, WIDTH - 50)
    y = 14.0
    rows: list[tuple[object, ...]] = []
    for order_value, name, shown in found:
        canvas.text(0, y, shortened(name, 56), name="strong")
        canvas.text(WIDTH, y, f"{score_words(figure.row)} {order_value:.2f}", "end")
        for label, value in sorted(shown.items(), key=lambda pair: -pair[1]):
            y += 14
            canvas.text(left - 8, y, shortened(label, 16), "end")
            canvas.box(left, y - 8, max(across(min(max(value, 0), 1)) - left, 1), 8)
            canvas.text(across(min(max(value, 0), 1)) + 6, y, f"{value:.2f}")
            rows.append((name, label, value, order_value))
        y += 24
    head = ("row", figure.prefix.rstrip(":"), "value", figure.row)
    return Figure(canvas, figure.title, caption_of(figure), head, rows)
