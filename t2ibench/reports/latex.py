"""The writer `latex`: tables for papers, with booktabs."""

from __future__ import annotations

from tabulate import tabulate

from t2ibench.reports.markdown import COLUMNS, table_rows
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results


class LatexWriter:
    """LaTeX tables (see reports.writers.Writer)."""

    description = "LaTeX tables with booktabs"
    suffix = "tex"

    def table(self, table: Table) -> str:
        """A table, without its notes.

        Args:
            table: The table.

        Returns:
            A tabular environment; special characters are escaped.
        """
        return (
            tabulate(table.rows, table.headers, tablefmt="latex_booktabs", disable_numparse=True)
            + "\n"
        )

    def results(self, results: Results) -> str:
        """The table of a run.

        Args:
            results: What results.json holds.

        Returns:
            A tabular environment.
        """
        return self.table(Table(COLUMNS, list(table_rows(results))))


WRITER = LatexWriter()
