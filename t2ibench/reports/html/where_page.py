"""Renders the page of where a lean comes from, as one file that needs no network access."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.methods.core.describe import listed
from t2ibench.reports.figures.word_order import word_order
from t2ibench.reports.html.number_rows import NumberRow, number_rows
from t2ibench.reports.html.templating import fragment, style
from t2ibench.reports.where_sentences import about, where_sentences
from t2ibench.reports.where_table import where_table
from t2ibench.results.where import Where


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
    rows: tuple[NumberRow, ...]
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
        names=listed([source.name for source in result.sources]),
        limited=tuple(
            run.name
            for run in result.runs
            if run.results.limited or run.results.partial
        ),
        sentences=tuple(where_sentences(result)),
        figure=word_order(result).svg(),
        headers=tuple(table.headers[2:]),
        rows=tuple(number_rows(table.rows)),
        about=about(result),
    )
