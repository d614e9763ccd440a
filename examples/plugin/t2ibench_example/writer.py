"""A writer: one JSON object a task, for programs that read line by line."""

from __future__ import annotations

import json

from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results


class JsonLinesWriter:
    """Has the members of `t2ibench.reports.writers.Writer`; it inherits nothing."""

    description = "one JSON object a task"
    suffix = "jsonl"

    def table(self, table: Table) -> str:
        """A table, one list a row, the headers first."""
        rows = [table.headers, *table.rows]
        return "".join(json.dumps(list(row), ensure_ascii=False) + "\n" for row in rows)

    def results(self, results: Results) -> str:
        """A run, one object a task: its name and its headline."""
        return "".join(
            json.dumps({"task": name, **task.headline.model_dump()}, ensure_ascii=False) + "\n"
            for name, task in results.tasks.items()
        )


WRITER = JsonLinesWriter()
