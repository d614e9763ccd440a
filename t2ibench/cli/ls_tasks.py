"""`t2ibench ls GROUP`: the cells of each task in a list of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from t2ibench.tasks.listing import ListedTask

Row = dict[str, Any]


def row_of(task: ListedTask) -> Row:
    """Return the cells of a task in a list of tasks, keyed by column."""
    return {
        "task": task.id,
        "method": task.method,
        "version": task.version,
        "suite": task.suite,
        "images": task.images,
        "tags": list(task.tags),
        "title": task.title,
        "needs": task.needs,
    }


def shown_row(row: Row) -> Row:
    """Return those cells of a row that fit into a table, keyed by column."""
    waits = f" [needs {row['needs'].partition(' ')[0]}]" if row["needs"] else ""
    images = "?" if row["images"] is None else f"{row['images']:,}"
    return {
        "task": row["task"],
        "suite": row["suite"],
        "images": images,
        "title": f"{row['title']}{waits}",
    }
