"""How much the wording of the prompts matters, as pages show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import TypeAdapter, ValidationError

from t2ibench.methods.core.wording_report import PartScore, WordingReport
from t2ibench.reports.cells import ends, number, signed
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
        low, value, high = (
            _shown(x, report.scale) for x in (part.ci_low, part.value, part.ci_high)
        )
        yield WordingRow(
            part.name,
            part.language or "–",
            part.wordings,
            number(value) if report.scale == "mean_square" else signed(value),
            ends(low, high),
            _reason(part),
        )


def _reason(part: PartScore) -> str:
    return part.reason or "" if part.value is None or part.ci_low is None else ""


def _shown(value: float | None, scale: str) -> float | None:
    if value is None or scale != "mean_square":
        return value
    return float(np.sqrt(max(value, 0.0)))
