"""The plane of a frontier: two numbers of each remedy, with an arrow from before to after."""

from __future__ import annotations

import math
from collections.abc import Sequence

from t2ibench.decimals import decimal
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.reports.figures.axes import PixelScale, draw_axes, spanning
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.facts import facts_of_runs
from t2ibench.reports.figures.frame import Frame
from t2ibench.reports.figures.labels import labels, lines_of, write_label
from t2ibench.reports.figures.text_size import shortened
from t2ibench.reports.frontier_sentences import BETTER, NUMBER_NAMES, digits_of
from t2ibench.results.frontier import AXES, Frontier, NumberName, Remedy
from t2ibench.results.schema import Score

_WIDTH = 560.0
_HEIGHT = 400.0
_LEFT = 52.0
_RIGHT = 18.0
# Sizes and shares, whose axes begin at 0, and how far such an axis reaches at least.
_FROM_ZERO: set[NumberName] = {"lean", "contradictions", "spill_over"}
_LEAST_SPAN = 0.01
_CORNERS = 12  # of a quarter of an ellipse
_HEAD = 8.0  # pixels of an arrow's head
_LEAST_ARROW = 12.0  # pixels below which an arrow has no head
_LETTERS = 40  # of a name

Axes = tuple[NumberName, NumberName]


def axes_of(text: str) -> Axes:
    """Return the two axes that a text such as 'lean,diversity' names; raise an error for others."""
    names = [name.strip().replace("-", "_") for name in text.split(",")]
    for name in names:
        if name not in AXES:
            raise T2IBenchError(
                f"--axes: unknown axis '{shown(name)}'.{did_you_mean(name, AXES)}",
                f"Axes: {', '.join(AXES)}.",
            )
    if len(names) != 2 or names[0] == names[1]:
        raise T2IBenchError(
            "--axes: a plane has two different axes.",
            "Give two, as --axes lean,diversity.",
        )
    across = next(axis for axis in AXES if axis == names[0])
    up = next(axis for axis in AXES if axis == names[1])
    return across, up


def pairs_of_axes(first: Axes) -> list[Axes]:
    """Return every pair of axes, the given one first."""
    pairs: list[Axes] = [
        (across, up)
        for number, across in enumerate(AXES)
        for up in AXES[number + 1 :]
        if {across, up} != set(first)
    ]
    return [first, *pairs]


def plane_file(frontier: Frontier, axes: Axes) -> str:
    """Return the plane as the content of an SVG file."""
    canvas = plane(frontier, axes)
    if canvas is None:
        names = " and ".join(NUMBER_NAMES[axis] for axis in axes)
        raise T2IBenchError(
            f"No remedy has both {names}.", "The table says why: leave --format out."
        )
    runs = [frontier.before.results, *(remedy.results for remedy in frontier.remedies)]
    title = f"{frontier.task}, before and after"
    return str(Frame(canvas, title, facts_of_runs(runs)).svg())


def plane(frontier: Frontier, axes: Axes) -> Canvas | None:
    """Return a plane with each remedy's two numbers; None where no remedy has both."""
    drawn = [
        remedy
        for remedy in frontier.remedies
        if all(_is_drawn(remedy, axis) for axis in axes)
    ]
    if not drawn:
        return None
    canvas = Canvas(_WIDTH, _HEIGHT, _title(frontier, axes, drawn))
    key = [
        ("hollow", "before"),
        ("plain", "after"),
        ("line null", "interval of either number"),
    ]
    if "lean" in axes and frontier.fair is not None:
        key.append(("band", "fair band of the lean"))
    top = canvas.key(8, key) + 28
    across = _scale(frontier, axes[0], drawn, _LEFT, _WIDTH - _RIGHT)
    up = _scale(frontier, axes[1], drawn, _HEIGHT - 40, top)
    _draw_band(canvas, frontier, axes, across, up)
    draw_axes(canvas, across, up, _axis_name(axes[0]), _axis_name(axes[1]))
    ends = [_draw_remedy(canvas, remedy, axes, across, up) for remedy in drawn]
    bounds = (across.begin, up.end - 7, _WIDTH, up.begin)
    _name_remedies(canvas, drawn, ends, bounds)
    return canvas


def _is_drawn(remedy: Remedy, axis: NumberName) -> bool:
    number = remedy.numbers[axis]
    return number.before.value is not None and number.after.value is not None


def _axis_name(axis: NumberName) -> str:
    return f"{NUMBER_NAMES[axis]} ({BETTER[axis]} is better)"


def _scale(
    frontier: Frontier,
    axis: NumberName,
    drawn: Sequence[Remedy],
    begin: float,
    end: float,
) -> PixelScale:
    """Return a scale that has room for every point, its interval, and the fair band."""
    values = []
    for remedy in drawn:
        number = remedy.numbers[axis]
        for score in (number.before, number.after):
            values += [score.value, score.ci_low, score.ci_high]
    if axis == "lean":
        values.append(frontier.fair)
    numbers = [value for value in values if value is not None]
    if axis in _FROM_ZERO:
        highest = 1.05 * max(numbers) or _LEAST_SPAN
        return PixelScale(0.0, highest, begin, end).to_ticks()
    return spanning(numbers, begin, end)


def _draw_band(
    canvas: Canvas, frontier: Frontier, axes: Axes, across: PixelScale, up: PixelScale
) -> None:
    """Draw the fair band of the lean as a strip across the plane."""
    if frontier.fair is None:
        return
    if axes[0] == "lean":
        left = across(max(0.0, across.low))
        canvas.box(
            left, up.end, across(frontier.fair) - left, up.begin - up.end, "band"
        )
    elif axes[1] == "lean":
        bottom = up(max(0.0, up.low))
        high = up(frontier.fair)
        canvas.box(across.begin, high, across.end - across.begin, bottom - high, "band")


def _draw_remedy(
    canvas: Canvas, remedy: Remedy, axes: Axes, across: PixelScale, up: PixelScale
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Draw the two points of a remedy with an arrow between them, and return where they lie."""
    numbers = [remedy.numbers[axis] for axis in axes]
    points = []
    for scores in ([n.before for n in numbers], [n.after for n in numbers]):
        outline = _ellipse(scores[0], scores[1], across, up)
        if outline:
            canvas.path(outline, "line null")
        points.append((across(scores[0].value or 0.0), up(scores[1].value or 0.0)))
    start, end = points
    _draw_arrow(canvas, start, end)
    for point, name, when in ((start, "hollow", "before"), (end, "plain", "after")):
        canvas.dot(
            *point, name, 4, f"{remedy.name}, {when}: {_tip(remedy, axes, when)}"
        )
    return start, end


def _name_remedies(
    canvas: Canvas,
    remedies: Sequence[Remedy],
    ends: Sequence[tuple[tuple[float, float], tuple[float, float]]],
    bounds: tuple[float, float, float, float],
) -> None:
    """Write the name of each remedy beside its point after, away from all lines if possible."""
    names = [shortened(remedy.name, _LETTERS) for remedy in remedies]
    points = [end for _, end in ends] + [start for start, _ in ends]
    placed = labels(
        points,
        names,
        range(len(names)),
        bounds,
        len(names),
        lines=lines_of(canvas),
        bold=True,
        named_anyway=range(len(names)),
    )
    for label in placed:
        write_label(canvas, label, names[label.number], "strong")


def _tip(remedy: Remedy, axes: Axes, when: str) -> str:
    """Return both numbers of a point in words."""
    values = []
    for axis in axes:
        number = remedy.numbers[axis]
        score = number.before if when == "before" else number.after
        values.append(
            f"{NUMBER_NAMES[axis]} {decimal(score.value or 0.0, digits_of(axis))}"
        )
    return ", ".join(values)


def _draw_arrow(
    canvas: Canvas, start: tuple[float, float], end: tuple[float, float]
) -> None:
    """Draw an arrow from one pixel to another."""
    canvas.line(*start, *end, "line")
    if math.dist(start, end) < _LEAST_ARROW:
        return
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    for turn in (-0.4, 0.4):
        x = end[0] - _HEAD * math.cos(angle + turn)
        y = end[1] - _HEAD * math.sin(angle + turn)
        canvas.line(*end, x, y, "line")


def _ellipse(
    first: Score, second: Score, across: PixelScale, up: PixelScale
) -> list[tuple[float, float]]:
    """Return the outline through the ends of both intervals, a quarter of an ellipse each.

    Intervals may be longer to one side of a value. An axis without an interval has no extent, and
    two of them no outline.
    """
    x = first.value or 0.0
    y = second.value or 0.0
    lowest = [first.ci_low, second.ci_low]
    highest = [first.ci_high, second.ci_high]
    if lowest == [None, None]:
        return []
    left = x if lowest[0] is None else lowest[0]
    right = x if highest[0] is None else highest[0]
    bottom = y if lowest[1] is None else lowest[1]
    top = y if highest[1] is None else highest[1]
    outline = []
    for step in range(4 * _CORNERS + 1):
        angle = math.pi / 2 * step / _CORNERS
        along = math.cos(angle)
        upward = math.sin(angle)
        half_width = right - x if along > 0 else x - left
        half_height = top - y if upward > 0 else y - bottom
        outline.append((across(x + along * half_width), up(y + upward * half_height)))
    return outline


def _title(frontier: Frontier, axes: Axes, drawn: Sequence[Remedy]) -> str:
    """Return what the plane shows, for screen readers."""
    names = ", ".join(remedy.name for remedy in drawn)
    return (
        f"{NUMBER_NAMES[axes[0]]} and {NUMBER_NAMES[axes[1]]} of {frontier.task}, from "
        f"{frontier.before.name} to {names}; the table below has the numbers"
    )
