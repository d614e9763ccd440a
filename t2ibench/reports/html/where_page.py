"""Renders the page of where a lean comes from, as one file that needs no network access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.reports.figures.word_order import word_order
from t2ibench.reports.html.templating import fragment, style
from t2ibench.reports.where_sentences import ABOUT, where_sentences
from t2ibench.reports.where_table import where_table
from t2ibench.results.where import Where


@dataclass(frozen=True, slots=True)
class WhereRow:
    """A row of the table.

    Attributes:
        where: The texts, images or rewriter; empty where it is that of the row above.
        name: What is measured.
        cells: Value, interval, p, p after Holm's correction, and whether it is clear.
        is_part: Whether it is a part of the row above.
    """

    where: str
    name: str
    cells: tuple[str, ...]
    is_part: bool


@dataclass(frozen=True, slots=True)
class WhereView:
    """Everything that the page shows.

    Attributes:
        task: The test.
        names: The names of the runs.
        limited: Runs that are for a trial only.
        sentences: What is found.
        figure: Images over words, and the parts of the lean.
        headers: The columns of the table after the first two.
        rows: Its rows.
        about: How to read the numbers.
    """

    task: str
    names: str
    limited: tuple[str, ...]
    sentences: tuple[str, ...]
    figure: Markup
    headers: tuple[str, ...]
    rows: tuple[WhereRow, ...]
    about: str


def where_html(result: Where) -> str:
    """Return the HTML of the page."""
    return str(
        fragment(
            "where.html",
            page=where_view(result),
            style=style("comparison.css", "frontier.css"),
        )
    )


def where_view(result: Where) -> WhereView:
    """Return everything that the page shows."""
    table = where_table(result)
    return WhereView(
        task=result.task,
        names=", ".join(source.name for source in result.sources),
        limited=tuple(
            run.name
            for run in result.runs
            if run.results.limited or run.results.partial
        ),
        sentences=tuple(where_sentences(result)),
        figure=word_order(result).svg(),
        headers=tuple(table.headers[2:]),
        rows=tuple(_rows(table.rows)),
        about=ABOUT,
    )


def _rows(rows: Sequence[Sequence[str]]) -> list[WhereRow]:
    return [
        WhereRow(
            where=where,
            name=name.removeprefix("· "),
            cells=tuple(cells),
            is_part=name.startswith("· "),
        )
        for where, name, *cells in rows
    ]
