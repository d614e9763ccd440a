"""A figure of bars in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.reports.figures.axes import Scale
from t2ibench.reports.figures.canvas import Canvas, shortened
from t2ibench.reports.figures.figure import Figure as Drawn
from t2ibench.reproduction.plots import WIDTH, Words

_LEFT, _RIGHT = 150.0, 50.0


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


def grouped_bars(groups: Sequence[Group], words: Words) -> Drawn | None:
    """Bars in groups, one scale for all."""
    known = [group for group in groups if group.bars]
    if not known:
        return None
    most = max(1.0, *(value for group in known for _, value in group.bars))
    height = 16.0 + sum(24 + 14 * len(group.bars) for group in known)
    canvas = Canvas(WIDTH, height, f"{words.title}. {words.caption}")
    across = Scale(0.0, most, _LEFT, WIDTH - _RIGHT)
    y = 14.0
    rows: list[tuple[object, ...]] = []
    for group in known:
        canvas.text(0, y, shortened(group.name, 56), name="strong")
        canvas.text(WIDTH, y, group.side, "end")
        for label, value in group.bars:
            y += 14
            end = across(max(value, 0.0))
            canvas.text(_LEFT - 8, y, shortened(label, 22), "end")
            canvas.box(_LEFT, y - 8, max(end - _LEFT, 1.0), 8)
            canvas.text(end + 6, y, f"{value:.2f}")
            rows.append((group.name, label, value))
        y += 24
    return Drawn(canvas, words.title, words.caption, ("group", "bar", words.x), rows)
