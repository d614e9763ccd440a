"""Two runs side by side: a model and its debiased version, or a model and its training images."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from t2ibench.methods import METHODS
from t2ibench.results.schema import Results, Score, TaskResult


@dataclass(frozen=True, slots=True)
class Difference:
    """One score in two runs.

    Attributes:
        task: Its task.
        row: The bias, prompt or concept; empty for the headline.
        name: The score.
        first: In the first run.
        second: In the second.
        value: First minus second.
        low: Lower end of the difference's interval.
        high: Upper end.
        note: Why they cannot be compared, or what to know.
    """

    task: str
    row: str
    name: str
    first: Score
    second: Score
    value: float | None
    low: float | None
    high: float | None
    note: str = ""


def difference_interval(first: Score, second: Score) -> tuple[float | None, float | None]:
    """The interval of a difference from two intervals (MOVER; Zou and Donner 2008).

    It assumes independent runs. Two models that start from the same noise are not quite
    independent, so their interval is somewhat too wide.

    Args:
        first: A score of the first run.
        second: The same score of the second.

    Returns:
        Lower and upper end of first − second; None where a value or an end is missing.
    """
    ends = (first.value, first.ci_low, first.ci_high, second.value, second.ci_low, second.ci_high)
    if any(end is None for end in ends):
        return None, None
    a, a_low, a_high, b, b_low, b_high = (float(end or 0.0) for end in ends)
    low = a - b - math.hypot(a - a_low, b_high - b)
    high = a - b + math.hypot(a_high - a, b - b_low)
    return low, high


def compare(first: Results, second: Results) -> Iterator[Difference]:
    """Headlines of the tasks that both runs have, and the rows of methods that rank biases.

    Args:
        first: Results of the first run.
        second: Results of the second.

    Yields:
        Differences, first − second, in the order of the first run's tasks.
    """
    for name, task in first.tasks.items():
        other = second.tasks.get(name)
        if other is None:
            continue
        note = _comparison_note(task, other)
        yield _difference(name, "", "headline", task.headline, other.headline, note)
        for score in METHODS.get(task.method).row_scores:
            theirs = {row.name: row.scores for row in other.by}
            for row in task.by:
                if score in row.scores and score in theirs.get(row.name, {}):
                    both = row.scores[score], theirs[row.name][score]
                    yield _difference(name, row.name, score, *both, note)


def _comparison_note(first: TaskResult, second: TaskResult) -> str:
    """What makes two results of a task hard to compare."""
    if first.task_hash != second.task_hash:
        return "other version of the task"
    if first.settings.encoders != second.settings.encoders:
        return "other encoders"
    if first.settings.judges != second.settings.judges:
        return "other judges"
    return "other numbers of images" if first.n_images != second.n_images else ""


def _difference(
    task: str, row: str, name: str, first: Score, second: Score, note: str
) -> Difference:
    value = None
    if first.value is not None and second.value is not None:
        value = first.value - second.value
    low, high = difference_interval(first, second)
    return Difference(task, row, name, first, second, value, low, high, note)
