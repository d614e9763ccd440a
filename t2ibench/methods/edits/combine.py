"""The mean result over judges, with counts that are means over judges, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

import numpy as np

from t2ibench.methods.core.averages import average_results, bounded_mean
from t2ibench.methods.core.edit_report import (
    EDITS,
    AskedAbout,
    AttributeChange,
    EditOutcomes,
    EditReport,
    Moves,
    ShareChange,
    edit_report,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.edits.schema import EditsTask
from t2ibench.settings import Settings

RowT = TypeVar("RowT", ShareChange, EditOutcomes)


def combine(
    task: EditsTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the mean result over judges; counts of images are means over judges.

    It has the mean of the judges' intervals and the largest of their p-values: what makes a test of
    few images cautious has no influence that could be averaged.
    """
    mean = average_results(results, settings.level)
    if len(results) > 1 and mean.headline.value is not None:
        mean = bounded_mean(mean, results, settings.level)
    reports = [edit_report(result.details) for result in results]
    present = [report for report in reports if report is not None]
    if len(results) < 2 or mean.reason or len(present) < len(results):
        return mean
    details = {**mean.details, EDITS: asdict(mean_report(present))}
    return replace(mean, details=details)


def mean_report(reports: Sequence[EditReport]) -> EditReport:
    """Return the mean of several judges' counts of the same edits."""
    first = reports[0]
    attributes = []
    for number, attribute in enumerate(first.attributes):
        of_judges = [report.attributes[number] for report in reports]
        shares = _mean_rows([each.shares for each in of_judges])
        attributes.append(
            replace(attribute, shares=shares, moves=_mean_moves(of_judges))
        )
    return replace(
        first,
        attributes=tuple(attributes),
        outcomes=_mean_rows([report.outcomes for report in reports]),
        sources=_mean_counts([report.sources for report in reports]),
        asked=_mean_asked([report.asked for report in reports]),
    )


def _mean_asked(tables: Sequence[Sequence[AskedAbout]]) -> tuple[AskedAbout, ...]:
    """Return the questions with the mean over judges of the images that were answered."""
    return tuple(
        AskedAbout(
            rows[0].about,
            float(np.mean([row.images for row in rows])),
            float(np.mean([row.answered for row in rows])),
        )
        for rows in zip(*tables, strict=True)
    )


def _mean_rows(tables: Sequence[Sequence[RowT]]) -> tuple[RowT, ...]:
    """Return the rows that all judges have, each with the mean of every number."""
    by_key = [{(row.edit, row.group): row for row in table} for table in tables]
    shared = [key for key in by_key[0] if all(key in table for table in by_key)]
    return tuple(_mean_row([table[key] for table in by_key]) for key in shared)


def _mean_row(rows: Sequence[RowT]) -> RowT:
    """Return one row with the mean of every number; None where a judge has none.

    Counts by reason are means, too, over all reasons that any judge has.
    """
    numbers: dict[str, Any] = {}
    for field in fields(rows[0]):
        values = [getattr(row, field.name) for row in rows]
        if any(isinstance(value, str) for value in values):
            continue
        if any(isinstance(value, dict) for value in values):
            numbers[field.name] = _mean_counts(values)
            continue
        is_known = all(value is not None for value in values)
        numbers[field.name] = float(np.mean(values)) if is_known else None
    if isinstance(numbers.get("pairs"), float):
        numbers["pairs"] = round(numbers["pairs"] or 0.0)
    return replace(rows[0], **numbers)


def _mean_counts(tables: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each count over judges, 0 for those of whom it has none."""
    names = sorted({name for table in tables for name in table})
    return {
        name: float(np.mean([table.get(name, 0) for table in tables])) for name in names
    }


def _mean_moves(attributes: Sequence[AttributeChange]) -> tuple[Moves, ...]:
    """Return how many images moved from each class to each other one, on average over judges."""
    totals: dict[tuple[str, str, str, str], float] = {}
    for attribute in attributes:
        for move in attribute.moves:
            key = move.edit, move.group, move.before, move.after
            totals[key] = totals.get(key, 0.0) + move.images
    n_judges = len(attributes)
    return tuple(Moves(*key, total / n_judges) for key, total in totals.items())
