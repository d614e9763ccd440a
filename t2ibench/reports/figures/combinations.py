"""Figure of combined classes, such as old women: how frequent, and how if independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.decimals import p_value
from t2ibench.methods.core.crossing_report import CrossingReport, crossing_reports
from t2ibench.methods.core.presentation import Combinations
from t2ibench.reports.figures.axes import AXIS_HEIGHT, PixelScale, draw_ticks
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import (
    DrawnFigure,
    Samples,
    canvas_of,
    finished,
    score_cells,
)
from t2ibench.reports.figures.text_size import left_of, row_places
from t2ibench.reports.html.numbers import percent
from t2ibench.reports.view import TaskView
from t2ibench.results.display import ALPHA, row_state
from t2ibench.results.schema import Row, Score

_STEP = 22.0
_VALUES, _SECOND = 116.0, 66.0  # of both columns of numbers, and of the second
_KEY = (
    ("plain", "share of the images"),
    ("hollow", "what the parts alone would make"),
    ("line null", "interval of the difference"),
)
_MOST = 12  # combinations that are drawn
_TABLE = 48
_HEAD = (
    "combination",
    "share",
    "parts_alone",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
)


@dataclass(frozen=True, slots=True)
class _Cell:
    name: str
    share: float
    alone: float
    difference: float
    excess: Score

    @property
    def look(self) -> str:
        """CSS class of the combination: the side of its difference if that is clear, else ""."""
        if row_state(self.excess) != "clear":
            return ""
        return "low" if self.difference < 0 else "high"


def draw(figure: Combinations, task: TaskView, _: Samples) -> DrawnFigure | None:
    """Return a figure of two questions' combined classes, most over-represented first, or None."""
    report = _report(task, figure.group)
    rows = [row for row in task.result.by if _is_combination(row, figure.group)]
    if report is None and not rows:
        return None
    report = report or CrossingReport(figure.group)
    cells = [cell for cell in map(_cell, rows) if cell is not None]
    cells.sort(key=lambda cell: (-cell.difference, cell.name))
    says = _tests_said(report)
    more = ""
    canvas = canvas_of(figure)
    if cells:
        most = sorted(cells, key=lambda cell: -abs(cell.difference))[:_MOST]
        _draw(canvas, [cell for cell in cells if cell in most])
        if len(most) < len(cells):
            more = f" The {_MOST} of {len(cells)} that differ most are drawn."
    else:
        canvas.height = canvas.key(14, [("", "No combination has a number.")])
        says = f"No combination has a number: {_why_none(report, rows)}. {says}"
    numbers = [
        (cell.name, cell.share, cell.alone, *score_cells(cell.excess)) for cell in cells
    ]
    return finished(figure, canvas, _HEAD, numbers, more, says, _TABLE)


def _report(task: TaskView, crossing: str) -> CrossingReport | None:
    for report in crossing_reports(task.result.details):
        if report.crossing == crossing:
            return report
    return None


def _is_combination(row: Row, crossing: str) -> bool:
    return row.group == crossing and "excess" in row.scores


def _why_none(report: CrossingReport, rows: Sequence[Row]) -> str:
    """Return a clause on why no combination of two questions' classes has a number."""
    reasons = [report.reason, *(row.scores["excess"].reason for row in rows)]
    return next(filter(None, reasons), "there are too few images")


def _cell(row: Row) -> _Cell | None:
    excess = row.scores["excess"]
    share, alone = (
        row.scores.get(name, Score()).value
        for name in ("joint_share", "independent_share")
    )
    if share is None or alone is None or excess.value is None:
        return None
    return _Cell(row.name, share, alone, excess.value, excess)


def _draw(canvas: Canvas, cells: Sequence[_Cell]) -> None:
    names = [cell.name for cell in cells]
    width = canvas.width
    left = left_of(names, 0.38 * width)
    places, height = row_places(names, left, _STEP)
    top = canvas.key(8, _KEY) + 16
    foot = top + height
    canvas.height = foot + AXIS_HEIGHT
    ends = [cell.share for cell in cells] + [cell.alone for cell in cells]
    ends += [cell.alone + (cell.excess.ci_high or 0.0) for cell in cells]
    across = PixelScale(0.0, max(*ends, 0.02), left + 8, width - _VALUES).to_ticks()
    canvas.text(width - _SECOND, top - 4, "images", "end", "strong")
    canvas.text(width, top - 4, "parts alone", "end")
    canvas.line(across.begin, top, across.begin, foot, "zero")
    draw_ticks(canvas, across, foot, name="share of the images", per_cent=True)
    for cell, place in zip(cells, places, strict=True):
        y = top + place
        canvas.label(left, y, cell.name, left)
        _mark(canvas, cell, across, y)
        canvas.text(
            width - _SECOND, y + 4, percent(cell.share), "end", cell.look or "strong"
        )
        canvas.text(width, y + 4, percent(cell.alone), "end")


def _mark(canvas: Canvas, cell: _Cell, across: PixelScale, y: float) -> None:
    def place(share: float) -> float:
        return across(min(max(share, 0.0), across.high))

    tip = f"{cell.name}: {percent(cell.share)}, its parts alone {percent(cell.alone)}"
    canvas.line(place(cell.alone), y, place(cell.share), y)
    low = cell.excess.ci_low
    high = cell.excess.ci_high
    if low is not None and high is not None:
        ends = place(cell.alone + low), place(cell.alone + high)
        canvas.line(ends[0], y, ends[1], y, f"line {cell.look or 'null'}")
    canvas.dot(place(cell.alone), y, "hollow", 3.5, tip)
    canvas.dot(place(cell.share), y, cell.look or "plain", 4.5, tip)


def _tests_said(report: CrossingReport) -> str:
    names_by_verdict: dict[str, list[str]] = {}
    for test in report.tests:
        p = test.p_holm
        verdict = "Not tested"
        if p is not None:
            verdict = (
                "Clearly not independent"
                if p < ALPHA
                else "No clear sign that they go together"
            )
        p_text = "" if p is None else f" (p (Holm) {p_value(p)})"
        names_by_verdict.setdefault(verdict, []).append(f"{test.of}{p_text}")
    return " ".join(
        f"{verdict}: {', '.join(names)}." for verdict, names in names_by_verdict.items()
    )
