"""Every score of a run as one flat row, for tables of other programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from t2ibench.methods.core.headline import Inference, Question
from t2ibench.results.schema import Headline, Results, Score, TaskResult

COLUMNS = (
    *("task", "method", "row", "score", "value", "ci_low", "ci_high", "p", "p_holm", "p_bh"),
    *("scale", "about", "fair_low", "fair_high", "square", "as_published"),
    *("n_images", "inconclusive", "reason"),
)


def score_rows(results: Results) -> Iterator[dict[str, Any]]:
    """Every score of a run, of tasks and of their rows."""
    for name, task in results.tasks.items():
        for row, key, score, n_images in _scores(task):
            head = score if isinstance(score, Headline) else Headline()
            values = (
                *(name, task.method, row, key),
                *(score.value, score.ci_low, score.ci_high, score.p, score.p_holm, score.p_bh),
                *(head.scale, head.question, head.fair_low, head.fair_high, head.square),
                *(score.as_published, n_images),
                task.inconclusive if isinstance(score, Headline) else None,
                score.reason,
            )
            yield dict(zip(COLUMNS, values, strict=True))


def _scores(task: TaskResult) -> Iterator[tuple[str, str, Score, int]]:
    """Row, name, score and number of images of every score of a task."""
    head = task.headline
    yield "", "headline", head, task.n_images
    asked: tuple[tuple[Question, Inference | None], ...] = (
        ("these", head.these),
        ("like_these", head.like_these),
    )
    for question, found in asked:
        if found is not None and question != head.question:
            numbers = asdict(found)
            numbers.pop("df")
            other = Headline(value=head.value, scale=head.scale, question=question, **numbers)
            yield "", f"headline about {question}", other, task.n_images
    for key, score in task.scores.items():
        yield "", key, score, task.n_images
    for row in task.by:
        for key, score in row.scores.items():
            yield row.name, key, score, row.n_images or 0
