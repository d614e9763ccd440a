"""The writer `latex`: tables for papers, with booktabs."""

from __future__ import annotations

from tabulate import LATEX_ESCAPE_RULES, tabulate

from t2ibench.reports.markdown import OF_ENCODERS, columns, explanations, table_rows
from t2ibench.reports.writers import Table
from t2ibench.results.display import in_two
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
        of_generator, of_encoders = in_two(results)
        parts: list[tuple[Results, list[str]]] = []
        if of_generator.tasks or not of_encoders.tasks:
            parts.append((of_generator, []))
        if of_encoders.tasks:
            parts.append((of_encoders, [OF_ENCODERS]))
        return "\n".join(
            self.table(Table(columns(part), list(table_rows(part)), [*notes, *explanations(part)]))
            for part, notes in parts
        )


def _escape(text: str) -> str:
    """Text outside of a table; tabulate escapes what is inside."""
    return "".join(LATEX_ESCAPE_RULES.get(letter, letter) for letter in text)


WRITER = LatexWriter()
