"""A figure with the numbers behind it, in a sentence, as tables and for files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from t2ibench.methods.core import presentation
from t2ibench.registry import Registry
from t2ibench.reports.figures.canvas import Canvas
from t2ibench.reports.view import TaskView
from t2ibench.results.schema import Score

WIDTH = 460.0  # of a figure, in CSS pixels
Samples = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A table behind a figure; `further` rows are in the CSV alone."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    further: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, how to read it, what it shows in a sentence, and its numbers."""

    canvas: Canvas
    title: str
    caption: str
    head: tuple[str, ...]
    rows: list[tuple[object, ...]]
    says: str = ""
    tables: tuple[FigureTable, ...] = ()


_KINDS = ("Scatter", "Arrows", "Distribution", "Bars", "Panels", "Combinations")
FIGURES: Registry[Callable[[Any, TaskView, Samples], Figure | None]] = Registry(
    "figure",
    {kind: f"t2ibench.reports.figures.{kind.lower()}:draw" for kind in _KINDS}
    | {"Apart": "t2ibench.reports.figures.group_distance:draw"},
)


def draw(spec: presentation.Figure, task: TaskView, samples: Samples) -> Figure | None:
    """One figure of a task; None where it has no numbers."""
    return FIGURES.get(type(spec).__name__)(spec, task, samples)


def canvas_of(spec: presentation.Figure) -> Canvas:
    """An empty canvas, with what those hear who do not see the figure."""
    return Canvas(WIDTH, 0.0, f"{spec.title}. {spec.caption}")


def finished(
    spec: presentation.Figure,
    canvas: Canvas,
    head: tuple[str, ...],
    rows: Sequence[tuple[object, ...]],
    more: str = "",
    says: str = "",
    tables: tuple[FigureTable, ...] = (),
) -> Figure:
    """A figure under its own caption, with what it follows and what else is to be said."""
    source = f" Follows {spec.source}." if spec.source else ""
    caption = f"{spec.caption}{source}{more}"
    return Figure(canvas, spec.title, caption, head, list(rows), says, tables)


def first_rows(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], most: int
) -> FigureTable:
    """A table of the first rows; the CSV has the others."""
    return FigureTable(title, head, rows[:most], max(len(rows) - most, 0))


def score_cells(score: Score) -> tuple[object, ...]:
    """A score, its interval and p-values as the CSV has them; empty where there is none."""
    numbers = (score.value, score.ci_low, score.ci_high, score.p, score.p_holm)
    return tuple("" if number is None else number for number in numbers)
