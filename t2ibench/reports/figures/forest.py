"""The forest plot of a run as a figure: every test on images on one axis, for slides and papers."""

from __future__ import annotations

import textwrap

from t2ibench.reports.figures.canvas import SIZE, Canvas, shortened
from t2ibench.reports.figures.figure import Figure
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.view import RunView, TaskView, poles
from t2ibench.results.display import IntervalMark

_NAMES, _AXIS, _POLES, _VALUES = 230.0, 260.0, 150.0, 130.0  # CSS pixels of each column
_ROW, _FAMILY, _TOP = 26.0, 26.0, 22.0
_LETTERS = 25  # of a line of a pole
_BEGIN = _NAMES + _POLES
_HEAD = ("task", "family", "lean", "ci_low", "ci_high", "fair_low", "fair_high", "state")


def forest(run: RunView) -> Figure | None:
    """Every test on images, by family, as on the page."""
    if not any(task.mark.value is not None for task in run.tasks):
        return None
    height = _TOP + sum(_FAMILY + _ROW * len(family.tasks) for family in run.groups) + 24
    title = "Which way each test leans"
    canvas = Canvas(_BEGIN + _AXIS + _POLES + _VALUES, height, f"{title}: {run.name}.")
    y = _TOP
    for family in run.groups:
        canvas.text(0, y + _FAMILY - 8, family.title, name="strong")
        y += _FAMILY
        for task in family.tasks:
            _band(canvas, task.mark, y)
            y += _ROW
    for value, text in ((-1, "−1"), (0, "0"), (1, "+1")):
        canvas.text(_at(value), 12, text, "middle")
        canvas.text(_at(value), y + 18, text, "middle")
    canvas.line(_at(0), _TOP, _at(0), y, "zero")
    y = _TOP
    rows: list[tuple[object, ...]] = []
    for family in run.groups:
        y += _FAMILY
        for task in family.tasks:
            _row(canvas, task, y)
            mark = task.mark
            numbers = (mark.value, mark.low, mark.high, mark.fair_low, mark.fair_high)
            cells = ["" if number is None else f"{number:.4f}" for number in numbers]
            rows.append((task.id, task.result.method, *cells, mark.state))
            y += _ROW
    caption = (
        "Filled: clear. Hollow: not clear; dashed: cannot tell. Grey: a fair model. ‹ and ›: it "
        "goes on beyond the axis."
    )
    return Figure(canvas, title, caption, _HEAD, rows)


def _at(value: float) -> float:
    return _BEGIN + (min(max(value, -1.0), 1.0) + 1) / 2 * _AXIS


def _band(canvas: Canvas, mark: IntervalMark, y: float) -> None:
    if mark.value is not None and mark.fair_low is not None and mark.fair_high is not None:
        left, right = _at(mark.fair_low), _at(mark.fair_high)
        canvas.box(left, y, right - left, _ROW, "band")


def _pole(canvas: Canvas, x: float, base: float, text: str, anchor: str, style: str) -> None:
    """The words at an end, in two lines where one is too short."""
    lines = textwrap.wrap(text, _LETTERS)[:2] or [""]
    for number, line in enumerate(lines):
        up = (number - (len(lines) - 1) / 2) * (SIZE - 1)
        canvas.text(x, base + up, line, anchor, style)


def _row(canvas: Canvas, task: TaskView, y: float) -> None:
    mark, axis, middle = task.mark, poles(task), y + _ROW / 2
    base = middle + SIZE / 3
    clear = mark.state == "clear"
    side = mark.side if clear and mark.side is not None else ""
    canvas.text(0, base, shortened(task.name, 38))
    _pole(canvas, _BEGIN - 10, base, axis.low, "end", side if side == "low" else "")
    right = _BEGIN + _AXIS + 10
    told = side if side == "high" else "strong" if clear and not side else ""
    _pole(canvas, right, base, axis.high, "start", told)
    end = right + _POLES + _VALUES - 10
    if mark.value is None:
        words = "cannot tell" if task.result.inconclusive else "no score"
        canvas.text(end, base, words, "end")
        return
    if mark.low is not None and mark.high is not None:
        name = {"clear": f"line {side}".strip(), "cannot_tell": "line unsure"}.get(mark.state)
        canvas.line(_at(mark.low), middle, _at(mark.high), middle, name or "line null")
    ends = [x for x in (mark.low, mark.value, mark.high) if x is not None]
    for beyond, place, sign, anchor in (
        (mark.cut and min(ends) <= -1, _BEGIN - 4, "‹", "end"),
        (mark.cut and max(ends) >= 1, _BEGIN + _AXIS + 4, "›", "start"),
    ):
        if beyond:
            canvas.text(place, base, sign, anchor, "strong")
    canvas.dot(_at(mark.value), middle, (side or "plain") if clear else "hollow", 4.5, task.name)
    shown = plain if mark.sized else signed
    words = shown(mark.value)
    if mark.low is not None and mark.high is not None:
        words += f"  ({shown(mark.low)} to {shown(mark.high)})"
    canvas.text(end, base, words, "end", "strong" if clear else "")
