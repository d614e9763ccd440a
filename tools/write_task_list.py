"""Write the list of the shipped tasks beside them: `python tools/write_task_list.py`.

`t2ibench ls` reads it in place of the files, as long as they are those that it was written from.
"""

from __future__ import annotations

from t2ibench.tasks.folders import bundled_tasks
from t2ibench.tasks.index import build_index
from t2ibench.tasks.listing import LIST, list_text


def task_list() -> str:
    """Return the text of the list."""
    index, _ = build_index()
    return list_text(bundled_tasks(), index.tasks.values())


if __name__ == "__main__":
    (bundled_tasks() / LIST).write_text(task_list(), encoding="utf-8")
