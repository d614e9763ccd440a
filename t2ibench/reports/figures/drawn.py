"""A figure with the numbers behind it, in a sentence, as tables and for files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.methods.core.presentation import Figure
from t2ibench.reports.figures.canvas import Canvas

WIDTH = 460.0  # of every figure of a task, in CSS pixels


@dataclass(frozen=True, slots=True)
class Behind:
    """A table behind a figure, as a page shows it.

    Attributes:
        title: What it is of.
        head: Heads of the columns; the first is what a row is called by.
        rows: Cells as text.
        further: Rows that only the CSV has.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    further: int = 0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure and its numbers.

    Attributes:
        canvas: The figure.
        title: What it shows.
        caption: How to read it, and where it comes from.
        head: Names of the columns of its numbers.
        rows: The numbers.
        says: What this very figure shows, in a sentence or two; empty where nothing is said.
        tables: The numbers as a page shows them, for those who read and do not look.
    """

    canvas: Canvas
    title: str
    caption: str
    head: tuple[str, ...]
    rows: list[tuple[object, ...]]
    says: str = ""
    tables: tuple[Behind, ...] = ()


def caption_of(figure: Figure) -> str:
    """The caption of a figure, with what it follows."""
    return f"{figure.caption} Follows {figure.source}." if figure.source else figure.caption
