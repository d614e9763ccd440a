"""Figure of each row as an arrow from one lean to another, such as from words to images."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.presentation import Arrows, Axis
from t2ibench.reports.figures.axes import (
    AXIS_HEIGHT,
    around_zero,
    draw_lean_axis,
    draw_poles,
    rounded,
)
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import DrawnFigure, Samples, canvas_of, finished
from t2ibench.reports.figures.text_size import left_of, row_places
from t2ibench.reports.view import TaskView
from t2ibench.results.display import cut

_ROWS = 40
# name, tail, head, head's interval
Arrow = tuple[str, float, float, float | None, float | None]


def draw(figure: Arrows, task: TaskView, _: Samples) -> DrawnFigure | None:
    """Return a figure with an arrow for each row, sorted by its head; None if fewer than two."""
    arrows: list[Arrow] = []
    for row in task.result.by:
        tail, tip = (row.scores.get(name) for name in (figure.start, figure.end))
        if tail is None or tip is None:
            continue
        start = cut(tail.value)
        end = cut(tip.value)
        if start is not None and end is not None:
            arrows.append((row.name, start, end, tip.ci_low, tip.ci_high))
    if len(arrows) < 2:
        return None
    arrows.sort(key=lambda arrow: (arrow[2], arrow[0]))
    most = sorted(arrows, key=lambda arrow: -abs(arrow[2]))[:_ROWS]
    shown = [arrow for arrow in arrows if arrow in most]
    more = (
        f" The {_ROWS} of {len(arrows)} that lean most are drawn."
        if shown != arrows
        else ""
    )
    canvas = canvas_of(figure)
    of_head = ("ax", f"interval of the {figure.head}")
    key = (("hollow", figure.tail), ("plain", figure.head), of_head)
    draw_arrows(canvas, shown, figure.axis, key)
    rows = [tuple("" if cell is None else cell for cell in arrow) for arrow in arrows]
    head = ("row", figure.start, figure.end, f"{figure.end}_low", f"{figure.end}_high")
    return finished(figure, canvas, head, rows, more)


def draw_arrows(
    canvas: Canvas,
    rows: Sequence[Arrow],
    axis: Axis,
    key: Sequence[tuple[str, str]],
    least: float = 1.0,
    name_of_axis: str = "lean",
) -> None:
    """Draw an arrow for each row on one axis, which reaches from −`least` to `least` or further."""
    names = [row[0] for row in rows]
    left = left_of(names, 0.38 * canvas.width)
    places, height = row_places(names, left, 16)
    top = canvas.key(8, key) + 14
    canvas.height = top + 16 + height + AXIS_HEIGHT + 4
    values = [value for row in rows for value in row[1:3]]
    across = around_zero(values, left + 14, canvas.width - 16, least)
    draw_poles(canvas, across, top, axis)
    draw_lean_axis(canvas, across, top + 8, name_of_axis)
    for place, (name, start, end, lowest, highest) in zip(places, rows, strict=True):
        y = top + 14 + place
        side = "high" if end > start else "low"
        canvas.label(left, y, name, left)
        if lowest is not None and highest is not None:
            low = max(lowest, -1.0)
            high = min(highest, 1.0)
            canvas.line(across(low), y + 5, across(high), y + 5, "ax")
            if low != lowest:
                canvas.text(across(low), y + 8, "‹", "end")
            if high != highest:
                canvas.text(across(high), y + 8, "›")
        canvas.line(across(start), y, across(end), y, f"line {side}")
        canvas.dot(
            across(start), y, "hollow", 2.5, f"{name}, {key[0][1]}: {rounded(start)}"
        )
        canvas.dot(across(end), y, side, 4, f"{name}, {key[1][1]}: {rounded(end)}")
