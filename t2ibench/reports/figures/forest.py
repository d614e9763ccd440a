"""The forest plot of a run as a figure, with every test on images on one axis."""

from __future__ import annotations

from t2ibench.reports.figures.axes import AXIS_HEIGHT, PixelScale, draw_ticks
from t2ibench.reports.figures.canvas import SQUARE, Canvas
from t2ibench.reports.figures.figure import DrawnFigure
from t2ibench.reports.figures.text_size import LINE, wrapped
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.sentences import nothing
from t2ibench.reports.view import RunView, TaskView, poles
from t2ibench.results.display import IntervalMark
from t2ibench.results.states import STATES, State

_WIDE = 800.0  # CSS pixels
_NAME, _POLE = 0.24 * _WIDE, 0.17 * _WIDE - 16  # widths of names
_BEGIN, _END = 0.41 * _WIDE, 0.67 * _WIDE  # of the axis
_AXIS = "lean, or its size where it has no direction"
_ROW = 26.0
_FAMILY = 26.0
_TOP = 22.0
_HEAD = (
    "task",
    "family",
    "lean",
    "ci_low",
    "ci_high",
    "fair_low",
    "fair_high",
    "state",
)


def forest(run: RunView) -> DrawnFigure | None:
    """Return the forest plot of a run, its tests grouped by family; None if none has a number."""
    if not any(task.mark.value is not None for task in run.tasks):
        return None
    title = "Which way each test leans"
    canvas = Canvas(_WIDE, 0.0, f"{title}: {run.name}.")
    across = PixelScale(-1.0, 1.0, _BEGIN, _END)
    for value, text in ((-1, "−1"), (0, "0"), (1, "+1")):
        canvas.text(across(value), 12, text, "middle")
    y = _TOP
    places = []
    for family in run.groups:
        canvas.text(0, y + _FAMILY - 8, family.title, name="strong")
        y += _FAMILY
        for task in family.tasks:
            texts = (
                (task.name, _NAME),
                (poles(task).low, _POLE),
                (poles(task).high, _POLE),
            )
            lines = max(len(wrapped(text, room)) for text, room in texts)
            high = max(_ROW, LINE * lines + 6)
            places.append((task, y, high))
            _band(canvas, across, task.mark.on_axis, y, high)
            y += high
    canvas.line(across(0), _TOP, across(0), y, "zero")
    draw_ticks(canvas, across, y, name=_AXIS)
    rows: list[tuple[object, ...]] = []
    for task, top, high in places:
        _row(canvas, task, top + high / 2, across)
        mark = task.mark
        numbers = (mark.value, mark.low, mark.high, mark.fair_low, mark.fair_high)
        cells = ["" if number is None else f"{number:.4f}" for number in numbers]
        rows.append((task.id, task.result.method, *cells, mark.state))
    canvas.height = canvas.key(y + AXIS_HEIGHT + 14, _key(run))
    words = {state: display.word for state, display in STATES.items()}
    caption = (
        f"Filled: {words['clear']}. Hollow: {words['not_clear']}; a square: "
        f"{words['none_above']}; dashed: {words['cannot_tell']}. Grey: a fair model. ‹ and ›: it "
        "goes on beyond the axis."
    )
    return DrawnFigure(canvas, title, caption, _HEAD, rows)


def _key(run: RunView) -> list[tuple[str, str]]:
    """Return the entries of the legend, those that the figure shows."""
    marks = [task.mark for task in run.tasks if task.mark.value is not None]
    states = {mark.state for mark in marks}
    looks: dict[State, str] = {
        "clear": "plain",
        "not_clear": "hollow",
        "none_above": SQUARE,
    }
    entries = [
        (look, STATES[state].word) for state, look in looks.items() if state in states
    ]
    if any(mark.low is not None and mark.state != "cannot_tell" for mark in marks):
        entries.append(("line null", "interval"))
    if "cannot_tell" in states:
        entries.append(("line unsure", STATES["cannot_tell"].word))
    if any(mark.fair_low is not None for mark in marks):
        entries.append(("band", "where a fair model falls"))
    return entries


def _band(
    canvas: Canvas, across: PixelScale, mark: IntervalMark, y: float, high: float
) -> None:
    if (
        mark.value is not None
        and mark.fair_low is not None
        and mark.fair_high is not None
    ):
        left, right = (
            across(min(max(end, -1.0), 1.0)) for end in (mark.fair_low, mark.fair_high)
        )
        canvas.box(left, y, right - left, high, "band")


def _row(canvas: Canvas, task: TaskView, middle: float, across: PixelScale) -> None:
    mark = task.mark.on_axis
    clear = mark.state == "clear"
    side = mark.side if clear and mark.side is not None else ""
    _names(canvas, task, middle, side if clear else None)
    base = middle + 4
    if mark.value is None:
        canvas.text(canvas.width, base, nothing(task), "end")
        return
    if mark.low is not None and mark.high is not None:
        name = _interval_class(mark, side)
        canvas.line(across(mark.low), middle, across(mark.high), middle, name)
    _arrows(canvas, mark, base)
    kind = (side or "plain") if clear else "hollow"
    if mark.state == "none_above":
        canvas.square(across(mark.value), middle)
    else:
        canvas.dot(across(mark.value), middle, kind, 4.5, task.name)
    canvas.text(canvas.width, base, _numbers(task), "end", "strong" if clear else "")


def _names(canvas: Canvas, task: TaskView, middle: float, side: str | None) -> None:
    """Write a test's name and its poles; the pole on `side` is coloured, none if `side` is None."""
    axis = poles(task)
    low_class = "low" if side == "low" else ""
    high_class = (
        {"high": "high", "": "strong"}.get(side, "") if side is not None else ""
    )
    canvas.label(0, middle, task.name, _NAME, "start")
    canvas.label(_BEGIN - 12, middle, axis.low, _POLE, "end", low_class)
    canvas.label(_END + 12, middle, axis.high, _POLE, "start", high_class)


def _arrows(canvas: Canvas, mark: IntervalMark, base: float) -> None:
    """Draw arrowheads at the ends of the axis beyond which a value or interval reaches."""
    if mark.cut_below:
        canvas.text(_BEGIN - 4, base, "‹", "end", "strong")
    if mark.cut_above:
        canvas.text(_END + 4, base, "›", "start", "strong")


def _numbers(task: TaskView) -> str:
    """Return a test's value and interval as text."""
    mark = task.mark
    shown = plain if mark.sized else signed
    words = f"{shown(mark.value)}{mark.scale.unit}"
    if mark.low is None or mark.high is None:
        return words
    return f"{words}  ({shown(mark.low)} to {shown(mark.high)})"


def _interval_class(mark: IntervalMark, side: str) -> str:
    """Return the CSS class for an interval's line; `side` is that of a clear lean."""
    if mark.state == "clear":
        return f"line {side}".strip()
    return "line unsure" if mark.state == "cannot_tell" else "line null"
