"""Tables of scores that tasks define, as text cells for every kind of page."""

from __future__ import annotations

from dataclasses import dataclass

from t2ibench.decimals import p_value
from t2ibench.methods.core.score_table import adjusted_p_values, score_tables
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
    views = []
    for table in score_tables(task.details):
        adjusted = adjusted_p_values(task.details, table)
        write_value = signed if table.signed else number
        rows = []
        reasons = []
        for label, name in table.rows.items():
            score = task.scores.get(name, Score())
            interval = ends(score.ci_low, score.ci_high)
            p_values = p_value(score.p), p_value(adjusted.get(name))
            rows.append((label, write_value(score.value), interval, *p_values))
            reasons += [score.reason] if score.value is None and score.reason else []
        heads = ("Score", "Value", level_name([task.settings.level]), "p", "p (Holm)")
        views.append(
            ScoreTableView(
                table.title,
                table.caption,
                heads,
                tuple(rows),
                tuple(dict.fromkeys(reasons)),
            )
        )
    return views
