"""A writer: one JSON object a task, for programs that read line by line."""

from __future__ import annotations

import json

from t2ibench.plugins import Results, Table


class JsonLinesWriter:
    """Has the members of `t2ibench.plugins.Writer`; it inherits nothing."""

    description = "one JSON object a task"
    suffix = "jsonl"

    def table(self, table: Table) -> str:
        """A table: its records, one object each; without any, one list a row, headers first."""
        rows = [dict(record) for record in table.records]
        lists = [list(row) for row in (table.headers, *table.rows)]
        lines = rows or lists
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)

    def results(self, results: Results) -> str:
        """A run, one object a task: its headline, why it decides nothing, its scores."""
        return "".join(
            json.dumps(
                {
                    "task": name,
                    **task.headline.model_dump(),
                    "inconclusive": task.inconclusive,
                    "scores": {
                        key: score.model_dump() for key, score in task.scores.items()
                    },
                },
                ensure_ascii=False,
            )
            + "\n"
            for name, task in results.tasks.items()
        )


WRITER = JsonLinesWriter()
