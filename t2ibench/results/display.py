"""Headlines on the scale that tables show, states of tests, and scores as table rows."""

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
    """A value with its interval and fair band, on the scale that pages show.

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
        """Name of the value's scale on pages, such as 'lean'."""
        return self.scale.label

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are known."""
        return self.low is not None and self.high is not None

    @property
    def has_band(self) -> bool:
        """Whether both ends of the fair band are known."""
        return self.fair_low is not None and self.fair_high is not None

    @property
    def cut_above(self) -> bool:
        """Whether the value or an end of its interval was cut at 1."""
        return self.cut and max(self.value or 0.0, self.high or 0.0) >= 1

    @property
    def cut_below(self) -> bool:
        """Whether the value or an end of its interval was cut at −1."""
        return self.cut and min(self.value or 0.0, self.low or 0.0) <= -1

    @property
    def signed(self) -> bool:
        """Whether the sign of the value says to which pole it leans."""
        return self.scale.directed

    @property
    def sized(self) -> bool:
        """Whether the value is a size, which is written without a sign."""
        return not self.scale.signed

    @property
    def on_axis(self) -> IntervalMark:
        """The mark with its numbers as positions on an axis from −1 to 1, cut at the ends."""
        if self.scale.end == 1.0 and self.scale.bounded:
            return self
        return _at_ends(self, 1.0, [_part(end, self.scale.end) for end in _ends(self)])


def displayed(headline: Headline) -> IntervalMark:
    """Return a headline on the scale that tables show; its state is not determined yet."""
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
    """Return a mark cut to the range of its scale; `square` takes roots of its numbers first."""
    numbers = [root(end) if square else end for end in _ends(mark)]
    return _at_ends(mark, mark.scale.end if mark.scale.bounded else math.inf, numbers)


def _ends(mark: IntervalMark) -> tuple[float | None, ...]:
    """Return a mark's value, the ends of its interval, and the ends of its fair band."""
    return mark.value, mark.low, mark.high, mark.fair_low, mark.fair_high


def _part(value: float | None, end: float) -> float | None:
    """Return a number divided by the end of its axis; None stays None."""
    return None if value is None else value / end


def _at_ends(
    mark: IntervalMark, end: float, numbers: Sequence[float | None]
) -> IntervalMark:
    """Return a mark with these five numbers instead of its own, cut to −`end` and `end`."""
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
    """Return a number cut to the range from −`end` to `end`; None stays None."""
    return None if value is None else min(max(value, -end), end)


def root(value: float | None) -> float | None:
    """Return the root of a mean square, 0 if it is negative; None stays None."""
    return None if value is None else math.sqrt(max(value, 0.0))


def side_of(value: float | None) -> Literal["low", "high"] | None:
    """Return the pole that a value leans to: 'low' if negative, 'high' if positive, else None."""
    return None if not value else "low" if value < 0 else "high"


def text_only(task: TaskResult) -> bool:
    """Return whether a result is about an encoder's texts alone, without images."""
    if task.n_images or any(task.excluded.values()):
        return False
    return bool(task.n_prompts) or not issubclass(
        method_named(task.method).Task, ImageTask
    )


def in_two(results: Results) -> tuple[Results, Results]:
    """Return a run's results in two parts: of tests on images, and of tests on texts alone."""
    parts: tuple[dict[str, TaskResult], dict[str, TaskResult]] = ({}, {})
    for name, task in results.tasks.items():
        parts[text_only(task)][name] = task
    of_images, of_texts = (results.model_copy(update={"tasks": part}) for part in parts)
    return of_images, of_texts


def shown_rows(task: TaskResult) -> tuple[ShownAttribute, ...]:
    """Return judges' answers about each prompt, for each question; empty if no judge was asked."""
    shares: dict[tuple[str, str | None, str], RowShare] = {}
    for row in task.by:
        for name, score in row.scores.items():
            for group in (row.group, None):
                share = RowShare(score.ci_low, score.ci_high, score.p_holm)
                shares.setdefault((row.name, group, name), share)
    return shown_attributes(task.details, lambda *key: shares.get(key))


ALPHA = 0.05


def state_of(task: TaskResult) -> State:
    """Return the state of a task's headline, such as 'clear' or 'cannot_tell'.

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
    """Return the state of a row's score: 'clear', 'not_clear' or 'no_score'."""
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
    """Return a table row for each task, with its name and the columns of `TASKS`."""
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
    """Return why a task is inconclusive or has no score; None if it is neither."""
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
    """Return a name for the run: its own, or else its folder's or its model's; None if none."""
    folder = results.folder
    return (
        results.name
        or (folder.resolve().name if folder else None)
        or results.model.name
    )


def score_rows(results: Results) -> Iterator[list[object]]:
    """Yield a table row with the columns of `SCORES` for each score of a run's tasks and rows."""
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
    """Return the state of a score; None if it has a value and no p-value."""
    tested = score.value is None or score.p is not None
    return row_state(score) if tested else None


def _headline_cells(score: Score) -> list[object]:
    """Return the table cells that only headlines fill, such as the scale and the fair band."""
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
    """Return the tasks or the scores of a run as a data frame."""
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
