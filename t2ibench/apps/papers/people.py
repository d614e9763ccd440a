"""What people say, from a CSV or JSON Lines file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.stats.clusters import pooled_proportion
from t2ibench.store.jsonl import read_rows_strictly
from t2ibench.store.tables import read_table

_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Said:
    """One row of such a file.

    Attributes:
        where: File and line, for messages.
        values: Column to text; empty where the row has none.
    """

    where: str
    values: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.values.get(column, "")

    def yes(self, column: str) -> bool:
        """Whether a cell says yes."""
        found = _YES.get(self[column].casefold())
        if found is None:
            raise T2IBenchError(
                f"{self.where}: {column}: expected yes or no, found '{shown(self[column])}'."
            )
        return found

    def number(self, column: str, low: float, high: float) -> float:
        """A cell's number."""
        try:
            value = float(self[column])
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise T2IBenchError(
                f"{self.where}: {column}: expected a number from {low:g} to {high:g}, found "
                f"'{shown(self[column])}'."
            )
        return value

    def one_of(self, column: str, known: Sequence[str]) -> str:
        """A cell that names something known."""
        folded = {name.casefold(): name for name in known}
        found = folded.get(self[column].casefold())
        if found is None:
            raise T2IBenchError(
                f"{self.where}: unknown {column} '{shown(self[column])}'."
                f"{did_you_mean(self[column], list(known))}"
            )
        return found


def read_people(file: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> list[Said]:
    """The rows of a file of people's answers."""
    wanted = f"Columns: {', '.join([*columns, *(f'{name} (optional)' for name in optional)])}."
    if file.suffix.lower() == ".jsonl":
        example = ", ".join(f'"{name}": "…"' for name in columns)
        numbered = list(read_rows_strictly(file, f"{{{example}}}"))
        heads = [(f"{file}:{number}", list(row)) for number, row in numbered]
    else:
        table = read_table(file, wanted)
        numbered = [(number, dict(line)) for number, line in table.rows]
        heads = [(str(file), list(table.columns))]
    for where, there in heads:
        lacking = [name for name in columns if name not in there]
        if lacking:
            raise T2IBenchError(
                f"{where} has no column '{lacking[0]}'.{did_you_mean(lacking[0], there)}", wanted
            )
    if not numbered:
        raise T2IBenchError(f"{file} has no rows.", wanted)
    return [
        Said(f"{file}:{number}", {name: _text(row.get(name)) for name in (*columns, *optional)})
        for number, row in numbered
    ]


def share_of(hits: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The share of hits among what was looked at, one answer each."""
    share = pooled_proportion(hits, np.ones(len(hits)))
    low, high = share.interval() if len(hits) > 1 else (None, None)
    return share.value, low, high


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value).strip()
