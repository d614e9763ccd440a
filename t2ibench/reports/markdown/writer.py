"""The writer `md`: results.md, and tables for GitHub."""

from __future__ import annotations

from t2ibench.reports.markdown.document import results_markdown
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results


class MarkdownTables:
    """Formats tables as Markdown; base class of the writers that reuse these tables."""

    def table(self, table: Table) -> str:
        """Return a table and its notes in GitHub's Markdown."""
        text = github(table.headers, table.rows)
        title = [f"**{escape(table.title)}**"] if table.title else []
        return "\n\n".join([*title, text, *map(escape, table.notes)]) + "\n"


class MarkdownWriter(MarkdownTables):
    """Writes GitHub's Markdown (see reports.writers.Writer)."""

    description = "Markdown tables; of a run, results.md"
    suffix = "md"

    def results(self, results: Results) -> str:
        """Return the text of results.md."""
        return results_markdown(results)


WRITER = MarkdownWriter()
