"""Renders the page of what remedies change and cost, as one file that needs no network access."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.reports.figures.plane import Axes, pairs_of_axes, plane
from t2ibench.reports.frontier_sentences import ABOUT, NUMBER_NAMES, remedy_sentences
from t2ibench.reports.frontier_table import frontier_table
from t2ibench.reports.html.number_rows import NumberRow, number_rows
from t2ibench.reports.html.templating import fragment, style
from t2ibench.results.frontier import Frontier


@dataclass(frozen=True, slots=True)
class PlaneView:
    """A plane with the names of its axes."""

    name: str
    svg: Markup


@dataclass(frozen=True, slots=True)
class RemedyView:
    """What one remedy does, in sentences, and what a reader must know of it."""

    name: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrontierView:
    """Everything that the page shows.

    Attributes:
        before: The run without a remedy.
        task: The test whose lean the remedies are for.
        attribute: What that test is about.
        limited: Runs that are for a trial only.
        remedies: What each remedy does.
        planes: The planes, the chosen one first; empty where nothing can be drawn.
        headers: The columns of the table after the first two.
        rows: Its rows.
        about: How to read the numbers.
    """

    before: str
    task: str
    attribute: str
    limited: tuple[str, ...]
    remedies: tuple[RemedyView, ...]
    planes: tuple[PlaneView, ...]
    headers: tuple[str, ...]
    rows: tuple[NumberRow, ...]
    about: str

    @property
    def title(self) -> str:
        """Return what the page is about."""
        return f"{self.before} and {self.after}"

    @property
    def after(self) -> str:
        """Return the names of the runs with a remedy."""
        return ", ".join(remedy.name for remedy in self.remedies)


def frontier_html(frontier: Frontier, axes: Axes) -> str:
    """Return the HTML of the page, with the plane of these two axes first."""
    return str(
        fragment(
            "frontier.html",
            page=frontier_view(frontier, axes),
            style=style("comparison.css", "frontier.css"),
        )
    )


def frontier_view(frontier: Frontier, axes: Axes) -> FrontierView:
    """Return everything that the page shows."""
    table = frontier_table(frontier)
    runs = [(frontier.before.name, frontier.before.results)]
    runs += [(remedy.name, remedy.results) for remedy in frontier.remedies]
    return FrontierView(
        before=frontier.before.name,
        task=frontier.task,
        attribute=frontier.attribute,
        limited=tuple(
            name for name, results in runs if results.limited or results.partial
        ),
        remedies=tuple(
            RemedyView(
                remedy.name, tuple(remedy_sentences(frontier, remedy)), remedy.notes
            )
            for remedy in frontier.remedies
        ),
        planes=tuple(_planes(frontier, axes)),
        headers=tuple(table.headers[2:]),
        rows=tuple(number_rows(table.rows)),
        about=ABOUT,
    )


def _planes(frontier: Frontier, axes: Axes) -> list[PlaneView]:
    views = []
    for pair in pairs_of_axes(axes):
        canvas = plane(frontier, pair)
        if canvas is not None:
            name = " and ".join(NUMBER_NAMES[axis] for axis in pair)
            views.append(PlaneView(name[0].upper() + name[1:], canvas.svg()))
    return views
