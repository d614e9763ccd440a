"""Figure of a number for every image, each as a dot, in groups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from t2ibench.methods.core.presentation import Axis, Distribution
from t2ibench.reports.figures.axes import (
    AXIS_HEIGHT,
    around_zero,
    draw_lean_axis,
    draw_poles,
    rounded,
)
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.figures.figure import DrawnFigure, Samples, canvas_of, finished
from t2ibench.reports.figures.text_size import text_width, wrapped
from t2ibench.reports.view import TaskView
from t2ibench.results.schema import Score

_SIDE = 16.0
_BAND = 110.0
_NARROW = 60.0
_FEW = 3  # groups that have the broad band
_KEY = (
    ("pt", "one image"),
    ("mean", "mean"),
    ("line", "its interval"),
    ("band", "middle half of the images"),
)


def draw(figure: Distribution, task: TaskView, samples: Samples) -> DrawnFigure | None:
    """Return a figure with a dot for every image and the mean of each group; None without any."""
    groups: dict[str, list[float]] = {}
    for row in samples:
        if isinstance(row.get(figure.value), float) and math.isfinite(
            row[figure.value]
        ):
            groups.setdefault(str(row.get(figure.group)), []).append(row[figure.value])
    if not groups:
        return None
    canvas = canvas_of(figure)
    means = {
        name: task.result.scores.get(figure.means.get(name, ""), Score())
        for name in groups
    }
    draw_groups(canvas, groups, figure.axis, _KEY, means)
    rows = [(name, value) for name, values in groups.items() for value in values]
    return finished(figure, canvas, (figure.group, figure.value), rows)


def draw_groups(
    canvas: Canvas,
    groups: Mapping[str, Sequence[float]],
    axis: Axis,
    key: Sequence[tuple[str, str]],
    means: Mapping[str, Score],
    least: float = 1.0,
    name_of_axis: str = "lean",
) -> None:
    """Draw each group's values as dots on a common axis, with their middle half and their mean."""
    every = [value for values in groups.values() for value in values]
    across = around_zero(every, _SIDE, canvas.width - _SIDE, least)
    first = canvas.key(8, key) + 14
    band = _BAND if len(groups) <= _FEW else _NARROW
    canvas.height = first + 8 + band * len(groups) + AXIS_HEIGHT + 4
    draw_poles(canvas, across, first, axis)
    draw_lean_axis(canvas, across, first + 8, name_of_axis)
    for number, (name, values) in enumerate(groups.items()):
        top = first + 8 + band * number
        half = (band - 26) / 2
        middle = top + 22 + half
        _write_name(canvas, f"{name} ({len(values):,})", top + 16)
        low, high = (
            across(float(quartile)) for quartile in np.percentile(values, [25, 75])
        )
        canvas.box(
            low, middle - min(16, half), max(high - low, 1.0), 2 * min(16, half), "band"
        )
        for x, y in swarm([across(value) for value in values], half):
            canvas.dot(x, middle + y, "pt", 2)
        mean = math.fsum(values) / len(values)
        whole = means.get(name, Score())
        if whole.ci_low is not None and whole.ci_high is not None:
            ends = [
                across(min(max(end, across.low), across.high))
                for end in (whole.ci_low, whole.ci_high)
            ]
            canvas.line(ends[0], middle, ends[1], middle, "line")
        canvas.dot(across(mean), middle, "mean", 6, f"{name}: mean {rounded(mean)}")


def _write_name(canvas: Canvas, name: str, y: float) -> None:
    """Write the name of a group on a plate, which keeps the line at 0 away from it."""
    line, *more = wrapped(name, canvas.width - 2 * _SIDE, bold=True)
    if more:
        line = f"{line}…"
    width = text_width(line, bold=True)
    canvas.box(_SIDE - 2, y - 10, width + 4, 13, "plate")
    canvas.text(_SIDE, y, line, name="strong")


def swarm(
    places: Sequence[float], most: float, size: float = 4.4
) -> list[tuple[float, float]]:
    """Return positions of dots that avoid overlap, set closer together if there is no room."""
    keys = [round(place / size) for place in places]
    taken = Counter[int]()
    step = min(size, 2 * most / max(Counter(keys).values()))
    dots_placed = []
    for key in keys:
        number = taken[key]
        taken[key] += 1
        side = (number + 1) // 2 * (-1 if number % 2 else 1)
        dots_placed.append((key * size, side * step))
    return sorted(dots_placed)
