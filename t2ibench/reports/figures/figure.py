"""A drawn figure with its texts and data, and the registry of functions that draw figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from t2ibench.decimals import true_minus
from t2ibench.methods.core import presentation
from t2ibench.registry import Registry
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.view import TaskView
from t2ibench.results.schema import Score

WIDTH = 460.0  # of a figure, in CSS pixels
Samples = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure with its title and caption, its finding as a sentence, and its data.

    On a page the first `most` rows are a table, too.
    """

    canvas: Canvas
    title: str
    caption: str
    head: tuple[str, ...]
    rows: list[tuple[object, ...]]
    says: str = ""
    most: int = 0

    @property
    def table(self) -> list[list[str]]:
        """The first rows of the data as text cells, for a table on the page."""
        return [[_text(cell) for cell in row] for row in self.rows[: self.most]]


# The class of a figure's settings to what draws it.
_DRAWN_BY: Mapping[type[presentation.Figure], str] = {
    presentation.Scatter: "scatter",
    presentation.Arrows: "arrows",
    presentation.Distribution: "distribution",
    presentation.Bars: "bars",
    presentation.Panels: "panels",
    presentation.Combinations: "combinations",
    presentation.Apart: "group_distance",
}


def full_name(kind: type[presentation.Figure]) -> str:
    """Return the name under which a kind of figure is registered, with the module's name.

    Examples:
        >>> full_name(presentation.Bars)
        't2ibench.methods.core.presentation.Bars'
    """
    return f"{kind.__module__}.{kind.__qualname__}"


FIGURES: Registry[Callable[[Any, TaskView, Samples], DrawnFigure | None]] = Registry(
    "figure",
    {
        full_name(kind): f"t2ibench.reports.figures.{module}:draw"
        for kind, module in _DRAWN_BY.items()
    },
)


def draw(
    spec: presentation.Figure, task: TaskView, samples: Samples
) -> DrawnFigure | None:
    """Return a drawn figure of a task; None if the task has no data for it."""
    return FIGURES.get(full_name(type(spec)))(spec, task, samples)


def canvas_of(spec: presentation.Figure) -> Canvas:
    """Return an empty canvas for a figure, with a title for screen readers."""
    return Canvas(WIDTH, 0.0, f"{spec.title}. {spec.caption}")


def finished(
    spec: presentation.Figure,
    canvas: Canvas,
    head: tuple[str, ...],
    rows: Sequence[tuple[object, ...]],
    more: str = "",
    says: str = "",
    most: int = 0,
) -> DrawnFigure:
    """Return a finished figure, from its canvas and data, with the caption completed."""
    source = f" Follows {spec.source}." if spec.source else ""
    caption = f"{spec.caption}{source}{more}"
    return DrawnFigure(canvas, spec.title, caption, head, list(rows), says, most)


def _text(cell: object) -> str:
    return true_minus(f"{cell:.3g}") if isinstance(cell, float) else str(cell)


def score_cells(score: Score) -> tuple[object, ...]:
    """Return a score, its interval and its p-values as table cells, '' for each unknown one."""
    numbers = (score.value, score.ci_low, score.ci_high, score.p, score.p_holm)
    return tuple("" if number is None else number for number in numbers)
