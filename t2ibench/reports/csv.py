"""The writer `csv`, which formats tables as comma-separated values."""

from __future__ import annotations

import csv
import io
import re

from t2ibench.reports.writers import Table
from t2ibench.results.display import SCORES, score_rows
from t2ibench.results.schema import Results

# As a spreadsheet sees them, after any space and the full-width forms of East Asia included.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_NUMBER = r"[<>]?[−+]?\d[\d,]*(?:\.\d+)?"
_NUMBERS = re.compile(rf"{_NUMBER}|\[{_NUMBER}, {_NUMBER}\]")
_UNSEEN = " \t\r\n\v\f\0\u00a0\u200b\u2028\u2029\u3000\ufeff"


def cell(text: str) -> str:
    """Return a cell changed so that spreadsheets read it as text even if it looks like a formula.

    Examples:
        >>> cell("=1+1"), cell(" =1+1"), cell("-0.25"), cell("nurse")
        ("'=1+1", "' =1+1", '-0.25', 'nurse')
    """
    if not text.lstrip(_UNSEEN).startswith(_FORMULA) and not text.startswith(
        ("\t", "\r", "\n")
    ):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _number(text: str) -> str:
    """Return a number or interval with the hyphen that programs read; other text as it is.

    Examples:
        >>> _number("−0.25"), _number("[−0.1, 0.2]"), _number(">−0.001")
        ('-0.25', '[-0.1, 0.2]', '>-0.001')
        >>> _number("−"), _number("a − 1"), _number("2024−11")
        ('−', 'a − 1', '2024−11')
    """
    return text.replace("−", "-") if _NUMBERS.fullmatch(text) else text


def _text(value: object) -> str:
    return "" if value is None else str(value)


class CsvWriter:
    """Formats tables and results as comma-separated values.

    Implements `t2ibench.reports.writers.Writer`.
    """

    description = "comma-separated values; of a run, one row a score"
    suffix = "csv"

    def table(self, table: Table) -> str:
        """Return a table as CSV text, without notes; its records in place of rows if it has any."""
        headers = table.headers
        rows = table.rows
        if table.records:
            headers = list(table.records[0])
            rows = [[_text(record[key]) for key in headers] for record in table.records]
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows([[cell(_number(text)) for text in row] for row in rows])
        return buffer.getvalue()

    def results(self, results: Results) -> str:
        """Return every score of a run's tasks and their rows as CSV text."""
        rows = [
            [
                "yes" if value is True else "" if value is False else _text(value)
                for value in row
            ]
            for row in score_rows(results)
        ]
        return self.table(Table(SCORES, rows))


WRITER = CsvWriter()
