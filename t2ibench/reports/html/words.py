"""Numbers and facts of a run as the words of its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markupsafe import Markup, escape

from t2ibench.methods import method_named
from t2ibench.methods.core.answer_counts import class_colours, sorted_rows
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.methods.registry import needs
from t2ibench.reports.cells import score_words
from t2ibench.reports.html.numbers import at, plain, signed
from t2ibench.reports.sentences import (
    brief,
    clear_count_text,
    controls_by_reader,
    ends,
    family_note,
    image_count_text,
    interval_text,
    nothing,
    row_spoken,
    spoken,
    task_ends,
)
from t2ibench.reports.view import TaskView, poles
from t2ibench.results.display import IntervalMark
from t2ibench.results.judge_checks import judges_said
from t2ibench.settings import Settings

_MANY = 5


def coded(text: str) -> Markup:
    """A text in which `backticks` set code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = [
        Markup("<code>{}</code>").format(part) if k % 2 else escape(part)
        for k, part in enumerate(parts)
    ]
    return Markup("").join(marked)


def rail_class(mark: IntervalMark) -> str:
    """The classes of a mark's rail: state and side."""
    if mark.state == "clear":
        return {"low": "left clear", "high": "right clear", None: "plain clear"}[
            mark.side
        ]
    return {"not_clear": "null", "none_above": "null small"}.get(mark.state, "unsure")


def _tone(mark: IntervalMark) -> str:
    if mark.state != "clear":
        return "faint"
    return {"low": "t-left", "high": "t-right", None: ""}[mark.side]


def ticks(task: TaskView) -> list[float]:
    """The rows behind a headline, with the sign that they have in it."""
    if not task.series:
        return []
    return [
        -(row.mark.value or 0.0) if row.flipped else row.mark.value or 0.0
        for row in task.series[0].rows
    ]


def one_sided(task: TaskView) -> bool:
    """Whether nothing of a task lies below 0, so that half of the axis will do."""
    return task.mark.sized and all(tick >= 0 for tick in ticks(task))


def estimand(task: TaskView) -> str:
    """What the headline estimates."""
    return method_named(task.result.method).estimand


def prompts_said(task: TaskView) -> str:
    """Some of a task's prompts."""
    assert task.spec is not None
    asked = needs(task.spec, Settings.of(task.result.settings))
    texts = [need.prompt for need in asked.prompts] or list(asked.texts)
    shown = ", ".join(f"“{text}”" for text in texts[:_MANY])
    more = len(texts) - _MANY
    return f"{shown} and {more:,} more" if more > 0 else shown


def published(task: TaskView) -> Iterator[tuple[str, str, str, str, str]]:
    """Published values beside this run's."""
    for entry in task.result.published:
        for name, value in entry["scores"].items():
            here = task.result.scores.get(name)
            number = (
                f"{here.value:.3f}"
                if here is not None and here.value is not None
                else "–"
            )
            yield (
                entry["model"],
                score_words(name),
                f"{value:.3f}",
                number,
                entry["source"],
            )


def css(text: str) -> str:
    """A text within quotes of a style sheet."""
    return re.sub(r"[^\w .,:·+-]", "", text)


FILTERS: dict[str, Callable[..., object]] = {
    "thousands": lambda number: f"{number:,}",
    "tone": lambda task: _tone(task.mark),
    "row_tone": lambda row: _tone(row.mark),
} | {
    one.__name__: one
    for one in (
        *(
            signed,
            plain,
            at,
            ends,
            task_ends,
            coded,
            css,
            rail_class,
            spoken,
            row_spoken,
            ticks,
        ),
        *(
            one_sided,
            brief,
            nothing,
            poles,
            family_note,
            image_count_text,
            clear_count_text,
        ),
        *(estimand, interval_text, prompts_said, published, controls_by_reader),
        *(people, class_colours, sorted_rows, counts_text, judges_said),
    )
}
