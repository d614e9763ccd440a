"""The writer `md`, which formats results as results.md, and tables for GitHub."""

from __future__ import annotations

from t2ibench.reports.markdown.document import results_markdown
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results


class MarkdownTables:
    """Formats tables as Markdown; base class of writers that do so."""

    def table(self, table: Table) -> str:
        """Return a table and its notes as Markdown in GitHub's form."""
        text = github(table.headers, table.rows)
        title = [f"**{escape(table.title)}**"] if table.title else []
        return "\n\n".join([*title, text, *map(escape, table.notes)]) + "\n"


class MarkdownWriter(MarkdownTables):
    """Formats results as results.md, and tables as Markdown.

    Implements `t2ibench.reports.writers.Writer`.
    """

    description = "Markdown tables; of a run, results.md"
    suffix = "md"

    def results(self, results: Results) -> str:
        """Return the text of results.md for a run."""
        return results_markdown(results)


WRITER = MarkdownWriter()
