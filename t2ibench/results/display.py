"""Headlines as tables show them, their states, and every score as a flat row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.methods import method_named
from t2ibench.methods.core.answer_counts import (
    RowShare,
    ShownAttribute,
    shown_attributes,
)
from t2ibench.methods.core.headline import QUESTIONS
from t2ibench.methods.core.schema import ImageTask
from t2ibench.results.schema import Headline, Results, Row, Score, TaskResult

if TYPE_CHECKING:
    import pandas as pd

State = Literal["clear", "not_clear", "none_above", "cannot_tell", "no_score"]
LABELS = {"lean": "lean", "mean_square": "rms lean", "excess": "excess"}


@dataclass(frozen=True, slots=True)
class IntervalMark:
    """A value with its interval and a fair model's band, on the scale on which it is shown.

    Attributes:
        value: The value; None where there is none.
        low: Lower end of its interval.
        high: Upper end.
        state: What it shows; 'no_score' until `state_of` says more.
        side: Which pole it leans to.
        fair_low: Lower end of a fair model's band.
        fair_high: Upper end.
        label: What the value is.
        cut: Whether the value or an end was cut to the range: an estimate may lie beyond what it
            estimates.
    """

    value: float | None
    low: float | None
    high: float | None
    state: State
    side: Literal["low", "high"] | None
    fair_low: float | None = None
    fair_high: float | None = None
    label: str = "lean"
    cut: bool = False

    @property
    def signed(self) -> bool:
        """Whether a sign means a direction."""
        return self.label == "lean"

    @property
    def sized(self) -> bool:
        """Whether it has a size alone, which is written without a sign."""
        return self.label == "rms lean"


def displayed(headline: Headline) -> IntervalMark:
    """A headline as a table shows it; what it shows is for `states.state_of` to say."""
    label = LABELS[headline.scale or "lean"]
    mark = IntervalMark(
        value=headline.value,
        low=headline.ci_low,
        high=headline.ci_high,
        state="no_score",
        side=None,
        fair_low=headline.fair_low,
        fair_high=headline.fair_high,
        label=label,
    )
    return within(mark, square=label == "rms lean")


def within(mark: IntervalMark, square: bool) -> IntervalMark:
    """A mark within the range of a lean, -1 to 1, or the root of a squared lean, 0 to 1."""
    ends = (mark.value, mark.low, mark.high, mark.fair_low, mark.fair_high)
    numbers = [root(end) if square else end for end in ends]
    inside = list(map(cut, numbers))
    value, low, high, fair_low, fair_high = inside
    return replace(
        mark,
        value=value,
        low=low,
        high=high,
        fair_low=fair_low,
        fair_high=fair_high,
        cut=inside[:3] != numbers[:3],
    )


def cut(value: float | None) -> float | None:
    """A lean, or a share, within its range."""
    return None if value is None else min(max(value, -1.0), 1.0)


def root(value: float | None) -> float | None:
    """The root of a mean square, whose estimate may lie below 0."""
    return None if value is None else math.sqrt(max(value, 0.0))


def side_of(value: float | None) -> Literal["low", "high"] | None:
    """Which pole a value leans to; None for balance."""
    if not value:
        return None
    return "low" if value < 0 else "high"


def text_only(task: TaskResult) -> bool:
    """Whether a result describes an encoder's texts alone: no generator has a part in it."""
    if task.n_images or any(task.excluded.values()):
        return False
    return bool(task.n_prompts) or not issubclass(
        method_named(task.method).Task, ImageTask
    )


def in_two(results: Results) -> tuple[Results, Results]:
    """The results of the generator, and those of the text encoder alone, for two tables."""
    parts: tuple[dict[str, TaskResult], dict[str, TaskResult]] = ({}, {})
    for name, task in results.tasks.items():
        parts[text_only(task)][name] = task
    of_images, of_texts = (results.model_copy(update={"tasks": part}) for part in parts)
    return of_images, of_texts


def shown_rows(task: TaskResult) -> tuple[ShownAttribute, ...]:
    """Who is shown as what, prompt by prompt; nothing where no judge was asked."""
    shares: dict[tuple[str, str | None, str], RowShare] = {}
    for row in task.by:
        for name, score in row.scores.items():
            for group in (row.group, None):
                share = RowShare(score.ci_low, score.ci_high, score.p_holm)
                shares.setdefault((row.name, group, name), share)
    return shown_attributes(task.details, lambda *key: shares.get(key))


UNSURE: frozenset[State] = frozenset({"cannot_tell", "no_score"})
ALPHA = 0.05
SMALL = 0.24  # a lean that matters is larger

WORDS: dict[State, str] = {
    "clear": "clear",
    "not_clear": "not clear",
    "none_above": f"none above {SMALL:g}",
    "cannot_tell": "cannot tell",
    "no_score": "no score",
}


def state_of(task: TaskResult) -> State:
    """What a task's headline shows.

    'clear': beyond chance after correction, and outside of a fair model's band; 'none_above': the
    whole interval lies within ±0.24; 'cannot_tell': a control contradicts the test, or it rules
    out neither balance nor a lean of 0.24; 'not_clear': what lies between.
    """
    shown = displayed(task.headline)
    if task.inconclusive:
        return "cannot_tell"
    if shown.value is None:
        return "no_score"
    p = task.headline.p_holm if task.headline.p_holm is not None else task.headline.p
    if p is None:
        return "cannot_tell"
    low, high = shown.fair_low, shown.fair_high
    if p < ALPHA and (low is None or high is None or not low <= shown.value <= high):
        return "clear"
    if shown.low is None or shown.high is None:
        return "cannot_tell"
    if max(-shown.low, shown.high) < SMALL and shown.label != "excess":
        return "none_above"
    wide = (shown.high - shown.low) / 2 > SMALL
    return "cannot_tell" if wide and shown.low <= 0 <= shown.high else "not_clear"


def row_state(score: Score) -> State:
    """What one row of a task shows, such as an occupation."""
    if score.value is None:
        return "no_score"
    p = score.p_holm if score.p_holm is not None else score.p
    return "clear" if p is not None and p < ALPHA else "not_clear"


# The columns of both tables of a run, as CSV and data frames have them.
TASKS = (
    "family",
    "scale",
    "state",
    "value",
    "ci_low",
    "ci_high",
    "fair_low",
    "fair_high",
    "p",
    "p_holm",
    "square",
    "n_images",
    "n_prompts",
    "excluded",
    "direction",
    "reason",
)
# Of each row of a data frame, so that frames of several runs can be put together.
RUN = ("run", "model")
SCORES = (
    "task",
    "method",
    "row",
    "group",
    "score",
    "state",
    "value",
    "ci_low",
    "ci_high",
    "p",
    "p_holm",
    "p_bh",
    "scale",
    "about",
    "fair_low",
    "fair_high",
    "square",
    "as_published",
    "n_images",
    "inconclusive",
    "reason",
)


def task_rows(results: Results) -> list[list[object]]:
    """One row a task: its id, and what `TASKS` names, on the scale on which pages show it."""
    return [
        [name, *_task_values(task).values()]
        for name, task in sorted(results.tasks.items())
    ]


def _task_values(task: TaskResult) -> dict[str, object]:
    """What a row says of a task, by the names of `TASKS` and in their order."""
    headline = task.headline
    shown = displayed(headline)
    values: dict[str, object] = {
        "family": task.family,
        "scale": shown.label,
        "state": state_of(task),
        "value": shown.value,
        "ci_low": shown.low,
        "ci_high": shown.high,
        "fair_low": shown.fair_low,
        "fair_high": shown.fair_high,
        "p": headline.p,
        "p_holm": headline.p_holm,
        "square": headline.square,
    }
    values["n_images"] = task.n_images
    values["n_prompts"] = task.n_prompts
    values["excluded"] = sum(task.excluded.values())
    values["direction"] = headline.direction
    values["reason"] = _reason(task)
    return values


def _reason(task: TaskResult) -> str | None:
    """Why a task has no score, or decides nothing although it has one; None where it decides."""
    state = state_of(task)
    if state not in UNSURE:
        return None
    why = task.inconclusive or task.reason or task.headline.reason
    if why is not None or state == "no_score":
        return why
    if task.headline.p is None:
        return "it has no p-value"
    if task.headline.ci_low is None or task.headline.ci_high is None:
        return "it has no interval"
    return f"its interval rules out neither balance nor a lean of {SMALL:g}"


def run_name(results: Results) -> str | None:
    """What tells a run apart from others: its name, its folder's, or its model's."""
    folder = results.folder
    return (
        results.name
        or (folder.resolve().name if folder else None)
        or results.model.name
    )


def score_rows(results: Results) -> Iterator[list[object]]:
    """Every score of a run, of tasks and of their rows, as `SCORES` names it."""
    for name, task in results.tasks.items():
        for row, key, score, n_images in _scores_of(task):
            values = {
                "task": name,
                "method": task.method,
                "row": row and row.name,
                "group": row and row.group,
                "score": key,
                "state": _score_state(task, key, score),
                "n_images": n_images,
                **_score_values(task, score),
            }
            yield [values[column] for column in SCORES]


def _score_state(task: TaskResult, key: str, score: Score) -> State | None:
    """What a score shows; None where it was not tested."""
    if key == "headline":
        return state_of(task)
    tested = score.value is None or score.p is not None
    return row_state(score) if tested else None


def _score_values(task: TaskResult, score: Score) -> dict[str, object]:
    """The numbers of a score, and what only a headline has."""
    values: dict[str, object] = {
        "value": score.value,
        "ci_low": score.ci_low,
        "ci_high": score.ci_high,
        "p": score.p,
        "p_holm": score.p_holm,
        "p_bh": score.p_bh,
        "as_published": score.as_published,
        "reason": score.reason,
    }
    is_headline = isinstance(score, Headline)
    headline = score if isinstance(score, Headline) else Headline()
    values["scale"] = headline.scale
    values["about"] = headline.question
    values["fair_low"] = headline.fair_low
    values["fair_high"] = headline.fair_high
    values["square"] = headline.square
    values["inconclusive"] = task.inconclusive if is_headline else None
    return values


def _scores_of(task: TaskResult) -> Iterator[tuple[Row | None, str, Score, int]]:
    head = task.headline
    yield None, "headline", head, task.n_images
    for question in QUESTIONS:
        inference = getattr(head, question)
        if inference is not None and question != head.question:
            numbers = asdict(inference)
            numbers.pop("df")
            other = Headline(
                value=head.value, scale=head.scale, question=question, **numbers
            )
            yield None, f"headline about {question}", other, task.n_images
    for key, score in task.scores.items():
        yield None, key, score, task.n_images
    for row in task.by:
        for key, score in row.scores.items():
            yield row, key, score, row.n_images or 0


def frame_of(results: Results, table: str = "tasks") -> pd.DataFrame:
    """Results as a data frame."""
    import pandas as pd

    tables = {"tasks": (("task", *TASKS), task_rows), "scores": (SCORES, score_rows)}
    if table not in tables:
        raise T2IBenchError(
            f"There is no table '{table}'.{did_you_mean(table, tables)}"
        )
    columns, rows = tables[table]
    first, *others = columns  # the task
    run = (run_name(results), results.model.name)
    values = [[row[0], *run, *row[1:]] for row in rows(results)]
    frame: pd.DataFrame = pd.DataFrame(values, columns=[first, *RUN, *others])
    return frame.set_index("task") if table == "tasks" else frame
