"""Tables of results: Markdown with tabulate, and the terminal's with rich."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tabulate import tabulate

from t2ibench.methods import METHODS
from t2ibench.reports.writers import Table
from t2ibench.results.display import about_encoders, displayed
from t2ibench.results.schema import Results, Score, TaskResult

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table as RichTable

COLUMNS = (
    "Task",
    "Headline",
    "95 % CI",
    "Fair",
    "p",
    "p (Holm)",
    "Score",
    "Images",
    "Excluded",
)
EXPLANATION = (
    "The headline is a magnitude from 0 (indistinguishable from no bias) to 1 (complete). Null is "
    "what the headline would be on average at this sample size if there were no bias. p is "
    "two-sided unless the task says otherwise; Holm's correction is over all tasks of this table. "
    "A score describes these prompts, this model and this encoder or judge; it says nothing about "
    "real people, and no single number sums a model up."
)

OF_ENCODERS = (
    "These tests read words alone: they describe the text encoder, which is the instrument, and "
    "not the generator. They are the same for every model that is read with this encoder."
)


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table, or a dash.

    Args:
        value: The number, or None.
        digits: Digits after the point.

    Returns:
        The text.
    """
    return "–" if value is None else f"{value:.{digits}f}"


def format_p(value: float | None) -> str:
    """A p-value for a table, or a dash.

    Args:
        value: The p-value, or None.

    Returns:
        The text: four digits after the point, or powers of ten below 0.0001.
    """
    if value is None:
        return "–"
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"


def interval(score: Score) -> str:
    """A confidence interval for a table, or a dash.

    Args:
        score: A score or a headline.

    Returns:
        The text: '[low, high]'.
    """
    return ends(score.ci_low, score.ci_high)


def ends(low: float | None, high: float | None) -> str:
    """Both ends of an interval or a band for a table, or a dash.

    Args:
        low: Lower end, or None.
        high: Upper end, or None.

    Returns:
        The text: '[low, high]'.
    """
    return "–" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def main_score(task: TaskResult) -> str:
    """The method's best-known score, with its name.

    Args:
        task: The task's result.

    Returns:
        The text: 'd = +0.512', or a dash.
    """
    main = METHODS.get(task.method).main_score
    score = task.scores.get(main.name)
    return "–" if score is None or score.value is None else f"{main.label} = {score.value:+.3f}"


def excluded(task: TaskResult) -> str:
    """How many images were excluded, by reason.

    Args:
        task: The task's result.

    Returns:
        The text: '2 refused, 1 filtered', or '0'.
    """
    parts = [f"{count} {reason}" for reason, count in task.excluded.items() if count]
    return ", ".join(parts) or "0"


def table_rows(results: Results) -> Iterator[list[str]]:
    """The results as rows of text, one a task.

    Args:
        results: What results.json holds.

    Yields:
        The cells of a row, in the order of `COLUMNS`.
    """
    for name, task in results.tasks.items():
        shown = displayed(task.headline)
        yield [
            name,
            number(shown.value),
            ends(shown.low, shown.high),
            ends(shown.fair_low, shown.fair_high),
            format_p(task.headline.p),
            format_p(task.headline.p_holm),
            main_score(task),
            str(task.n_images) if task.n_images else "–",
            excluded(task),
        ]


def _escape(text: str) -> str:
    """Text of a task file inside a Markdown table or paragraph."""
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return escaped.replace("\n", " ").replace("`", "'")


def two_tables(results: Results) -> tuple[list[list[str]], list[list[str]]]:
    """The rows of the generator's tasks, and those of tests of the text encoder alone.

    Args:
        results: What results.json holds.

    Returns:
        Rows as of `table_rows`; either may be empty.
    """
    of_generator: list[list[str]] = []
    of_encoders: list[list[str]] = []
    for row, task in zip(table_rows(results), results.tasks.values(), strict=True):
        (of_encoders if about_encoders(task) else of_generator).append(row)
    return of_generator, of_encoders


def _table(rows: list[list[str]]) -> str:
    cells = [[_escape(cell) for cell in row] for row in rows]
    return tabulate(cells, headers=COLUMNS, tablefmt="github", disable_numparse=True)


def results_markdown(results: Results) -> str:
    """The text of results.md.

    Args:
        results: What results.json holds.

    Returns:
        Markdown, with the explanation of the columns.
    """
    name = results.model.name or "text encoders"
    parts = [f"# {_escape(name)}", ""]
    if results.limited:
        parts += ["**Made with --limit; not a result to report.**", ""]
    of_generator, of_encoders = two_tables(results)
    if of_generator or not of_encoders:
        parts += [_table(of_generator), "", EXPLANATION, ""]
    if of_encoders:
        parts += ["## Text encoders", "", OF_ENCODERS, "", _table(of_encoders), ""]
        parts += [] if of_generator else [EXPLANATION, ""]
    encoders = sorted({name for task in results.tasks.values() for name in task.settings.encoders})
    judges = sorted({name for task in results.tasks.values() for name in task.settings.judges})
    for title, names in (("Encoders", encoders), ("Judges", judges)):
        if names:
            parts += [f"{title}: {', '.join(_escape(name) for name in names)}.", ""]
    sentences = [
        f"- `{name}`: {_escape(task.headline.direction)}"
        for name, task in results.tasks.items()
        if task.headline.direction and task.headline.value is not None
    ]
    if sentences:
        parts += ["## In words", "", *sentences, ""]
    remarks = list(_remarks(results))
    if remarks:
        parts += ["## What to know about these results", "", *remarks, ""]
    if results.command:
        parts += ["## Repeat this run", "", "```", shlex.join(results.command), "```", ""]
    parts += [f"t2ibench {results.t2ibench}, schema {results.schema_version}.", ""]
    return "\n".join(parts)


def _remarks(results: Results) -> Iterator[str]:
    for name, task in results.tasks.items():
        if task.reason:
            yield f"- `{name}` has no score: {_escape(task.reason)}"
        elif task.headline.reason:
            yield f"- `{name}` has no headline: {_escape(task.headline.reason)}"
        for warning in task.warnings:
            yield f"- `{name}`: {_escape(warning)}"
        if task.signs_agree is False:
            yield f"- `{name}`: the encoders do not agree on the sign of the association."


# What a narrow terminal can do without, in this order; results.md has it all.
_DISPENSABLE = ("Excluded", "p", "Images", "Score", "Fair", "95 % CI")


def results_table(results: Results, width: int) -> Group:
    """The results as tables for a terminal; less important columns are dropped to fit.

    Args:
        results: What results.json holds.
        width: Columns of the terminal.

    Returns:
        The generator's tasks, and tests of the text encoder alone where there are any, for rich.
    """
    from rich.console import Group

    name = results.model.name
    of_generator, of_encoders = two_tables(results)
    tables = [_rich_table(of_generator, name or "text encoders", width)] if of_generator else []
    if of_encoders:
        tables.append(_rich_table(of_encoders, "text encoders", width, OF_ENCODERS))
    return Group(*tables)


def _rich_table(
    rows: list[list[str]], title: str, width: int, caption: str | None = None
) -> RichTable:
    from rich.markup import escape
    from rich.table import Table as RichTable

    widths = [3 + max(len(cell) for cell in column) for column in zip(COLUMNS, *rows, strict=True)]
    dropped: set[str] = set()
    for name in _DISPENSABLE:
        kept = [w for column, w in zip(COLUMNS, widths, strict=True) if column not in dropped]
        if sum(kept) + 1 <= width:
            break
        dropped.add(name)
    table = RichTable(title=f"t2ibench: {escape(title)}", caption=caption)
    for column in COLUMNS:
        if column not in dropped:
            table.add_column(column, justify="left" if column == "Task" else "right", no_wrap=True)
    for row in rows:
        cells = zip(COLUMNS, row, strict=True)
        table.add_row(*(escape(cell) for column, cell in cells if column not in dropped))
    return table


class MarkdownWriter:
    """GitHub's Markdown (see reports.writers.Writer)."""

    description = "Markdown tables; of a run, results.md"
    suffix = "md"

    def table(self, table: Table) -> str:
        """A table and its notes.

        Args:
            table: The table.

        Returns:
            Markdown; text that would be markup is escaped.
        """
        rows = [[_escape(cell) for cell in row] for row in table.rows]
        headers = [_escape(head) for head in table.headers]
        text = tabulate(rows, headers, tablefmt="github", disable_numparse=True)
        return "\n\n".join([text, *table.notes]) + "\n"

    def results(self, results: Results) -> str:
        """The text of results.md.

        Args:
            results: What results.json holds.

        Returns:
            Markdown.
        """
        return results_markdown(results)


WRITER = MarkdownWriter()
