"""The forest plot of a run as a figure: every test on images on one axis, for slides and papers."""

from __future__ import annotations

from t2ibench.reports.figures.canvas import SIZE, Canvas, shortened
from t2ibench.reports.figures.draw import Drawn
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.view import Mark, RunView, TaskView, poles

_NAMES, _AXIS, _POLES, _VALUES = 170.0, 260.0, 116.0, 130.0  # CSS pixels of each column
_ROW, _FAMILY, _TOP = 20.0, 26.0, 22.0
_BEGIN = _NAMES + _POLES
_HEAD = ("task", "family", "lean", "ci_low", "ci_high", "fair_low", "fair_high", "state")


def forest(run: RunView) -> Drawn | None:
    """Every test on images, by family, as on the page.

    Args:
        run: The run.

    Returns:
        The figure and its numbers; None where no test has a number.
    """
    if not any(task.mark.value is not None for task in run.tasks):
        return None
    height = _TOP + sum(_FAMILY + _ROW * len(family.tasks) for family in run.families) + 24
    title = "Which way each test leans"
    canvas = Canvas(_BEGIN + _AXIS + _POLES + _VALUES, height, f"{title}: {run.name}.")
    y = _TOP
    for family in run.families:
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
    for family in run.families:
        y += _FAMILY
        for task in family.tasks:
            _row(canvas, task, y)
            mark = task.mark
            numbers = (mark.value, mark.low, mark.high, mark.fair_low, mark.fair_high)
            cells = ["" if number is None else f"{number:.4f}" for number in numbers]
            rows.append((task.id, family.name, *cells, mark.state))
            y += _ROW
    caption = "Filled: clear. Hollow: none found; dashed: cannot tell. Grey: a fair model."
    return Drawn(canvas, title, caption, _HEAD, rows)


def _at(value: float) -> float:
    return _BEGIN + (min(max(value, -1.0), 1.0) + 1) / 2 * _AXIS


def _band(canvas: Canvas, mark: Mark, y: float) -> None:
    if mark.value is not None and mark.fair_low is not None and mark.fair_high is not None:
        left, right = _at(mark.fair_low), _at(mark.fair_high)
        canvas.box(left, y, right - left, _ROW, "band")


def _row(canvas: Canvas, task: TaskView, y: float) -> None:
    mark, axis, middle = task.mark, poles(task), y + _ROW / 2
    base = middle + SIZE / 3
    clear = mark.state == "clear"
    side = mark.side if clear and mark.side is not None else ""
    canvas.text(0, base, shortened(task.name, 27))
    canvas.text(_BEGIN - 10, base, shortened(axis.low, 18), "end", side if side == "low" else "")
    right = _BEGIN + _AXIS + 10
    told = side if side == "high" else "strong" if clear and not side else ""
    canvas.text(right, base, shortened(axis.high, 18), "start", told)
    end = right + _POLES + _VALUES - 10
    if mark.value is None:
        words = "cannot tell" if task.result.inconclusive else "no score"
        canvas.text(end, base, words, "end")
        return
    if mark.low is not None and mark.high is not None:
        name = {"clear": f"line {side}".strip(), "not_clear": "line null"}.get(mark.state)
        canvas.line(_at(mark.low), middle, _at(mark.high), middle, name or "line unsure")
    canvas.dot(_at(mark.value), middle, (side or "plain") if clear else "hollow", 4.5, task.name)
    shown = plain if task.scale in {"rms lean", "magnitude"} else signed
    words = shown(mark.value)
    if mark.low is not None and mark.high is not None:
        words += f"  ({shown(mark.low)} to {shown(mark.high)})"
    canvas.text(end, base, words, "end", "strong" if clear else "")
