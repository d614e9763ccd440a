"""The figures of a task: scatter, arrows, distribution and bars, with the numbers behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.methods.core.presentation import (
    Apart,
    Arrows,
    Bars,
    Combinations,
    Distribution,
    Figure,
    Panels,
    Scatter,
)
from t2ibench.reports.figures.apart import draw_apart
from t2ibench.reports.figures.axes import Scale, tick
from t2ibench.reports.figures.canvas import Canvas, shortened
from t2ibench.reports.figures.combinations import draw_combinations
from t2ibench.reports.figures.drawn import WIDTH, Drawn, caption_of
from t2ibench.reports.figures.panels import draw_panels
from t2ibench.reports.figures.scatter import draw_scatter, farthest
from t2ibench.reports.view import TaskView

__all__ = ["Drawn", "draw", "farthest", "swarm"]

_WIDTH, _LEFT, _RIGHT = WIDTH, 44.0, 16.0
_BARS = 10
_ROWS = 40  # arrows


def draw(figure: Figure, task: TaskView, samples: Sequence[Mapping[str, Any]]) -> Drawn | None:
    """One figure of a task."""
    match figure:
        case Scatter():
            found = draw_scatter(figure, task)
        case Arrows():
            found = _arrows(figure, task)
        case Distribution():
            found = _distribution(figure, task, samples)
        case Panels():
            found = draw_panels(figure, task)
        case Combinations():
            found = draw_combinations(figure, task)
        case Apart():
            found = draw_apart(figure, task)
        case Bars():
            found = _bars(figure, task)
    return found


def _poles(canvas: Canvas, across: Scale, top: float, low: str, high: str) -> None:
    canvas.text(across(0) - 8, top, f"◂ {low}", "end", "low")
    canvas.text(across(0) + 8, top, f"{high} ▸", "start", "high")


def _arrows(figure: Arrows, task: TaskView) -> Drawn | None:
    found: list[tuple[str, float, float, float | None, float | None]] = []
    for row in task.result.by:
        tail, tip = (row.scores.get(name) for name in (figure.start, figure.end))
        if tail is None or tip is None or tail.value is None or tip.value is None:
            continue
        found.append((row.name, tail.value, tip.value, tip.ci_low, tip.ci_high))
    if len(found) < 2:
        return None
    found.sort(key=lambda one: (one[2], one[0]))
    most = sorted(found, key=lambda one: -abs(one[2]))[:_ROWS]
    shown = [one for one in found if one in most]
    caption = caption_of(figure)
    if len(shown) < len(found):
        caption += f" The {_ROWS} of {len(found)} that lean most are drawn."
    height, left = 82.0 + 16 * len(shown), 150.0
    span = max(1.0, *(abs(value) for one in found for value in one[1:3]))
    canvas = Canvas(_WIDTH, height, f"{figure.title}. {figure.caption}")
    across = Scale(-span, span, left, _WIDTH - _RIGHT)
    for x, kind, radius, text in (
        (left, "hollow", 2.5, "words"),
        (left + 70, "plain", 4, "images"),
    ):
        canvas.dot(x + 4, 8, kind, radius)
        canvas.text(x + 14, 12, text)
    canvas.line(left + 150, 8, left + 170, 8, "ax")
    canvas.text(left + 176, 12, "interval of the images")
    _poles(canvas, across, 32, figure.axis.low, figure.axis.high)
    _bottom(canvas, across, 40)
    for number, (name, start, end, lowest, highest) in enumerate(shown):
        y = 52.0 + 16 * number
        side = "high" if end > start else "low"
        canvas.text(left - 8, y + 4, shortened(name), "end")
        if lowest is not None and highest is not None:
            low, high = max(lowest, -span), min(highest, span)
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
    return Drawn(canvas, figure.title, caption, head, rows)


def _bottom(canvas: Canvas, across: Scale, top: float) -> None:
    """Zero, and an axis at the bottom with a tick at every half or whole lean that it reaches."""
    foot = canvas.height - 22
    canvas.line(across(0), top, across(0), foot, "zero")
    canvas.line(across.begin, foot, across.end, foot)
    step = 0.5 if across.high < 1.5 else 1.0
    for number in range(-int(across.high / step), int(across.high / step) + 1):
        canvas.line(across(number * step), foot, across(number * step), foot + 4)
        canvas.text(across(number * step), canvas.height - 4, tick(number * step), "middle")


def _distribution(
    figure: Distribution, task: TaskView, samples: Sequence[Mapping[str, Any]]
) -> Drawn | None:
    groups: dict[str, list[float]] = {}
    for row in samples:
        if isinstance(row.get(figure.value), float) and math.isfinite(row[figure.value]):
            groups.setdefault(str(row.get(figure.group)), []).append(row[figure.value])
    if not groups:
        return None
    span = max(1.0, *(abs(value) for values in groups.values() for value in values))
    band = 110.0
    canvas = Canvas(_WIDTH, 24 + band * len(groups) + 22, f"{figure.title}. {figure.caption}")
    across = Scale(-span, span, _RIGHT, _WIDTH - _RIGHT)
    _poles(canvas, across, 12, figure.axis.low, figure.axis.high)
    _bottom(canvas, across, 20)
    for number, (name, values) in enumerate(groups.items()):
        top = 24 + band * number
        middle = top + 22 + (band - 26) / 2
        canvas.text(_RIGHT, top + 14, f"{shortened(name, 30)} ({len(values):,})",
                    name="strong")  # fmt: skip
        for x, y in swarm([across(value) for value in values], (band - 26) / 2):
            canvas.dot(x, middle + y, "pt", 2)
        mean = math.fsum(values) / len(values)
        canvas.dot(across(mean), middle, "mean", 6, f"{name}: mean {mean:+.2f}")
    rows: list[tuple[object, ...]] = [(n, v) for n, values in groups.items() for v in values]
    return Drawn(
        canvas,
        figure.title,
        caption_of(figure),
        (figure.group, figure.value),
        rows,
    )


def swarm(places: Sequence[float], most: float, size: float = 4.4) -> list[tuple[float, float]]:
    """Dots beside each other where they would overlap, closer where there is no room."""
    bins: dict[int, int] = {}
    counts: dict[int, int] = {}
    for place in places:
        counts[round(place / size)] = counts.get(round(place / size), 0) + 1
    step = min(size, 2 * most / max(counts.values()))
    found = []
    for place in places:
        key = round(place / size)
        number = bins.get(key, 0)
        bins[key] = number + 1
        side = (number + 1) // 2 * (-1 if number % 2 else 1)
        found.append((key * size, side * step))
    return found


def _bars(figure: Bars, task: TaskView) -> Drawn | None:
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
    canvas = Canvas(_WIDTH, height, f"{figure.title}. {figure.caption}")
    left = 110.0
    across = Scale(0, 1, left, _WIDTH - 50)
    y = 14.0
    rows: list[tuple[object, ...]] = []
    for order_value, name, shown in found:
        canvas.text(0, y, shortened(name, 56), name="strong")
        canvas.text(_WIDTH, y, f"{figure.row.upper()} {order_value:.2f}", "end")
        for label, value in sorted(shown.items(), key=lambda pair: -pair[1]):
            y += 14
            canvas.text(left - 8, y, shortened(label, 16), "end")
            canvas.box(left, y - 8, max(across(min(max(value, 0), 1)) - left, 1), 8)
            canvas.text(across(min(max(value, 0), 1)) + 6, y, f"{value:.2f}")
            rows.append((name, label, value, order_value))
        y += 24
    head = ("row", figure.prefix.rstrip(":"), "value", figure.row)
    return Drawn(canvas, figure.title, caption_of(figure), head, rows)
