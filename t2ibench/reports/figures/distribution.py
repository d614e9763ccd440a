"""The number of every image, one dot each, group by group."""

from __future__ import annotations

import math
from collections.abc import Sequence

from t2ibench.methods.core.presentation import Distribution
from t2ibench.reports.figures.axes import Scale, draw_lean_axis, draw_poles
from t2ibench.reports.figures.canvas import Canvas, shortened
from t2ibench.reports.figures.figure import WIDTH, Figure, Samples, caption_of, described
from t2ibench.reports.view import TaskView

_RIGHT = 16.0


def draw(figure: Distribution, _: TaskView, samples: Samples) -> Figure | None:
    """A dot an image, and the mean of each group."""
    groups: dict[str, list[float]] = {}
    for row in samples:
        if isinstance(row.get(figure.value), float) and math.isfinite(row[figure.value]):
            groups.setdefault(str(row.get(figure.group)), []).append(row[figure.value])
    if not groups:
        return None
    span = max(1.0, *(abs(value) for values in groups.values() for value in values))
    band = 110.0
    canvas = Canvas(WIDTH, 24 + band * len(groups) + 22, described(figure))
    across = Scale(-span, span, _RIGHT, WIDTH - _RIGHT)
    draw_poles(canvas, across, 12, figure.axis)
    draw_lean_axis(canvas, across, 20)
    for number, (name, values) in enumerate(groups.items()):
        top = 24 + band * number
        middle = top + 22 + (band - 26) / 2
        canvas.text(_RIGHT, top + 14, f"{shortened(name, 30)} ({len(values):,})",
                    name="strong")  # fmt: skip
        for x, y in swarm([across(value) for value in values], (band - 26) / 2):
            canvas.dot(x, middle + y, "pt", 2)
        mean = math.fsum(values) / len(values)
        canvas.dot(across(mean), middle, "mean", 6, f"{name}: mean {mean:+.2f}")
    rows: list[tuple[object, ...]] = [(n, v) for n, values in groups.items() for v in values]
    return Figure(canvas, figure.title, caption_of(figure), (figure.group, figure.value), rows)


def swarm(places: Sequence[float], most: float, size: float = 4.4) -> list[tuple[float, float]]:
    """Dots beside each other where they would overlap, closer where there is no room."""
    bins: dict[int, int] = {}
    counts: dict[int, int] = {}
    for place in places:
        counts[round(place / size)] = counts.get(round(place / size), 0) + 1
    step = min(size, 2 * most / max(counts.values()))
    found = []
    for place in places:
        key = round(place / size)
        number = bins.get(key, 0)
        bins[key] = number + 1
        side = (number + 1) // 2 * (-1 if number % 2 else 1)
        found.append((key * size, side * step))
    return found
