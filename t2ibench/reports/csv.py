"""The writer `csv`: comma-separated values, for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from t2ibench.methods.core.headline import Question
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Headline, Inference, Results, Score, TaskResult

# As a spreadsheet sees them, after any space and the full-width forms of East Asia included.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_UNSEEN = " \t\r\n\v\f\0\u00a0\u200b\u2028\u2029\u3000\ufeff"
HEADERS = (
    *("task", "method", "row", "score", "value", "ci_low", "ci_high", "p", "p_holm", "p_bh"),
    *("scale", "about", "fair_low", "fair_high", "square", "as_published"),
    *("n_images", "inconclusive", "reason"),
)


def cell(text: str) -> str:
    """A cell as a spreadsheet should read it: text that begins like a formula stays text.

    Args:
        text: The content.

    Returns:
        The content, after a quote where a spreadsheet would run it.

    Examples:
        >>> cell("=1+1"), cell(" =1+1"), cell("-0.25"), cell("nurse")
        ("'=1+1", "' =1+1", '-0.25', 'nurse')
    """
    if not text.lstrip(_UNSEEN).startswith(_FORMULA) and not text.startswith(("\t", "\r", "\n")):
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
        """A table, without its notes; its records, where it has any.

        Args:
            table: The table.

        Returns:
            The text of a CSV file, one number a cell.
        """
        headers, rows = table.headers, table.rows
        if table.records:
            headers = list(table.records[0])
            rows = [[_text(record[key]) for key in headers] for record in table.records]
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows([[cell(text) for text in row] for row in rows])
        return out.getvalue()

    def results(self, results: Results) -> str:
        """Every score of a run, of tasks and of their rows.

        Args:
            results: What results.json holds.

        Returns:
            The text of a CSV file.
        """
        rows = [
            [
                name,
                task.method,
                row,
                key,
                *map(_text, [*_numbers(score), n_images, *_why(task, score)]),
            ]
            for name, task in results.tasks.items()
            for row, key, score, n_images in _scores(task)
        ]
        return self.table(Table(HEADERS, rows))


def _scores(task: TaskResult) -> Iterator[tuple[str, str, Score, int]]:
    """Row, name, score and number of images of every score of a task."""
    head = task.headline
    yield "", "headline", head, task.n_images
    asked: tuple[tuple[Question, Inference | None], ...] = (
        ("these", head.these),
        ("like_these", head.like_these),
    )
    for question, found in asked:
        if found is not None and question != head.question:
            numbers = found.model_dump(include={"ci_low", "ci_high", "p", "reason"})
            other = Headline(value=head.value, scale=head.scale, question=question, **numbers)
            yield "", f"headline about {question}", other, task.n_images
    for key, score in task.scores.items():
        yield "", key, score, task.n_images
    for row in task.by:
        for key, score in row.scores.items():
            yield row.name, key, score, row.n_images or 0


def _numbers(score: Score) -> list[object]:
    head = score if isinstance(score, Headline) else Headline()
    return [
        *(score.value, score.ci_low, score.ci_high, score.p, score.p_holm, score.p_bh),
        *(head.scale, head.question, head.fair_low, head.fair_high, head.square),
        "yes" if score.as_published else "",
    ]


def _why(task: TaskResult, score: Score) -> tuple[str | None, str | None]:
    """Why a headline decides nothing, and why a score has no value."""
    return task.inconclusive if isinstance(score, Headline) else None, score.reason


WRITER = CsvWriter()
