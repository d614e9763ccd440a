"""Headlines as tables display them, the states of tests, and scores as flat rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.methods import method_named
from t2ibench.methods.core.answer_counts import (
    RowShare,
    ShownAttribute,
    shown_attributes,
)
from t2ibench.methods.core.inference import QUESTIONS
from t2ibench.methods.core.scales import LEAN, SMALL, Scale, scale_named
from t2ibench.methods.core.schema import ImageTask
from t2ibench.results.schema import Headline, Results, Row, Score, TaskResult
from t2ibench.results.states import STATES, State

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class IntervalMark:
    """A value with its interval and the band of a fair model, on the scale of its display.

    The state is 'no_score' until `state_of` says more. An estimate may lie beyond what it
    estimates: `cut` where it or an end was cut to the range.
    """

    value: float | None
    low: float | None
    high: float | None
    state: State
    side: Literal["low", "high"] | None
    fair_low: float | None = None
    fair_high: float | None = None
    scale: Scale = LEAN
    cut: bool = False

    @property
    def label(self) -> str:
        """Return the name of the number on pages."""
        return self.scale.label

    @property
    def has_interval(self) -> bool:
        """Return whether both ends of the interval exist."""
        return self.low is not None and self.high is not None

    @property
    def has_band(self) -> bool:
        """Return whether the fair band exists."""
        return self.fair_low is not None and self.fair_high is not None

    @property
    def cut_above(self) -> bool:
        """Return whether the value or an end of its interval was clipped at 1."""
        return self.cut and max(self.value or 0.0, self.high or 0.0) >= 1

    @property
    def cut_below(self) -> bool:
        """Return whether the value or an end of its interval was clipped at -1."""
        return self.cut and min(self.value or 0.0, self.low or 0.0) <= -1

    @property
    def signed(self) -> bool:
        """Return whether the sign of the value is a direction."""
        return self.scale.directed

    @property
    def sized(self) -> bool:
        """Return whether the value is a size, written without a sign."""
        return not self.scale.signed

    @property
    def on_axis(self) -> IntervalMark:
        """Return the mark as positions on an axis from -1 to 1, clipped for drawing."""
        if self.scale.end == 1.0 and self.scale.bounded:
            return self
        return _at_ends(self, 1.0, [_part(end, self.scale.end) for end in _ends(self)])


def displayed(headline: Headline) -> IntervalMark:
    """Return a headline as tables show it, without its state, which `state_of` determines."""
    scale = scale_named(headline.scale)
    mark = IntervalMark(
        headline.value,
        headline.ci_low,
        headline.ci_high,
        "no_score",
        None,
        headline.fair_low,
        headline.fair_high,
        scale,
    )
    return within(mark, square=scale.rooted)


def within(mark: IntervalMark, square: bool) -> IntervalMark:
    """Return a mark clipped to the range of its scale; `square` takes roots of its numbers."""
    numbers = [root(end) if square else end for end in _ends(mark)]
    return _at_ends(mark, mark.scale.end if mark.scale.bounded else math.inf, numbers)


def _ends(mark: IntervalMark) -> tuple[float | None, ...]:
    """Return the value, both ends of the interval and both ends of the band of a mark."""
    return mark.value, mark.low, mark.high, mark.fair_low, mark.fair_high


def _part(value: float | None, end: float) -> float | None:
    """Return a number as a fraction of the end of its axis; None without a number."""
    return None if value is None else value / end


def _at_ends(
    mark: IntervalMark, end: float, numbers: Sequence[float | None]
) -> IntervalMark:
    """Return a mark with replaced numbers, clipped to the ends of its axis."""
    inside = [cut(number, end) for number in numbers]
    value, low, high, fair_low, fair_high = inside
    return replace(
        mark,
        value=value,
        low=low,
        high=high,
        fair_low=fair_low,
        fair_high=fair_high,
        cut=mark.cut or inside[:3] != list(numbers[:3]),
    )


def cut(value: float | None, end: float = 1.0) -> float | None:
    """Return a lean or a share clipped to its range; None without a value."""
    return None if value is None else min(max(value, -end), end)


def root(value: float | None) -> float | None:
    """Return the root of a mean square; 0 for a negative estimate."""
    return None if value is None else math.sqrt(max(value, 0.0))


def side_of(value: float | None) -> Literal["low", "high"] | None:
    """Return the pole that a value leans to, low or high; None for 0 or without a value."""
    return None if not value else "low" if value < 0 else "high"


def text_only(task: TaskResult) -> bool:
    """Return whether a result concerns an encoder's texts alone, without a generator."""
    if task.n_images or any(task.excluded.values()):
        return False
    return bool(task.n_prompts) or not issubclass(
        method_named(task.method).Task, ImageTask
    )


def in_two(results: Results) -> tuple[Results, Results]:
    """Return results in two parts: on the generator's images, and on encoders' texts alone."""
    parts: tuple[dict[str, TaskResult], dict[str, TaskResult]] = ({}, {})
    for name, task in results.tasks.items():
        parts[text_only(task)][name] = task
    of_images, of_texts = (results.model_copy(update={"tasks": part}) for part in parts)
    return of_images, of_texts


def shown_rows(task: TaskResult) -> tuple[ShownAttribute, ...]:
    """Return judges' answers about each prompt; empty if no judge was asked."""
    shares: dict[tuple[str, str | None, str], RowShare] = {}
    for row in task.by:
        for name, score in row.scores.items():
            for group in (row.group, None):
                share = RowShare(score.ci_low, score.ci_high, score.p_holm)
                shares.setdefault((row.name, group, name), share)
    return shown_attributes(task.details, lambda *key: shares.get(key))


ALPHA = 0.05


def state_of(task: TaskResult) -> State:
    """Return the state of a task's headline, such as clear.

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
    if max(-shown.low, shown.high) < SMALL and shown.scale.none_above:
        return "none_above"
    wide = (shown.high - shown.low) / 2 > shown.scale.matters
    return "cannot_tell" if wide and shown.low <= 0 <= shown.high else "not_clear"


def row_state(score: Score) -> State:
    """Return the state of one row of a task, such as an occupation."""
    if score.value is None:
        return "no_score"
    p = score.p_holm if score.p_holm is not None else score.p
    return "clear" if p is not None and p < ALPHA else "not_clear"


_NUMBERS = ("value", "ci_low", "ci_high", "p", "p_holm", "p_bh")
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
    *_NUMBERS,
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
    """Return a row for each task with the columns of `TASKS`, on the scale that pages show."""
    rows: list[list[object]] = []
    for name, task in sorted(results.tasks.items()):
        head, shown = task.headline, displayed(task.headline)
        numbers = (shown.value, shown.low, shown.high, shown.fair_low, shown.fair_high)
        left_out = sum(task.excluded.values())
        rows.append(
            [
                name,
                task.family,
                shown.label,
                state_of(task),
                *numbers,
                head.p,
                head.p_holm,
                head.square,
                task.n_images,
                task.n_prompts,
                left_out,
                head.direction,
                _reason(task),
            ]
        )
    return rows


def _reason(task: TaskResult) -> str | None:
    """Return why a task has no score or is inconclusive; None if it is conclusive."""
    state = state_of(task)
    if not STATES[state].unsure:
        return None
    why = task.inconclusive or task.reason or task.headline.reason
    if why is not None or state == "no_score":
        return why
    if task.headline.p is None:
        return "it has no p-value"
    if task.headline.ci_low is None or task.headline.ci_high is None:
        return "it has no interval"
    scale = scale_named(task.headline.scale)
    size = f"{scale.matters:g}{scale.unit}"
    what = "lean" if scale.matters == SMALL else "value"
    return f"its interval rules out neither balance nor a {what} of {size}"


def run_name(results: Results) -> str | None:
    """Return a name that distinguishes a run: its own, its folder's, or its model's."""
    folder = results.folder
    return (
        results.name
        or (folder.resolve().name if folder else None)
        or results.model.name
    )


def score_rows(results: Results) -> Iterator[list[object]]:
    """Yield every score of a run, of tasks and of their rows, with the columns of `SCORES`."""
    for name, task in results.tasks.items():
        for row, key, score, n_images in _scores_of(task):
            is_headline = isinstance(score, Headline)
            state = state_of(task) if key == "headline" else _state_if_tested(score)
            what = [name, task.method, row and row.name, row and row.group, key, state]
            numbers = [getattr(score, number) for number in _NUMBERS]
            inconclusive = task.inconclusive if is_headline else None
            about = [score.as_published, n_images, inconclusive, score.reason]
            yield [*what, *numbers, *_headline_cells(score), *about]


def _state_if_tested(score: Score) -> State | None:
    """Return the state of a score; None if it has a value without a test."""
    tested = score.value is None or score.p is not None
    return row_state(score) if tested else None


def _headline_cells(score: Score) -> list[object]:
    """Return the cells that only headlines have, such as the scale and the fair band."""
    head = score if isinstance(score, Headline) else Headline()
    return [head.scale, head.question, head.fair_low, head.fair_high, head.square]


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


def check_pandas() -> None:
    """Raise an error of one line where pandas, which data frames need, is not installed."""
    if find_spec("pandas") is None:
        raise T2IBenchError("Data frames need pandas.", "pip install pandas")


def frame_of(results: Results, table: str = "tasks") -> pd.DataFrame:
    """Return the results as a data frame."""
    check_pandas()
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
