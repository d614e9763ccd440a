"""Whether encoders and judges tell the same story."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import scipy
from markupsafe import Markup

from t2ibench.reports.html.page import fragment
from t2ibench.reports.view import RowView, RunView, SeriesView, TaskView
from t2ibench.results.display import displayed

_AGREEMENT = ("accuracy", "macro_f1", "kappa", "alpha", "kl_divergence")
_FEWEST = 5  # stimuli in common, to say how they agree


@dataclass(frozen=True, slots=True)
class Reading:
    """One encoder's, or judge's, own headline of a task.

    Attributes:
        task: The task.
        names: Who read it.
        values: Its headlines, as they are shown; None without one.
        flips: Whether their signs differ.
    """

    task: TaskView
    names: tuple[str, ...]
    values: tuple[float | None, ...]
    flips: bool


@dataclass(frozen=True, slots=True)
class Shared:
    """Two tests that ask the same of the same stimuli, in different ways.

    Attributes:
        first: One test.
        second: The other.
        count: Stimuli in common.
        correlation: Spearman's, of their leans.
        flips: Stimuli that lean clearly, and to opposite sides.
    """

    first: TaskView
    second: TaskView
    count: int
    correlation: float
    flips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """How far two judges agree about one question of a task.

    Attributes:
        task: The task.
        question: Which one; agreement is never pooled over questions.
        judges: Names of the two judges.
        n: Images that both gave a class.
        scores: accuracy, macro-F1, Cohen's kappa, Krippendorff's alpha and the divergence of the
            shares in nats; None where one is not defined.
        same_majority: Whether the most frequent class is the same.
    """

    task: TaskView
    question: str
    judges: str
    n: int
    scores: tuple[float | None, ...]
    same_majority: bool


def agreement_section(run: RunView) -> Markup | None:
    """Where encoders and judges agree and where they do not."""
    readings = [found for task in run.tasks if (found := _reading(task)) is not None]
    shared = list(_shared(run))
    questions = [question for task in run.tasks for question in questions_of(task)]
    if not readings and not shared and not questions:
        return None
    return fragment("agreement.html", readings=readings, shared=shared, questions=questions)


def questions_of(task: TaskView) -> list[Question]:
    """How far judges agree, question by question."""
    names = list(task.result.settings.judges)
    rows = task.result.details.get("agreement") or ()
    return [
        Question(
            task,
            str(row["bias"]),
            " and ".join(names[number] for number in row["judges"]),
            int(row["n"]),
            tuple(row[key] for key in _AGREEMENT),
            bool(row["same_majority"]),
        )
        for row in rows
        if max(row["judges"]) < len(names)
    ]


def _reading(task: TaskView) -> Reading | None:
    own = task.result.by_encoder
    if len(own) < 2:
        return None
    shown = [displayed(one.headline) for one in own.values()]
    values = tuple(one.value for one in shown)
    signs = {value > 0 for one, value in zip(shown, values, strict=True) if value and one.signed}
    return Reading(task, tuple(own), values, len(signs) > 1)


def _shared(run: RunView) -> Iterator[Shared]:
    """Pairs of tests of different families with the same poles and stimuli in common."""
    series = [
        (task, one)
        for task in run.tasks
        for one in task.series
        if one.series.axis is not None and not one.series.square
    ]
    for (first, a), (second, b) in combinations(series, 2):
        if first.result.method == second.result.method:
            continue
        sign = _same_poles(a, b)
        if sign is None:
            continue
        left, right = ({row.name: row for row in one.rows} for one in (a, b))
        names = sorted(left.keys() & right.keys())
        if len(names) < _FEWEST:
            continue
        xs = [left[name].mark.value or 0.0 for name in names]
        ys = [sign * (right[name].mark.value or 0.0) for name in names]
        if len(set(xs)) < 2 or len(set(ys)) < 2:
            continue
        correlation = float(scipy.stats.spearmanr(xs, ys).statistic)
        flips = tuple(name for name in names if _opposite(left[name], right[name], sign))
        yield Shared(first, second, len(names), correlation, flips)


def _same_poles(first: SeriesView, second: SeriesView) -> int | None:
    a, b = first.series.axis, second.series.axis
    assert a is not None and b is not None
    if (a.low, a.high) == (b.low, b.high):
        return 1
    return -1 if (a.low, a.high) == (b.high, b.low) else None


def _opposite(first: RowView, second: RowView, sign: int) -> bool:
    clear = first.mark.state == second.mark.state == "clear"
    return clear and (first.mark.value or 0.0) * sign * (second.mark.value or 0.0) < 0
