"""Figures over plain numbers: scatter plots with curves, arrows, distributions, bars in groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.presentation import Axis
from t2ibench.methods.core.schema import Line, Strict
from t2ibench.reports.figures.arrows import draw_arrows
from t2ibench.reports.figures.axes import draw_axes, spanning
from t2ibench.reports.figures.bars import Group, draw_bars
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.distribution import draw_groups
from t2ibench.reports.figures.figure import Figure
from t2ibench.reports.figures.labels import labels
from t2ibench.reports.figures.scatter import farthest

WIDTH, LEFT, RIGHT = 560.0, 52.0, 16.0
_LABELLED = 16  # points of a scatter plot that are named at most
_FEWEST = 15  # points of a smooth curve
MARKS = ("pt", "hollow", "high", "low")  # of the series of a plot, in their order
_DOTS = (("pt", "one image"), ("mean", "mean"), ("band", "middle half of the images"))

Point = tuple[str, float, float]


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


def scatter(series: Sequence[Series], words: Words, width: float = WIDTH) -> Figure | None:
    """Points of a plane, up to four kinds of them, with their curves."""
    places = [(x, y) for one in series for _, x, y in one.points]
    if len(places) < 2:
        return None
    canvas = _canvas(words, width)
    top = canvas.key(8, [(mark, one.name) for mark, one in zip(MARKS, series, strict=False)]) + 24
    height = canvas.height = top + 296
    over = places + [point for one in series for point in one.curve]
    across = spanning([x for x, _ in over], LEFT, width - RIGHT)
    up = spanning([y for _, y in over], height - 40, top)
    draw_axes(canvas, across, up, words.x, words.y)
    for mark, one in zip(MARKS, series, strict=False):
        if len(one.curve) > 1:
            name = {"pt": "line", "hollow": "line null"}.get(mark, f"line {mark}")
            canvas.path([(across(x), up(y)) for x, y in one.curve], name)
        for name, x, y in one.points:
            canvas.dot(across(x), up(y), mark, tip=f"{one.name}, {name}: {x:.3g}, {y:.3g}")
    drawn = [(across(x), up(y)) for x, y in places]
    names = [name for one in series for name, _, _ in one.points]
    named = [one.named for one in series for _ in one.points]
    order = [number for number in farthest(drawn) if named[number]]
    for label in labels(drawn, names, order, (LEFT, width), _LABELLED):
        canvas.text(label.x, label.y, names[label.number], label.anchor)
    rows = [(one.name, name, x, y) for one in series for name, x, y in one.points]
    rows += [(one.name, "(curve)", x, y) for one in series for x, y in one.curve]
    return Figure(canvas, words.title, words.caption, ("series", "row", words.x, words.y), [*rows])


def loess(points: Sequence[Point]) -> list[tuple[float, float]]:
    """A smooth curve through points: locally weighted regression, two thirds of them at a time.

    Source: Cleveland 1979, "Robust locally weighted regression and smoothing scatterplots", without
    the robust steps, which make a jump of the last bit of a residual.
    """
    if len(points) < _FEWEST:
        return []
    from statsmodels.nonparametric.smoothers_lowess import lowess

    x, y = np.array([place for _, *place in points], dtype=np.float64).T
    return [(float(a), float(b)) for a, b in lowess(y, x, it=0) if np.isfinite(b)]


def arrows(rows: Sequence[Point], words: Words, width: float = WIDTH) -> Figure | None:
    """Rows as arrows from one number to another, on one axis around 0; the lowest head first."""
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: (row[2], row[0]))
    canvas, key = _canvas(words, width), (("hollow", "tail"), ("plain", "head"))
    axis = Axis(words.x, words.y)
    draw_arrows(canvas, [(*row, None, None) for row in rows], axis, key, least=0.0)
    return Figure(canvas, words.title, words.caption, ("row", "tail", "head"), [*rows])


def distributions(
    groups: Mapping[str, Sequence[float]], words: Words, width: float = WIDTH
) -> Figure | None:
    """One number of every image, group by group, with the quartiles of each group."""
    known = {name: list(values) for name, values in groups.items() if len(values)}
    if not known:
        return None
    canvas = _canvas(words, width)
    draw_groups(canvas, known, Axis(words.x, words.y), _DOTS, {}, least=0.0)
    rows: list[tuple[object, ...]] = [
        (name, len(values), *map(float, np.percentile(values, [25, 50, 75])),
         math.fsum(values) / len(values))
        for name, values in known.items()
    ]  # fmt: skip
    head = ("row", "images", "lower_quartile", "median", "upper_quartile", "mean")
    return Figure(canvas, words.title, words.caption, head, rows)


def grouped_bars(groups: Sequence[Group], words: Words, width: float = WIDTH) -> Figure | None:
    """Bars in groups, one scale for all."""
    known = [group for group in groups if group[1]]
    if not known:
        return None
    canvas = _canvas(words, width)
    draw_bars(canvas, known)
    rows = [(name, label, value) for name, bars, _ in known for label, value in bars]
    return Figure(canvas, words.title, words.caption, ("group", "bar", words.x), [*rows])


def _canvas(words: Words, width: float) -> Canvas:
    return Canvas(width, 0.0, f"{words.title}. {words.caption}")
