"""Writers of a reproduction's pages: Markdown, HTML, and the files of each exhibit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import jinja2
from markupsafe import Markup

from t2ibench.apps.papers.exhibits import Exhibit
from t2ibench.apps.papers.reproduction import FOLDER, Reproduction
from t2ibench.errors import visible_lines
from t2ibench.reports.csv import WRITER as CSV
from t2ibench.reports.figures.facts import facts_of_results
from t2ibench.reports.figures.files import write_figure
from t2ibench.reports.html.templating import (
    environment,
    style,
    with_whole_percentages,
)
from t2ibench.reports.markdown.writer import WRITER as MARKDOWN
from t2ibench.reports.writers import Table
from t2ibench.store.files import write_text

_LEGEND = (
    "Published is the paper's number, ours that of {model}, with its interval where one is "
    "vouched for. The difference is ours less the published one, where both were read by the same "
    "encoder and judge. – stands where there is no number."
)
_LONG = 24  # characters of a cell that is a text rather than a number


def write_pages(reproduction: Reproduction) -> None:
    """Write a reproduction's Markdown and HTML pages, and the files of each exhibit."""
    folder = reproduction.folder / FOLDER
    name = reproduction.paper.name
    for exhibit in reproduction.exhibits:
        exhibit.paths = _write_exhibit(reproduction, exhibit, folder / name)
    write_text(folder / f"{name}.md", markdown(reproduction))
    write_text(folder / f"{name}.html", html(reproduction))


def _write_exhibit(
    reproduction: Reproduction, exhibit: Exhibit, folder: Path
) -> tuple[Path, ...]:
    """Write an exhibit's numbers as CSV and its figure as images, and return the files' paths."""
    written: list[Path] = []
    if exhibit.lines:
        table = exhibit.table
        written.append(folder / f"{exhibit.name}.csv")
        write_text(written[-1], CSV.table(table))
    drawn = exhibit.figure
    if drawn is not None:
        about = f"{exhibit.label}. {drawn.title}: {reproduction.results.model.name}"
        points = f"{exhibit.name}-points" if exhibit.lines else ""
        facts = facts_of_results(reproduction.results)
        written += write_figure(
            drawn, about, folder, exhibit.name, numbers=points, facts=facts
        )
    return tuple(sorted(written))


def markdown(reproduction: Reproduction) -> str:
    """Return a paper's tables and figures, with our numbers, as Markdown."""
    file = reproduction.paper.file
    parts = [
        f"# {file.title}: {reproduction.results.model.name}\n",
        f"{file.citation}\n",
    ]
    parts.append(f"{_legend(reproduction)}\n")
    parts += ["## What differs from the paper\n", _sentences(reproduction.differs)]
    for exhibit in reproduction.exhibits:
        parts.append(f"## {exhibit.label}. {exhibit.file.title}\n")
        parts += [exhibit_text(exhibit)]
        if exhibit.figure is not None:
            place = f"{reproduction.paper.name}/{exhibit.name}.svg"
            parts.append(f"![{exhibit.figure.caption}]({place})\n")
    return visible_lines("\n".join(parts))


def exhibit_text(exhibit: Exhibit) -> str:
    """Return an exhibit's table and notes as text for a terminal or a Markdown page."""
    parts = [f"{exhibit.file.source}.\n"]
    if exhibit.lines:
        table = exhibit.table
        cells = [  # a name that several rows have stands in the first of them
            ["" if number else row[0], *row[1:]]
            for _, rows in _grouped(table)
            for number, row in enumerate(rows)
        ]
        parts.append(MARKDOWN.table(replace(table, rows=cells)))
    elif exhibit.figure is None:
        parts.append("No numbers.\n")
    if exhibit.notes:
        parts.append(_sentences(exhibit.notes))
    return "\n".join(parts)


def _sentences(lines: Sequence[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _legend(reproduction: Reproduction) -> str:
    return _LEGEND.format(model=reproduction.results.model.name or "the encoder")


def _grouped(table: Table) -> list[tuple[str, list[Sequence[str]]]]:
    """Return the consecutive rows of a table that share a name, together with that name."""
    return [
        (name, list(rows)) for name, rows in groupby(table.rows, key=lambda row: row[0])
    ]


def html(reproduction: Reproduction) -> str:
    """Return a paper's tables and figures as one HTML page that needs no network and no script."""
    exhibits = []
    for exhibit in reproduction.exhibits:
        table = exhibit.table
        texts = [  # columns of texts are set to the left and may wrap
            k < 2 or head == "note" or any(len(row[k]) > _LONG for row in table.rows)
            for k, head in enumerate(table.headers)
        ]
        figure = exhibit.figure
        svg = None if figure is None else figure.canvas.svg()
        exhibits.append((exhibit, table.headers, texts, _grouped(table), svg))
    templates = jinja2.PackageLoader("t2ibench.apps.papers", "templates")
    template = environment().overlay(loader=templates).get_template("paper.html")
    html = template.render(
        paper=reproduction.paper,
        model=reproduction.results.model.name or "texts",
        version=reproduction.results.t2ibench,
        differs=reproduction.differs,
        legend=_legend(reproduction),
        exhibits=exhibits,
        style=Markup(style()),
    )
    return with_whole_percentages(html)
