"""Output formats; each writer turns tables and results into text of one format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from t2ibench.errors import T2IBenchError, first_line, visible_lines
from t2ibench.registry import Registry
from t2ibench.results.schema import Results


@dataclass(frozen=True, slots=True)
class Table:
    """A table as text cells, before a writer formats it.

    Notes are paragraphs that formats for programs leave out. Records are the rows for programs,
    numbers as numbers, all with the same keys; none where the cells say it all. The title is what
    the user calls the table; formats for programs leave it out.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    records: Sequence[Mapping[str, object]] = ()
    title: str = ""


class Writer(Protocol):
    """An output format for tables and results, which must escape untrusted text.

    Attributes:
        description: One line, for `t2ibench ls writers`.
        suffix: Of its files, without the dot.
    """

    description: str
    suffix: str

    def table(self, table: Table) -> str:
        """Return a table as text in this format, which ends in a newline."""
        ...

    def results(self, results: Results) -> str:
        """Return a run's results as text in this format, which ends in a newline."""
        ...


WRITERS: Registry[Writer] = Registry(
    "writer",
    {
        "md": "t2ibench.reports.markdown.writer:WRITER",
        "latex": "t2ibench.reports.latex:WRITER",
        "csv": "t2ibench.reports.csv:WRITER",
        "json": "t2ibench.reports.json:WRITER",
        "card": "t2ibench.reports.card:WRITER",
        "every-eval-ever": "t2ibench.reports.exchange.every_eval_ever:WRITER",
        "model-index": "t2ibench.reports.exchange.model_index:WRITER",
        "gpai": "t2ibench.reports.exchange.gpai:WRITER",
        "nist-ai-rmf": "t2ibench.reports.exchange.nist_ai_rmf:WRITER",
    },
    members=("description", "suffix", "table", "results"),
)


def render(name: str, content: Table | Results) -> str:
    """Return a table, or a run's results, as text formatted by the writer called `name`."""
    writer = WRITERS.get(name)
    try:
        return visible_lines(
            writer.table(content)
            if isinstance(content, Table)
            else writer.results(content)
        )
    except Exception as error:
        raise T2IBenchError(
            f"The writer '{name}' of {WRITERS.origin(name)} failed with {type(error).__name__}: "
            f"{first_line(error)}"
        ) from error
