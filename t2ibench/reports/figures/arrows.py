"""Rows as arrows from one lean to another: from words to images."""

from __future__ import annotations

from t2ibench.methods.core.presentation import Arrows
from t2ibench.reports.figures.axes import Scale, draw_lean_axis, draw_poles
from t2ibench.reports.figures.canvas import Canvas, left_of, row_places
from t2ibench.reports.figures.figure import WIDTH, Figure, Samples, caption_of, described
from t2ibench.reports.view import TaskView
from t2ibench.results.display import cut

_ROWS = 40
_KEY = (("hollow", "words"), ("plain", "images"), ("ax", "interval of the images"))


def draw(figure: Arrows, task: TaskView, _: Samples, width: float = WIDTH) -> Figure | None:
    """Arrows on one axis, from what leans least to what leans most."""
    found: list[tuple[str, float, float, float | None, float | None]] = []
    for row in task.result.by:
        tail, tip = (row.scores.get(name) for name in (figure.start, figure.end))
        if tail is None or tip is None:
            continue
        start, end = cut(tail.value), cut(tip.value)
        if start is not None and end is not None:
            found.append((row.name, start, end, tip.ci_low, tip.ci_high))
    if len(found) < 2:
        return None
    found.sort(key=lambda one: (one[2], one[0]))
    most = sorted(found, key=lambda one: -abs(one[2]))[:_ROWS]
    shown = [one for one in found if one in most]
    caption = caption_of(figure)
    if len(shown) < len(found):
        caption += f" The {_ROWS} of {len(found)} that lean most are drawn."
    names = [one[0] for one in shown]
    left = left_of(names, 0.38 * width)
    places, height = row_places(names, left, 16)
    canvas = Canvas(width, 0.0, described(figure))
    top = canvas.key(8, _KEY) + 14
    canvas.height = top + 16 + height + 26
    across = Scale(-1.0, 1.0, left + 14, width - 16)
    draw_poles(canvas, across, top, figure.axis)
    draw_lean_axis(canvas, across, top + 8)
    for place, (name, start, end, lowest, highest) in zip(places, shown, strict=True):
        y = top + 14 + place
        side = "high" if end > start else "low"
        canvas.label(left, y, name, left)
        if lowest is not None and highest is not None:
            low, high = max(lowest, -1.0), min(highest, 1.0)
            canvas.line(across(low), y + 5, across(high), y + 5, "ax")
            if low != lowest:
                canvas.text(across(low), y + 8, "‹", "end")
            if high != highest:
                canvas.text(across(high), y + 8, "›")
        canvas.line(across(start), y, across(end), y, f"line {side}")
        canvas.dot(across(start), y, "hollow", 2.5, f"{name}, words: {start:+.2f}")
        canvas.dot(across(end), y, side, 4, f"{name}, images: {end:+.2f}")
    rows: list[tuple[object, ...]] = [
        tuple("" if cell is None else cell for cell in one) for one in found
    ]
    head = ("row", figure.start, figure.end, f"{figure.end}_low", f"{figure.end}_high")
    return Figure(canvas, figure.title, caption, head, rows)
