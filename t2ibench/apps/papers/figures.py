"""Figures of a paper's exhibits: scatter plots, arrows, distributions and grouped bars."""

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
from t2ibench.reports.figures.figure import DrawnFigure
from t2ibench.reports.figures.labels import labels, lines_of, write_label
from t2ibench.reports.figures.scatter import farthest

WIDTH = 560.0
LEFT = 52.0
RIGHT = 16.0
_LABELLED = 16  # points of a scatter plot that are named at most
MARKS = ("pt", "hollow", "high", "low")  # of the series of a plot, in their order
_DOTS = (("pt", "one image"), ("mean", "mean"), ("band", "middle half of the images"))

Point = tuple[str, float, float]


class Words(Strict):
    """Texts of a figure; `x` and `y` name its two axes, or the two ends of a single one."""

    title: Line
    caption: Line
    x: str = ""
    y: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a scatter plot with a common mark, such as one model's."""

    name: str
    points: Sequence[Point]
    named: bool = False


def scatter(series: Sequence[Series], words: Words) -> DrawnFigure | None:
    """Return a scatter plot of up to four series; None if it has fewer than two points."""
    points = [(kind, *point) for kind in series for point in kind.points]
    if len(points) < 2:
        return None
    canvas = _canvas(words)
    key = [(mark, kind.name) for mark, kind in zip(MARKS, series, strict=False)]
    top = canvas.key(8, key) + 24
    canvas.height = top + 296
    across = spanning([x for _, _, x, _ in points], LEFT, WIDTH - RIGHT)
    up = spanning([y for _, _, _, y in points], canvas.height - 40, top)
    draw_axes(canvas, across, up, words.x, words.y)
    for mark, kind in zip(MARKS, series, strict=False):
        for name, x, y in kind.points:
            tip = f"{kind.name}, {name}: {x:.3g}, {y:.3g}"
            canvas.dot(across(x), up(y), mark, tip=tip)
    drawn = [(across(x), up(y)) for _, _, x, y in points]
    names = [name for _, name, _, _ in points]
    order = [number for number in farthest(drawn) if points[number][0].named]
    bounds = (LEFT, up.end - 7, WIDTH, up.begin)
    for label in labels(drawn, names, order, bounds, _LABELLED, lines=lines_of(canvas)):
        write_label(canvas, label, names[label.number])
    head = ("series", "row", words.x, words.y)
    rows = [(kind.name, name, x, y) for kind, name, x, y in points]
    return DrawnFigure(canvas, words.title, words.caption, head, [*rows])


def arrows(rows: Sequence[Point], words: Words) -> DrawnFigure | None:
    """Return a figure with an arrow between each row's two numbers; None if there is no row."""
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: (row[2], row[0]))
    canvas = _canvas(words)
    key = (("hollow", "tail"), ("plain", "head"))
    axis = Axis(words.x, words.y)
    draw_arrows(canvas, [(*row, None, None) for row in rows], axis, key, 0.0, "")
    return DrawnFigure(
        canvas, words.title, words.caption, ("row", "tail", "head"), [*rows]
    )


def distributions(
    groups: Mapping[str, Sequence[float]], words: Words
) -> DrawnFigure | None:
    """Return a figure of every image's number, in groups with quartiles; None if all are empty."""
    filled = {name: list(values) for name, values in groups.items() if len(values)}
    if not filled:
        return None
    canvas = _canvas(words)
    draw_groups(canvas, filled, Axis(words.x, words.y), _DOTS, {}, 0.0, "")
    rows: list[tuple[object, ...]] = [
        (
            name,
            len(values),
            *map(float, np.percentile(values, [25, 50, 75])),
            math.fsum(values) / len(values),
        )
        for name, values in filled.items()
    ]
    head = ("row", "images", "lower_quartile", "median", "upper_quartile", "mean")
    return DrawnFigure(canvas, words.title, words.caption, head, rows)


def grouped_bars(groups: Sequence[Group], words: Words) -> DrawnFigure | None:
    """Return a figure of bars in groups, all on one scale; None if no group has a bar."""
    filled = [group for group in groups if group[1]]
    if not filled:
        return None
    canvas = _canvas(words)
    draw_bars(canvas, filled, words.x)
    rows = [(name, label, value) for name, bars, _ in filled for label, value in bars]
    return DrawnFigure(
        canvas, words.title, words.caption, ("group", "bar", words.x), [*rows]
    )


def _canvas(words: Words) -> Canvas:
    return Canvas(WIDTH, 0.0, f"{words.title}. {words.caption}")
