"""The writer `latex`: tables for papers, with booktabs."""

from __future__ import annotations

from tabulate import LATEX_ESCAPE_RULES, tabulate

from t2ibench.reports.markdown import tables
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results


class LatexWriter:
    """LaTeX tables (see reports.writers.Writer)."""

    description = "LaTeX tables with booktabs"
    suffix = "tex"

    def table(self, table: Table) -> str:
        """A table and, in small print below it, its notes."""
        body = tabulate(table.rows, table.headers, tablefmt="latex_booktabs", disable_numparse=True)
        notes = [f"\\par{{\\footnotesize {_escape(note)}}}" for note in table.notes]
        return "\n".join([body, *notes]) + "\n"

    def results(self, results: Results) -> str:
        """The table of a run."""
        return "\n".join(map(self.table, tables(results)))


def _escape(text: str) -> str:
    """Text outside of a table; tabulate escapes what is inside."""
    return "".join(LATEX_ESCAPE_RULES.get(letter, letter) for letter in text)


WRITER = LatexWriter()
