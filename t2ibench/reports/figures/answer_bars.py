"""Figure of who is shown: a bar for each prompt, with a part for each answer."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.answer_counts import (
    ShownAttribute,
    ShownRow,
    sorted_rows,
)
from t2ibench.methods.core.describe import about_people, people
from t2ibench.reports.class_bars import class_key, stack_parts
from t2ibench.reports.figures.axes import AXIS_HEIGHT, PixelScale, draw_ticks
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import DrawnFigure
from t2ibench.reports.figures.text_size import (
    LINE,
    left_of,
    text_width,
    wrapped,
)
from t2ibench.results.judge_checks import short_questions

_WIDTH = 600.0
_NAMES = 0.32 * _WIDTH
_INTERVALS = 0.25 * _WIDTH
_BAR = 13.0  # height
_ROW = 21.0
_MOST = 60  # rows that are drawn; the CSV has all
_PLATE = 3.0  # around a number on a bar
_AXIS = "share of the images"
_CAPTION = (
    "A bar is the images of one row, a part of it those with one answer, with their number. To "
    "its right: the most frequent answer with the interval of its share, bold where it is clearly "
    "more frequent than expected."
)


def title_of(shown: ShownAttribute) -> str:
    """Return the title of the figure of one question."""
    attribute = shown.counted.attribute
    (short,) = short_questions([attribute])
    return f"{'Who' if about_people(attribute) else 'What'} is shown ({short})"


def who_is_shown(shown: ShownAttribute) -> DrawnFigure:
    """Return a figure of the answers to one question about each prompt."""
    rows = sorted_rows(shown)
    drawn = _most_one_sided(rows)
    title = title_of(shown)
    canvas = Canvas(_WIDTH, 0.0, f"{title}. {_CAPTION}")
    left = left_of([row.short for row in drawn], _NAMES)
    across = PixelScale(0.0, 1.0, left + 10, _WIDTH - _INTERVALS - 10)
    texts = [_interval(row) for row in drawn]
    places, heights = _rows(drawn, texts, left)
    top = canvas.key(8, _key(shown, drawn)) + 8
    foot = top + sum(heights)
    for row, text, place in zip(drawn, texts, places, strict=True):
        _draw_row(canvas, row, text, shown.counted.classes, across, top + place)
    draw_ticks(canvas, across, foot + 4, name=_AXIS, per_cent=True)
    canvas.height = foot + 4 + AXIS_HEIGHT
    more = (
        f" The {_MOST} of {len(rows)} that are most one-sided are drawn."
        if len(drawn) < len(rows)
        else ""
    )
    head, cells = answers_table(shown)
    return DrawnFigure(canvas, title, _CAPTION + more, head, cells)


def answers_table(
    shown: ShownAttribute,
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return the counts of answers about each prompt as a table: its head and its rows."""
    counted = shown.counted
    head = ("prompt", *counted.classes, "no answer", "low", "high", "clear")
    rows: list[tuple[object, ...]] = [
        (
            row.counted.name,
            *(row.counted.counts.get(name, 0) for name in counted.classes),
            row.counted.unanswered,
            *(row.interval or ("", "")),
            "yes" if row.clear else "no",
        )
        for row in sorted_rows(shown)
    ]
    return head, rows


def _most_one_sided(rows: Sequence[ShownRow]) -> list[ShownRow]:
    """Return the rows to draw, in their order: all, or those with the largest majorities."""
    by_share = sorted(
        rows, key=lambda row: (not row.clear, -row.hits / max(row.images, 1))
    )
    chosen = {id(row) for row in by_share[:_MOST]}
    return [row for row in rows if id(row) in chosen]


def _key(shown: ShownAttribute, rows: Sequence[ShownRow]) -> list[tuple[str, str]]:
    """Return the entries of the legend: the classes that a row has, then missing answers."""
    counted = shown.counted
    drawn = {part.classes for row in rows for part in stack_parts(row, counted.classes)}
    entries = class_key(counted.classes, counted.attribute, unanswered=True)
    return [(entry.look, entry.name) for entry in entries if entry.look in drawn]


def _interval(row: ShownRow) -> str:
    """Return the most frequent answer of a row with the interval of its share."""
    if row.most is None:
        return "no answer"
    who = people(row.most, row.about)
    if row.interval is None:
        return f"{who}, clear" if row.clear else who
    low, high = (f"{100 * end:.0f}" for end in row.interval)
    return f"{who} {low} to {high} %"


def _rows(
    rows: Sequence[ShownRow], texts: Sequence[str], left: float
) -> tuple[list[float], list[float]]:
    """Return the vertical centre and the height of each row, with all its texts wrapped."""
    places: list[float] = []
    heights: list[float] = []
    for row, text in zip(rows, texts, strict=True):
        lines = max(
            len(wrapped(row.short, left, bold=row.clear)),
            len(wrapped(text, _INTERVALS, bold=row.clear)),
        )
        height = max(_ROW, LINE * lines + 6)
        places.append(sum(heights) + height / 2)
        heights.append(height)
    return places, heights


def _draw_row(
    canvas: Canvas,
    row: ShownRow,
    text: str,
    classes: Sequence[str],
    across: PixelScale,
    middle: float,
) -> None:
    name = "strong" if row.clear else ""
    canvas.label(across.begin - 10, middle, row.short, across.begin - 10, name=name)
    canvas.label(_WIDTH - _INTERVALS, middle, text, _INTERVALS, "start", name)
    before = 0.0
    for part in stack_parts(row, classes):
        share = part.size / row.images
        begin = across(before)
        before += share
        end = across(before)
        canvas.patterned(begin, middle - _BAR / 2, end - begin, _BAR, part.classes)
        _draw_number(canvas, part.size, begin, end, middle)


def _draw_number(
    canvas: Canvas, size: float, begin: float, end: float, middle: float
) -> None:
    """Write the number of a part on a plate, which keeps stripes away, where there is room."""
    number = f"{round(size, 1):g}"
    width = text_width(number) + 2 * _PLATE
    if end - begin < width + 4:
        return
    centre = (begin + end) / 2
    canvas.box(centre - width / 2, middle - _BAR / 2 + 1, width, _BAR - 2, "plate")
    canvas.text(centre, middle + 4, number, "middle")
