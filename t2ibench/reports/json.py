"""The writer `json`, which formats tables and results for programs."""

from __future__ import annotations

import json
from typing import Any

from t2ibench.errors import visible_json
from t2ibench.reports.writers import Table
from t2ibench.results.schema import Results


class JsonWriter:
    """Formats tables and results as JSON.

    Implements `t2ibench.reports.writers.Writer`.
    """

    description = "JSON for programs; of a run, its results.json"
    suffix = "json"

    def table(self, table: Table) -> str:
        """Return a JSON object with a table's rows, as records, and its notes."""
        rows: list[Any] = [dict(record) for record in table.records]
        if not rows:
            rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
        content = {"rows": rows, "notes": list(table.notes)}
        text = json.dumps(content, ensure_ascii=False, indent=1, default=str)
        return visible_json(text) + "\n"

    def results(self, results: Results) -> str:
        """Return the text of a run's results.json."""
        return visible_json(results.to_json()).rstrip("\n") + "\n"


WRITER = JsonWriter()
