"""The forest plot of a run as a figure: every test on images on one axis, for slides and papers."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.reports.figures.axes import Scale, draw_ticks
from t2ibench.reports.figures.canvas import LINE, Canvas, wrapped
from t2ibench.reports.figures.figure import Figure
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.view import RunView, TaskView, poles
from t2ibench.results.display import IntervalMark

WIDE = 800.0  # CSS pixels
_NARROW = 560.0  # where a test's name stands above its axis
_ROW, _FAMILY, _TOP = 26.0, 26.0, 22.0
_HEAD = ("task", "family", "lean", "ci_low", "ci_high", "fair_low", "fair_high", "state")
_KEY = (("plain", "clear"), ("hollow", "not clear, or none above 0.24"), ("line null", "interval"),
        ("line unsure", "cannot tell"), ("band", "where a fair model falls"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the parts of a row stand; `name` and `pole` are widths."""

    name: float
    begin: float
    end: float
    pole: float
    below: bool  # whether the axis stands below the name


def _columns(width: float) -> _Columns:
    if width < _NARROW:
        return _Columns(width - 140, 0.3 * width, 0.7 * width, 0.3 * width - 12, below=True)
    return _Columns(0.24 * width, 0.41 * width, 0.67 * width, 0.17 * width - 16, below=False)


def forest(run: RunView, width: float = WIDE) -> Figure | None:
    """Every test on images, by family, as on the page."""
    if not any(task.mark.value is not None for task in run.tasks):
        return None
    title = "Which way each test leans"
    canvas, at = Canvas(width, 0.0, f"{title}: {run.name}."), _columns(width)
    across = Scale(-1.0, 1.0, at.begin, at.end)
    for value, text in ((-1, "−1"), (0, "0"), (1, "+1")):
        canvas.text(across(value), 12, text, "middle")
    y, places = _TOP, []
    for family in run.groups:
        canvas.text(0, y + _FAMILY - 8, family.title, name="strong")
        y += _FAMILY
        for task in family.tasks:
            name = LINE * len(wrapped(task.name, at.name)) if at.below else 0.0
            sides = (poles(task).low, poles(task).high)
            lines = [len(wrapped(side, at.pole)) for side in sides]
            lines += [] if at.below else [len(wrapped(task.name, at.name))]
            high = max(_ROW - 6 * at.below, LINE * max(lines) + 6)
            places.append((task, y, name, high))
            _band(canvas, across, task.mark, y + name, high)
            if at.below:  # names stand between the rows
                canvas.line(across(0), y + name, across(0), y + name + high, "zero")
            y += name + high + (6 if at.below else 0)
    if not at.below:
        canvas.line(across(0), _TOP, across(0), y, "zero")
    draw_ticks(canvas, across, y)
    rows: list[tuple[object, ...]] = []
    for task, top, name, high in places:
        _row(canvas, task, (top, top + name, high), at, across)
        mark = task.mark
        numbers = (mark.value, mark.low, mark.high, mark.fair_low, mark.fair_high)
        cells = ["" if number is None else f"{number:.4f}" for number in numbers]
        rows.append((task.id, task.result.method, *cells, mark.state))
    canvas.height = canvas.key(y + 36, _KEY)
    caption = (
        "Filled: clear. Hollow: not clear; dashed: cannot tell. Grey: a fair model. ‹ and ›: it "
        "goes on beyond the axis."
    )
    return Figure(canvas, title, caption, _HEAD, rows)


def _band(canvas: Canvas, across: Scale, mark: IntervalMark, y: float, high: float) -> None:
    if mark.value is not None and mark.fair_low is not None and mark.fair_high is not None:
        left, right = (across(min(max(x, -1.0), 1.0)) for x in (mark.fair_low, mark.fair_high))
        canvas.box(left, y, right - left, high, "band")


def _row(
    canvas: Canvas, task: TaskView, place: tuple[float, float, float], at: _Columns, across: Scale
) -> None:
    """A test whose name stands at the first height, and its axis at the second."""
    mark, axis = task.mark, poles(task)
    top, line, high = place
    middle = line + high / 2
    clear = mark.state == "clear"
    side = mark.side if clear and mark.side is not None else ""
    name_y = top + LINE * len(wrapped(task.name, at.name)) / 2 if at.below else middle
    canvas.label(0, name_y, task.name, at.name, "start")
    canvas.label(at.begin - 12, middle, axis.low, at.pole, "end", side if side == "low" else "")
    told = side if side == "high" else "strong" if clear and not side else ""
    canvas.label(at.end + 12, middle, axis.high, at.pole, "start", told)
    base = (name_y if at.below else middle) + 4
    if mark.value is None:
        words = "cannot tell" if task.result.inconclusive else "no score"
        canvas.text(canvas.width, base, words, "end")
        return
    if mark.low is not None and mark.high is not None:
        name = {"clear": f"line {side}".strip(), "cannot_tell": "line unsure"}.get(mark.state)
        canvas.line(across(mark.low), middle, across(mark.high), middle, name or "line null")
    ends = [x for x in (mark.low, mark.value, mark.high) if x is not None]
    for beyond, x, sign, anchor in (
        (mark.cut and min(ends) <= -1, at.begin - 4, "‹", "end"),
        (mark.cut and max(ends) >= 1, at.end + 4, "›", "start"),
    ):
        if beyond:
            canvas.text(x, middle + 4, sign, anchor, "strong")
    kind = (side or "plain") if clear else "hollow"
    canvas.dot(across(mark.value), middle, kind, 4.5, task.name)
    shown = plain if mark.sized else signed
    words = shown(mark.value)
    if mark.low is not None and mark.high is not None:
        words += f"  ({shown(mark.low)} to {shown(mark.high)})"
    canvas.text(canvas.width, base, words, "end", "strong" if clear else "")
