"""Figures over plain numbers: scatter plots with curves, arrows, distributions, bars in groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.schema import Line, Strict
from t2ibench.reports.figures.axes import Scale, draw_axes, spanning, tick
from t2ibench.reports.figures.canvas import Canvas, shortened
from t2ibench.reports.figures.distribution import swarm
from t2ibench.reports.figures.figure import Figure
from t2ibench.reports.figures.labels import labels
from t2ibench.reports.figures.scatter import farthest

WIDTH, LEFT, RIGHT = 560.0, 52.0, 16.0
_BARS_LEFT, _BARS_RIGHT = 150.0, 50.0
_LABELLED = 16  # points of a scatter plot that are named at most
_FEWEST = 15  # points of a smooth curve
MARKS = ("pt", "hollow", "high", "low")  # of the series of a plot, in their order

Arrow = tuple[str, float, float]


class Words(Strict):
    """What a figure says.

    Attributes:
        title: What it shows.
        caption: How to read it.
        x: Name of the axis to the right; for figures of one axis, its low end.
        y: Name of the axis upwards; for figures of one axis, its high end.
    """

    title: Line
    caption: Line
    x: str = ""
    y: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind.

    Attributes:
        name: What they are, for the key.
        points: Name, x and y of each.
        curve: A line through the plane, such as a smoothed mean.
        named: Whether points have their names beside them.
    """

    name: str
    points: Sequence[tuple[str, float, float]]
    curve: Sequence[tuple[float, float]] = ()
    named: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Bars below one heading.

    Attributes:
        name: The heading.
        bars: Label and length of each, at least 0.
        side: What stands at the right of the heading.
    """

    name: str
    bars: Sequence[tuple[str, float]]
    side: str = ""


def scatter(series: Sequence[Series], words: Words) -> Figure | None:
    """Points of a plane, up to four kinds of them, with their curves."""
    places = [(x, y) for one in series for _, x, y in one.points]
    if len(places) < 2:
        return None
    height = 340.0
    canvas = Canvas(WIDTH, height, f"{words.title}. {words.caption}")
    over = places + [point for one in series for point in one.curve]
    across = spanning([x for x, _ in over], LEFT, WIDTH - RIGHT)
    up = spanning([y for _, y in over], height - 40, 44)
    draw_axes(canvas, across, up, words.x, words.y)
    place = LEFT
    for mark, one in zip(MARKS, series, strict=False):
        canvas.dot(place + 4, 10, mark)
        canvas.text(place + 14, 14, one.name)
        place += 36 + 6.4 * len(one.name)
        if len(one.curve) > 1:
            name = {"pt": "line", "hollow": "line null"}.get(mark, f"line {mark}")
            canvas.path([(across(x), up(y)) for x, y in one.curve], name)
        for name, x, y in one.points:
            canvas.dot(across(x), up(y), mark, tip=f"{one.name}, {name}: {x:.3g}, {y:.3g}")
    drawn = [(across(x), up(y)) for x, y in places]
    names = [shortened(name, 16) for one in series for name, _, _ in one.points]
    named = [one.named for one in series for _ in one.points]
    order = [number for number in farthest(drawn) if named[number]]
    for label in labels(drawn, names, order, (LEFT, WIDTH), _LABELLED):
        canvas.text(label.x, label.y, names[label.number], label.anchor)
    rows = [(one.name, name, x, y) for one in series for name, x, y in one.points]
    rows += [(one.name, "(curve)", x, y) for one in series for x, y in one.curve]
    return Figure(canvas, words.title, words.caption, ("series", "row", words.x, words.y), [*rows])


def loess(points: Sequence[Arrow]) -> list[tuple[float, float]]:
    """A smooth curve through points: locally weighted regression, two thirds of them at a time.

    Source: Cleveland 1979, "Robust locally weighted regression and smoothing scatterplots", without
    the robust steps, which make a jump of the last bit of a residual.
    """
    if len(points) < _FEWEST:
        return []
    from statsmodels.nonparametric.smoothers_lowess import lowess

    x, y = np.array([place for _, *place in points], dtype=np.float64).T
    return [(float(a), float(b)) for a, b in lowess(y, x, it=0) if np.isfinite(b)]


def arrows(rows: Sequence[Arrow], words: Words) -> Figure | None:
    """Rows as arrows from one number to another, on one axis around 0; the lowest head first."""
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: (row[2], row[0]))
    canvas, across = _one_axis(rows, [v for _, *pair in rows for v in pair], words, 22.0, 34.0)
    for number, (name, start, end) in enumerate(rows):
        y = 44.0 + 22 * number
        side = "high" if end > start else "low"
        canvas.text(168, y + 4, shortened(name, 27), "end")
        canvas.line(across(start), y, across(end), y, f"line {side}")
        canvas.dot(across(start), y, "hollow", 2.5, f"{name}, tail: {start:+.4f}")
        canvas.dot(across(end), y, side, 4, f"{name}, head: {end:+.4f}")
    return Figure(canvas, words.title, words.caption, ("row", "tail", "head"), [*rows])


def distributions(groups: Mapping[str, Sequence[float]], words: Words) -> Figure | None:
    """One number of every image, group by group, with the quartiles of each group."""
    known = {name: list(values) for name, values in groups.items() if len(values)}
    if not known:
        return None
    every = [value for values in known.values() for value in values]
    canvas, across = _one_axis(list(known), every, words, 34.0, 40.0)
    rows: list[tuple[object, ...]] = []
    for number, (name, values) in enumerate(known.items()):
        y = 50.0 + 34 * number
        low, middle, high = (float(x) for x in np.percentile(values, [25, 50, 75]))
        mean = math.fsum(values) / len(values)
        canvas.text(168, y + 4, shortened(name, 27), "end")
        canvas.box(across(low), y - 11, max(across(high) - across(low), 1.0), 22, "band")
        for x, off in swarm([across(value) for value in values], 11):
            canvas.dot(x, y + off, "pt", 1.5)
        canvas.line(across(middle), y - 12, across(middle), y + 12, "line")
        canvas.dot(across(mean), y, "mean", 4, f"{name}: mean {mean:+.4f}")
        rows.append((name, len(values), low, middle, high, mean))
    head = ("row", "images", "lower_quartile", "median", "upper_quartile", "mean")
    return Figure(canvas, words.title, words.caption, head, rows)


def _one_axis(
    rows: Sequence[object], values: Sequence[float], words: Words, step: float, head: float
) -> tuple[Canvas, Scale]:
    """A canvas with a row each, and an axis that is as long on both sides of 0."""
    span = 1.05 * max(map(abs, values)) or 1.0
    canvas = Canvas(WIDTH, head + step * len(rows) + 20, f"{words.title}. {words.caption}")
    across = Scale(-span, span, 176.0, WIDTH - RIGHT)
    canvas.text(across(0) - 8, 12, f"◂ {words.x}", "end", "low")
    canvas.text(across(0) + 8, 12, f"{words.y} ▸", "start", "high")
    canvas.line(across(0), 20, across(0), canvas.height - 18, "zero")
    for value in across.ticks():
        canvas.text(across(value), canvas.height - 4, tick(value), "middle")
    return canvas, across


def grouped_bars(groups: Sequence[Group], words: Words) -> Figure | None:
    """Bars in groups, one scale for all."""
    known = [group for group in groups if group.bars]
    if not known:
        return None
    most = max(1.0, *(value for group in known for _, value in group.bars))
    height = 16.0 + sum(24 + 14 * len(group.bars) for group in known)
    canvas = Canvas(WIDTH, height, f"{words.title}. {words.caption}")
    across = Scale(0.0, most, _BARS_LEFT, WIDTH - _BARS_RIGHT)
    y = 14.0
    rows: list[tuple[object, ...]] = []
    for group in known:
        canvas.text(0, y, shortened(group.name, 56), name="strong")
        canvas.text(WIDTH, y, group.side, "end")
        for label, value in group.bars:
            y += 14
            end = across(max(value, 0.0))
            canvas.text(_BARS_LEFT - 8, y, shortened(label, 22), "end")
            canvas.box(_BARS_LEFT, y - 8, max(end - _BARS_LEFT, 1.0), 8)
            canvas.text(end + 6, y, f"{value:.2f}")
            rows.append((group.name, label, value))
        y += 24
    return Figure(canvas, words.title, words.caption, ("group", "bar", words.x), rows)
