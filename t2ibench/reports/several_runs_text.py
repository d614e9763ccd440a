"""The comparison of several runs as Markdown that a terminal of a hundred columns shows well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap

from t2ibench.errors import visible_lines
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.several_runs_notes import (
    how_tested,
    legend,
    notes_on_tests,
    overall_notes,
    settings_notes,
)
from t2ibench.reports.several_runs_tables import WIDTH, comparison_table, trend_table
from t2ibench.reports.writers import Table
from t2ibench.results.several_runs import RunsComparison


def comparison_text(
    comparison: RunsComparison, axes: Mapping[str, Axis] | None = None
) -> str:
    """Return a comparison of several runs in reading order: settings, claims, tables, notes.

    Args:
        comparison: The comparison.
        axes: By task, what both ends of its leans mean; for the words of trends.
    """
    lead, *clauses = settings_notes(comparison)
    paragraphs = ["\n".join([_folded_one(lead), *_items(clauses)])]
    paragraphs += _folded(overall_notes(comparison))
    paragraphs.append(_table(comparison_table(comparison)))
    paragraphs += _folded([legend(comparison)])
    if comparison.ordered:
        trend = trend_table(comparison, axes)
        if trend is not None:
            paragraphs.append(_table(trend))
    paragraphs += _folded([*notes_on_tests(comparison), *how_tested(comparison)])
    return visible_lines("\n\n".join(paragraphs)) + "\n"


def _table(table: Table) -> str:
    return github(table.headers, table.rows)


def _folded(paragraphs: list[str]) -> Iterator[str]:
    """Yield escaped paragraphs, folded to the width of a table; no word is broken."""
    for paragraph in paragraphs:
        yield _folded_one(paragraph)


def _items(clauses: list[str]) -> Iterator[str]:
    """Yield the items of a list."""
    for clause in clauses:
        yield _folded_one(f"- {clause}", indent="  ")


def _folded_one(paragraph: str, indent: str = "") -> str:
    lines = wrap(
        escape(paragraph),
        WIDTH,
        break_long_words=False,
        break_on_hyphens=False,
        subsequent_indent=indent,
    )
    return "\n".join(lines)
