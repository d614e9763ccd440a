"""The writer `latex`, which formats tables for papers."""

from __future__ import annotations

from tabulate import LATEX_ESCAPE_RULES, tabulate

from t2ibench.errors import visible
from t2ibench.reports.results_tables import tables
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results

# LaTeX has a sign of its own for a minus: fonts may lack the letter.
_MINUS = "\N{MINUS SIGN}"
_MATH_MINUS = "$-$"


class LatexWriter:
    """Formats tables and results as LaTeX.

    Implements `t2ibench.reports.writers.Writer`.
    """

    description = "LaTeX tables with booktabs"
    suffix = "tex"

    def table(self, table: Table) -> str:
        """Return a table as LaTeX text, with its notes in small print."""
        # tabulate escapes what LaTeX obeys, and so the backslashes of this too.
        rows = [[visible(_one_line(cell)) for cell in row] for row in table.rows]
        formatted = tabulate(
            rows, table.headers, tablefmt="latex_booktabs", disable_numparse=True
        )
        body = formatted.replace(_MINUS, _MATH_MINUS)
        notes = [f"\\par{{\\footnotesize {escaped(note)}}}" for note in table.notes]
        if not table.title:
            return "\n".join([body, *notes]) + "\n"
        opening = [
            r"\begin{table}",
            r"\centering",
            f"\\caption{{{escaped(table.title)}}}",
        ]
        return "\n".join([*opening, body, *notes, r"\end{table}"]) + "\n"

    def results(self, results: Results) -> str:
        """Return a run's tables of tests as LaTeX text."""
        return "\n".join(map(self.table, tables(results)))


def _one_line(text: str) -> str:
    """Return a cell in one line: an empty line would end a paragraph of LaTeX."""
    return " ".join(text.splitlines())


def escaped(text: str) -> str:
    """Return text of tasks and models as LaTeX shows it, in one line."""
    line = visible(" ".join(text.split()))
    rules = LATEX_ESCAPE_RULES | {_MINUS: _MATH_MINUS}
    return "".join(rules.get(letter, letter) for letter in line)


WRITER = LatexWriter()
