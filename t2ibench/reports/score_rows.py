"""Tables of scores that tasks define, as text cells for every kind of page."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.decimals import p_value
from t2ibench.methods.core.score_table import (
    ScoreTable,
    adjusted_p_values,
    score_tables,
)
from t2ibench.reports.cells import ends, level_name, number, signed
from t2ibench.results.schema import Score, TaskResult


@dataclass(frozen=True, slots=True)
class ScoreTableView:
    """A table of scores as text cells, with a caption and the reasons for missing values."""

    title: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    reasons: tuple[str, ...]  # why scores have no value, each once


def score_table_views(task: TaskResult) -> list[ScoreTableView]:
    """Return the tables of scores that a task's method defines, as text cells."""
    return [_view(task, table) for table in score_tables(task.details)]


def _view(task: TaskResult, table: ScoreTable) -> ScoreTableView:
    write_value = signed if table.signed else number
    scores = [task.scores.get(name, Score()) for name in table.rows.values()]
    adjusted = adjusted_p_values(task.details, table)
    corrected = [adjusted.get(name) for name in table.rows.values()]
    columns = {
        "Score": list(table.rows),
        "Value": [write_value(score.value) for score in scores],
        level_name([task.settings.level]): [
            ends(score.ci_low, score.ci_high) for score in scores
        ],
    }
    # A column without any p-value would be one of dashes, which say that something is missing.
    if any(score.p is not None for score in scores):
        columns["p"] = [p_value(score.p) for score in scores]
    if any(p is not None for p in corrected):
        columns["p (Holm)"] = [p_value(p) for p in corrected]
    reasons = [
        score.reason for score in scores if score.value is None and score.reason
    ]
    return ScoreTableView(
        table.title,
        table.caption,
        tuple(columns),
        tuple(zip(*columns.values(), strict=True)),
        tuple(dict.fromkeys(reasons)),
    )
