"""Tables of a run with the title, the columns and the rows that the user chooses."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.reports.results_tables import OVER_TABLE, tables
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results

# The formats that write such tables; all others have content of their own.
FORMATS = ("latex", "md")
# What `--columns` calls the columns of a table of results, in their order.
COLUMNS = (
    "task",
    "headline",
    "interval",
    "about",
    "fair",
    "p",
    "p_holm",
    "score",
    "images",
    "excluded",
)
_OVER_RUN = "Holm's correction is over all tasks of the run, not these alone."


def chosen_tables(
    results: Results,
    title: str = "",
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
) -> list[Table]:
    """Return a run's tables with these columns, of the tasks that these patterns name.

    Args:
        results: The run.
        title: Of every table; empty for none.
        columns: Some of `COLUMNS`, in the order wanted; empty for all.
        rows: Ids of tasks or patterns such as 'core_*', in the order wanted; empty for all.

    Returns:
        A table of the tests on images, and one of the tests on texts alone, if there are such.

    Raises:
        T2IBenchError: there is no such column, or no task that a pattern matches.
    """
    places = [_place(column) for column in columns] or list(range(len(COLUMNS)))
    names = _names(results, rows) if rows else list(results.tasks)
    tasks = {name: results.tasks[name] for name in names}
    chosen = []
    for table in tables(results.model_copy(update={"tasks": tasks})):
        notes = table.notes
        if len(tasks) < len(results.tasks):
            # Choosing rows corrects nothing anew: the p-values are those of the run.
            notes = [note.replace(OVER_TABLE, _OVER_RUN) for note in notes]
        chosen.append(
            Table(
                headers=[table.headers[place] for place in places],
                rows=[[row[place] for place in places] for row in table.rows],
                notes=notes,
                title=title,
            )
        )
    return chosen


def _place(column: str) -> int:
    if column not in COLUMNS:
        raise T2IBenchError(
            f"There is no column '{shown(column)}'.{did_you_mean(column, COLUMNS)}",
            f"Columns: {', '.join(COLUMNS)}.",
        )
    return COLUMNS.index(column)


def _names(results: Results, patterns: Sequence[str]) -> list[str]:
    """Return the tasks that patterns name, each once, pattern by pattern."""
    names: dict[str, None] = {}
    for pattern in patterns:
        matches = [name for name in results.tasks if fnmatchcase(name, pattern)]
        if not matches:
            raise T2IBenchError(
                f"No task of the run is called '{shown(pattern)}'."
                f"{did_you_mean(pattern, results.tasks)}",
                "`t2ibench report RUN --format csv` lists them.",
            )
        names |= dict.fromkeys(matches)
    return list(names)
