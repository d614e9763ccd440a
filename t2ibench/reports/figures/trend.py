"""The trend of several runs in order as a figure: a small panel for each test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.figures.axes import PixelScale, tick
from t2ibench.reports.figures.canvas import SQUARE, Canvas
from t2ibench.reports.figures.figure import DrawnFigure
from t2ibench.reports.figures.text_size import LINE, shortened
from t2ibench.reports.run_names import short_names
from t2ibench.results.display import IntervalMark
from t2ibench.results.several_runs import RunsComparison
from t2ibench.results.states import STATES
from t2ibench.results.task_across_runs import RunResult, TaskAcrossRuns

_COLUMNS = 3
_PANEL = 250.0  # width of a panel, in CSS pixels, with the room to the left of its axis
_LEFT = 34.0  # of a panel, for the numbers of its axis
_GAP = 22.0
_HEIGHT = 110.0  # of the axis
_HEAD = 2 * LINE + 16
_FOOT = 30.0
_LETTERS = 34  # of a title
_NAME = 12  # letters of a run's name below a panel
_POINTS_OF_LINE = 96
_TABLE_HEAD = (
    "task",
    "run",
    "position",
    "value",
    "ci_low",
    "ci_high",
    "state",
    "compared",
    "slope",
    "slope_low",
    "slope_high",
    "p_trend_holm",
)
_KEY = (
    ("plain", STATES["clear"].word),
    ("hollow", STATES["not_clear"].word),
    (SQUARE, STATES["none_above"].word),
    ("line null", "interval"),
    ("line unsure", f"{STATES['cannot_tell'].word}, or not compared"),
    ("line", "a trend beyond chance"),
    ("eq", "the line of the others"),
)


def trend_figure(
    comparison: RunsComparison, axes: Mapping[str, Axis] | None = None
) -> DrawnFigure | None:
    """Draw each test over runs in order; None where no test can be compared.

    Args:
        comparison: The comparison of runs in an order.
        axes: By task, what both ends of its leans mean.
    """
    # What was measured in different ways would be compared by eye.
    tests = [test for test in comparison.tasks if test.n_compared > 1]
    if not tests:
        return None
    columns = min(_COLUMNS, len(tests))
    width = columns * _PANEL + (columns - 1) * _GAP
    title = "How each test changes over the runs"
    canvas = Canvas(width, 0.0, f"{title}: {len(comparison.runs)} runs in order.")
    names = short_names([run.name for run in comparison.runs], _NAME)
    panel_height = _HEAD + _HEIGHT + _FOOT + _GAP
    for number, test in enumerate(tests):
        row, column = divmod(number, columns)
        panel = _Panel(
            canvas,
            comparison,
            left=column * (_PANEL + _GAP),
            top=row * panel_height,
        )
        panel.draw(test, names, (axes or {}).get(test.task))
    rows_of_panels = math.ceil(len(tests) / columns)
    canvas.height = canvas.key(rows_of_panels * panel_height + 4, _KEY)
    return DrawnFigure(
        canvas,
        title,
        caption="A disc is a test in one run, with its interval; a line is fitted by weighted "
        "least squares, of an rms lean to its mean squares.",
        head=_TABLE_HEAD,
        rows=[cells for test in tests for cells in _rows(comparison, test)],
    )


class _Panel:
    """A panel of the figure: one test over the runs.

    Attributes:
        canvas: What is drawn on.
        comparison: The comparison of the runs.
        left: Left edge of the panel.
        top: Its top edge.
    """

    def __init__(
        self, canvas: Canvas, comparison: RunsComparison, left: float, top: float
    ) -> None:
        self.canvas = canvas
        self.comparison = comparison
        self.left = left
        self.top = top
        positions = [run.position for run in comparison.runs]
        span = positions[-1] - positions[0] or 1.0
        self.across = PixelScale(
            positions[0] - 0.06 * span,
            positions[-1] + 0.06 * span,
            left + _LEFT,
            left + _PANEL,
        )
        self.bottom = top + _HEAD + _HEIGHT

    def draw(
        self, test: TaskAcrossRuns, names: Sequence[str], axis: Axis | None
    ) -> None:
        """Draw the title, the axes, the line and the marks of a test."""
        marks = [run.mark for run in test.runs]
        shown = [mark.on_axis for mark in marks if mark is not None]
        signed = any(mark.scale.signed for mark in shown)
        low = -1.0 if signed else 0.0
        up = PixelScale(low, 1.0, self.bottom, self.top + _HEAD)
        self._axes(test, up, names, axis if signed else None)
        self._line(test, up)
        for run, place in zip(test.runs, self.comparison.runs, strict=True):
            mark = run.mark
            if mark is not None:
                self._mark(run, mark.on_axis, self.across(place.position), up)

    def _axes(
        self,
        test: TaskAcrossRuns,
        up: PixelScale,
        names: Sequence[str],
        axis: Axis | None,
    ) -> None:
        canvas = self.canvas
        begin = self.across.begin
        title = shortened(test.task, _LETTERS)
        canvas.text(self.left, self.top + LINE, title, name="strong")
        number = test.first_result.headline.scale
        what = "rms lean" if number == "mean_square" else "lean"
        if axis is not None:
            what = f"up: {people(axis.high, GROUP)}; down: {people(axis.low, GROUP)}"
        canvas.text(self.left, self.top + 2 * LINE, shortened(what, _LETTERS + 8))
        for value in (up.low, 0.0, 1.0) if up.low else (0.0, 0.5, 1.0):
            canvas.line(begin - 4, up(value), begin, up(value))
            canvas.text(begin - 7, up(value) + 4, tick(value), "end")
        canvas.line(begin, up.begin, begin, up.end)
        canvas.line(begin, up(0.0), self.across.end, up(0.0), "zero")
        runs = self.comparison.runs
        ends = ((0, "start", begin), (len(runs) - 1, "end", self.across.end))
        for number_of_run, anchor, x in ends:
            canvas.text(x, self.bottom + 16, names[number_of_run], anchor)
        for run in runs:
            x = self.across(run.position)
            canvas.line(x, self.bottom, x, self.bottom + 4)

    def _line(self, test: TaskAcrossRuns, up: PixelScale) -> None:
        """Draw the regression line, which is curved where it is one of mean squares."""
        trend = test.trend
        if trend is None:
            return
        begin = trend.positions[0]
        span = trend.positions[-1] - begin
        points = []
        for step in range(_POINTS_OF_LINE + 1):
            share = step / _POINTS_OF_LINE
            value = trend.at_first + share * (trend.at_last - trend.at_first)
            if trend.is_square:
                value = math.sqrt(max(value, 0.0))
            inside = min(max(value, up.low), up.high)
            points.append((self.across(begin + share * span), up(inside)))
        clear = trend.p_holm is not None and trend.p_holm < 1 - test.level
        self.canvas.path(points, "line" if clear else "eq")

    def _mark(
        self, run: RunResult, mark: IntervalMark, x: float, up: PixelScale
    ) -> None:
        if mark.value is None:
            self.canvas.text(x, self.bottom - 4, "–", "middle")
            return
        unsure = STATES[mark.state].unsure or bool(run.excluded)
        if mark.low is not None and mark.high is not None:
            low = max(mark.low, up.low)
            name = "line unsure" if unsure else "line null"
            self.canvas.line(x, up(low), x, up(mark.high), name)
        kind = "plain" if mark.state == "clear" and not run.excluded else "hollow"
        value = min(max(mark.value, up.low), up.high)
        if mark.state == "none_above" and not run.excluded:
            self.canvas.square(x, up(value))
        else:
            self.canvas.dot(x, up(value), kind, 4.0, run.run)


def _rows(
    comparison: RunsComparison, test: TaskAcrossRuns
) -> Sequence[tuple[object, ...]]:
    """Return the numbers of a test, one row a run."""
    trend = test.trend
    slope: tuple[object, ...] = ("", "", "", "")
    if trend is not None:
        numbers = (trend.slope.value, trend.slope.low, trend.slope.high, trend.p_holm)
        slope = tuple("" if number is None else number for number in numbers)
    rows: list[tuple[object, ...]] = []
    for run, place in zip(test.runs, comparison.runs, strict=True):
        mark = run.mark
        if mark is None:
            continue
        numbers_of_run = (mark.value, mark.low, mark.high)
        cells = ["" if number is None else f"{number:.4f}" for number in numbers_of_run]
        compared = "no" if run.excluded else "yes"
        rows.append(
            (test.task, run.run, place.position, *cells, mark.state, compared, *slope)
        )
    return rows
