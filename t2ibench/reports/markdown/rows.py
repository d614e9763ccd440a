"""Sections of results.md on the rows of each task, and on further tables of its method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from t2ibench.decimals import p_value
from t2ibench.methods import method_named
from t2ibench.methods.core.score_names import split_score_name
from t2ibench.reports.cells import ends, level_name, score_words, signed
from t2ibench.reports.markdown.markup import escape, github
from t2ibench.reports.score_rows import ScoreTableView, score_table_views
from t2ibench.results.display import cut, shown_rows
from t2ibench.results.schema import Results, Row, Score, TaskResult


def rows_sections(results: Results) -> list[str]:
    """Return lines of results.md with each task's rows, and its method's further tables."""
    parts: list[str] = []
    for name, task in results.tasks.items():
        rows = _rows_table(task)
        if rows:
            parts += [f"## Rows of {name}", "", rows, ""]
        for view in score_table_views(task):
            parts += _score_table(name, view)
    return parts


def _score_table(task: str, view: ScoreTableView) -> Iterator[str]:
    yield from (f"## {escape(view.title)}: {task}", "")
    yield from (github(view.heads, view.rows), "")
    reasons = [f"No value: {reason}." for reason in view.reasons]
    for note in (view.caption, *reasons):
        yield from (escape(note), "")


def _rows_table(task: TaskResult) -> str | None:
    """Return a Markdown table of the rows behind a mean square, which hides their directions.

    It is None for other headlines, and without such rows.
    """
    if task.headline.scale != "mean_square":
        return None
    counted = {attribute.counted.attribute for attribute in shown_rows(task)}
    rows = [row for row in task.by if row.group not in counted]
    names = _row_scores(task, rows)
    if not names:
        return None
    level = level_name([task.settings.level])
    heads = ["Row", "Images"]
    for name in names:
        heads += [score_words(name), level, "p (Holm)"]
    with_scores = [row for row in rows if not row.scores.keys().isdisjoint(names)]
    return github(heads, [_cells(row, names) for row in with_scores])


def _row_scores(task: TaskResult, rows: Sequence[Row]) -> list[str]:
    """Return the names of the scores of rows that the task's method shows, without repeats."""
    wanted = method_named(task.method).row_scores
    names = [name for row in rows for name in row.scores]
    shown = [name for name in names if split_score_name(name)[0] in wanted]
    return list(dict.fromkeys(shown))


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    cells = [row.name, "–" if row.n_images is None else str(row.n_images)]
    for name in names:
        score = row.scores.get(name, Score())
        interval = ends(cut(score.ci_low), cut(score.ci_high))
        cells += [signed(cut(score.value)), interval, p_value(score.p_holm)]
    return cells
