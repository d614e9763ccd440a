"""Combinations of attributes: how frequent each is, and how frequent its parts would make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from t2ibench.methods.core.crossing_report import CrossingReport, crossing_reports
from t2ibench.methods.core.presentation import Combinations
from t2ibench.reports.cells import format_p, level_name
from t2ibench.reports.figures.axes import Scale, draw_ticks
from t2ibench.reports.figures.canvas import LETTER, LINE, Canvas, shortened, wrapped
from t2ibench.reports.figures.figure import (
    WIDTH,
    Figure,
    FigureTable,
    Samples,
    canvas_of,
    finished,
    first_rows,
    score_cells,
)
from t2ibench.reports.html.numbers import between, percent
from t2ibench.reports.view import TaskView
from t2ibench.results.display import ALPHA, row_state
from t2ibench.results.schema import Row, Score

_BESIDE = 24  # letters of a name that stands beside its mark; longer ones stand above
_VALUES, _SECOND = 116.0, 66.0  # of both columns of numbers, and of the second
_KEY = (("plain", "share of the images"), ("hollow", "what the parts alone would make"),
        ("line null", "interval of the difference"))  # fmt: skip
_MOST = 12  # combinations that are drawn
_TABLE = 48
_HEAD = ("combination", "share", "parts_alone", "difference", "low", "high", "p", "p_holm")


@dataclass(frozen=True, slots=True)
class _Cell:
    name: str
    share: float
    alone: float
    excess: Score

    @property
    def difference(self) -> float:
        return self.excess.value or 0.0

    @property
    def clear(self) -> bool:
        return row_state(self.excess) == "clear"

    @property
    def side(self) -> Literal["low", "high"]:
        return "low" if self.difference < 0 else "high"


def draw(figure: Combinations, task: TaskView, _: Samples) -> Figure | None:
    """The combinations of one crossing, those above their parts first."""
    reports = crossing_reports(task.result.details)
    report = next((one for one in reports if one.crossing == figure.group), None)
    rows = [row for row in task.result.by if row.group == figure.group and "excess" in row.scores]
    if report is None and not rows:
        return None
    cells = sorted(
        (cell for cell in map(_cell, rows) if cell is not None),
        key=lambda cell: (-cell.difference, cell.name),
    )
    tested = [
        [test.of, format_p(test.p), format_p(test.p_holm), _outcome(test.p_holm)]
        for test in (report.tests if report else ())
    ]
    head: tuple[str, ...] = ("Test", "p", "p (Holm)", "In words")
    tests = (FigureTable("Do they go together?", head, tested),) if tested else ()
    if not cells:
        reason = report.reason if report is not None else None
        reason = reason or next((row.scores["excess"].reason for row in rows), None)
        told = f"No combination has a number{f': {reason}' if reason else ''}."
        canvas = Canvas(WIDTH, 20.0, f"{figure.title}. {told}")
        canvas.text(0, 14, "No combination has a number.")
        says = " ".join(part for part in (told, _tests_said(report)) if part)
        caption = "More images of a prompt may give the shares their numbers."
        return Figure(canvas, figure.title, caption, _HEAD, [], says, tests)
    most = sorted(cells, key=lambda cell: -abs(cell.difference))[:_MOST]
    shown = [cell for cell in cells if cell in most]
    cut = len(shown) < len(cells)
    more = f" The {_MOST} of {len(cells)} that differ most are drawn." if cut else ""
    canvas = canvas_of(figure)
    _draw(canvas, shown)
    level = level_name([task.result.settings.level])
    numbers = [(one.name, one.share, one.alone, *score_cells(one.excess)) for one in cells]
    says = " ".join(part for part in (_tests_said(report), _cells_said(cells)) if part)
    table = [
        [
            one.name,
            percent(one.share, 1),
            percent(one.alone, 1),
            percent(one.difference, 1, sign=True),
            between(one.excess.ci_low, one.excess.ci_high, 1, sign=True),
            format_p(one.excess.p_holm),
        ]
        for one in cells
    ]
    head = ("Combination", "Images", "Parts alone", "Difference", level, "p (Holm)")
    tables = (first_rows("Combinations", head, table, _TABLE), *tests)
    return finished(figure, canvas, _HEAD, numbers, more, says, tables)


def _cell(row: Row) -> _Cell | None:
    excess = row.scores["excess"]
    share, alone = (
        row.scores.get(name, Score()).value for name in ("joint_share", "independent_share")
    )
    if share is None or alone is None or excess.value is None:
        return None
    return _Cell(row.name, share, alone, excess)


def _draw(canvas: Canvas, cells: Sequence[_Cell]) -> None:
    names = [cell.name for cell in cells]
    longest, width = max(map(len, names)), canvas.width
    beside = longest <= _BESIDE and LETTER * longest < 0.42 * width
    left = LETTER * longest + 14 if beside else 12.0
    room = left - 10 if beside else width - 12
    ends = [one.share for one in cells] + [one.alone for one in cells]
    ends += [one.alone + (one.excess.ci_high or 0.0) for one in cells]
    across = Scale(0.0, max(*ends, 0.02), left, width - _VALUES).to_ticks()
    y = top = canvas.key(8, _KEY) + 16
    places = []  # of the name and of the mark
    for name in names:
        high = LINE * len(wrapped(name, room))
        places.append((y + 11, y + 11) if beside else (y + high / 2 + 2, y + high + 10))
        y += 22 if beside else high + 24
    canvas.height = y + 24
    canvas.text(width - _SECOND, top - 4, "images", "end", "strong")
    canvas.text(width, top - 4, "parts alone", "end")
    canvas.line(left, top, left, y, "zero")
    draw_ticks(canvas, across, y, per_cent=True)
    for cell, (name_y, mark_y) in zip(cells, places, strict=True):
        x, anchor = (left - 10, "end") if beside else (left + 6, "start")
        canvas.label(x, name_y, cell.name, room, anchor)
        _mark(canvas, cell, across, mark_y)
        tone = cell.side if cell.clear else "strong"
        canvas.text(width - _SECOND, mark_y + 4, percent(cell.share), "end", tone)
        canvas.text(width, mark_y + 4, percent(cell.alone), "end")


def _mark(canvas: Canvas, cell: _Cell, across: Scale, y: float) -> None:
    tip = f"{cell.name}: {percent(cell.share)}, its parts alone {percent(cell.alone)}"
    ends = [across(min(max(x, 0.0), across.high)) for x in (cell.alone, cell.share)]
    canvas.line(ends[0], y, ends[1], y)
    lowest, highest = cell.excess.ci_low, cell.excess.ci_high
    if lowest is not None and highest is not None:
        low, high = (
            across(min(max(cell.alone + end, 0.0), across.high)) for end in (lowest, highest)
        )
        canvas.line(low, y, high, y, f"line {cell.side}" if cell.clear else "line null")
    canvas.dot(ends[0], y, "hollow", 3.5, tip)
    canvas.dot(ends[1], y, cell.side if cell.clear else "plain", 4.5, tip)


def _outcome(p: float | None) -> str:
    if p is None:
        return "not tested"
    return "they go together" if p < ALPHA else "no clear sign of it"


def _tests_said(report: CrossingReport | None) -> str:
    if report is None or not report.tests:
        return ""
    known = [test for test in report.tests if test.p_holm is not None]
    found = [test for test in known if (test.p_holm or 0.0) < ALPHA]
    if not known:
        return "Nothing was tested."
    if not found:
        which = "The test does not show" if len(known) == 1 else f"None of {len(known)} tests shows"
        return f"{which} that the attributes go together."
    least = min(found, key=lambda test: test.p_holm or 0.0)
    told = f"Clearly not independent: {', '.join(test.of for test in found)}"
    rest = f" ({len(found)} of {len(known)} tests, the smallest p {format_p(least.p_holm)})."
    return told + rest


def _cells_said(cells: Sequence[_Cell]) -> str:
    clear = [cell for cell in cells if cell.clear]
    if not clear:
        return "No single combination is clearly more or less frequent than its parts make it."
    cell = max(clear, key=lambda one: abs(one.difference))
    word = "more" if cell.difference > 0 else "less"
    return (
        f"“{shortened(cell.name, 60)}” is {word} frequent than its parts make it: "
        f"{percent(cell.share)} of the images instead of {percent(cell.alone)}."
    )
