"""The writer `csv`: comma-separated values, for programs."""

from __future__ import annotations

import csv
import io

from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results, Score

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
HEADERS = (
    *("task", "method", "row", "score", "value", "ci_low", "ci_high", "p", "p_holm", "p_bh"),
    *("n_images", "reason"),
)


def cell(text: str) -> str:
    """A cell as a spreadsheet should read it: text that begins like a formula stays text.

    Args:
        text: The content.

    Returns:
        The content, after a quote where a spreadsheet would run it.

    Examples:
        >>> cell("=1+1"), cell("-0.25"), cell("nurse")
        ("'=1+1", '-0.25', 'nurse')
    """
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _text(value: object) -> str:
    return "" if value is None else str(value)


class CsvWriter:
    """Comma-separated values (see reports.writers.Writer)."""

    description = "comma-separated values; of a run, one row a score"
    suffix = "csv"

    def table(self, table: Table) -> str:
        """A table, without its notes.

        Args:
            table: The table.

        Returns:
            The text of a CSV file.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(table.headers)
        writer.writerows([[cell(text) for text in row] for row in table.rows])
        return out.getvalue()

    def results(self, results: Results) -> str:
        """Every score of a run, of tasks and of their rows.

        Args:
            results: What results.json holds.

        Returns:
            The text of a CSV file.
        """
        rows = []
        for name, task in results.tasks.items():
            scores: list[tuple[str, str, Score, int]] = [
                ("", "headline", task.headline, task.n_images)
            ]
            scores += [("", key, score, task.n_images) for key, score in task.scores.items()]
            scores += [
                (row.name, key, score, row.n_images or 0)
                for row in task.by
                for key, score in row.scores.items()
            ]
            for row_name, key, score, n_images in scores:
                numbers = (
                    *(score.value, score.ci_low, score.ci_high),
                    *(score.p, score.p_holm, score.p_bh, n_images, score.reason),
                )
                rows.append([name, task.method, row_name, key, *map(_text, numbers)])
        return self.table(Table(HEADERS, rows))


WRITER = CsvWriter()
