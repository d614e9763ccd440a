"""How much the wording of the prompts matters, as pages show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from t2ibench.methods.core.wording_report import WordingReport
from t2ibench.reports.cells import ends, number, signed
from t2ibench.results.display import root
from t2ibench.results.schema import TaskResult

_REPORTS = TypeAdapter(list[WordingReport])


@dataclass(frozen=True, slots=True)
class WordingRow:
    """The headline in one wording, or in one language, as text.

    Attributes:
        name: The template, or the language.
        language: The language, or a dash.
        wordings: How many.
        value: The headline; the root of a mean square.
        interval: Its interval, with these wordings fixed.
        reason: Why there is no value or no interval; empty where there are both.
    """

    name: str
    language: str
    wordings: int
    value: str
    interval: str
    reason: str


def wording_reports(task: TaskResult) -> list[WordingReport]:
    """What a result says of its wordings."""
    try:
        return _REPORTS.validate_python(task.details.get("wording", []))
    except ValidationError:
        return []


def wording_rows(report: WordingReport) -> Iterator[WordingRow]:
    """The rows of a table of wordings."""
    for part in (*report.by_language, *report.by_wording):
        low, value, high = part.ci_low, part.value, part.ci_high
        if report.scale == "mean_square":
            low, value, high = root(low), root(value), root(high)
        yield WordingRow(
            part.name,
            part.language or "–",
            part.wordings,
            number(value) if report.scale == "mean_square" else signed(value),
            ends(low, high),
            part.reason or "" if value is None or low is None else "",
        )
