"""Numbers and facts of a run as the words of its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

from t2ibench.methods import METHODS
from t2ibench.methods.core.answer_counts import counts_text, sorted_rows
from t2ibench.methods.core.describe import people
from t2ibench.methods.core.presentation import Axis
from t2ibench.methods.registry import needs
from t2ibench.reports.cells import score_words
from t2ibench.reports.html.numbers import at, plain, signed
from t2ibench.reports.overview import brief, earlier
from t2ibench.reports.view import (
    CONTROLS,
    FamilyView,
    RowView,
    RunView,
    SeriesView,
    TaskView,
    poles,
)
from t2ibench.results.display import WORDS, IntervalMark
from t2ibench.results.judge_checks import judges_said
from t2ibench.settings import Settings
from t2ibench.store.distinct import REPEATED

_FAMILY_NOTES = {
    "rms lean": "no direction: how one-sided, from even (0) to one answer (1)",
    "excess": "0 = leans no more than everyday words do",
}
_MANY = 5
_SOME = 2
_FEW_IMAGES = 20


def ends(mark: IntervalMark, sized: bool = False) -> str:
    """Both ends of an interval, and that one was cut to the range."""
    if mark.low is None or mark.high is None:
        return ""
    shown = plain if sized else signed
    return f"{shown(mark.low)} to {shown(mark.high)}{' (cut)' if mark.cut else ''}"


def task_ends(task: TaskView) -> str:
    """Both ends of a headline's interval, as its value is written."""
    return ends(task.mark, task.mark.sized)


def coded(text: str) -> Markup:
    """A text in which `backticks` set code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = [Markup("<code>{}</code>").format(part) if k % 2 else escape(part)
              for k, part in enumerate(parts)]  # fmt: skip
    return Markup("").join(marked)


def rail_class(mark: IntervalMark) -> str:
    """The classes of a mark's rail: state and side."""
    if mark.state == "clear":
        return {"low": "left clear", "high": "right clear", None: "plain clear"}[mark.side]
    return {"not_clear": "null", "none_above": "null small"}.get(mark.state, "unsure")


def _tone(mark: IntervalMark) -> str:
    if mark.state != "clear":
        return "faint"
    return {"low": "t-left", "high": "t-right", None: ""}[mark.side]


def spoken(task: TaskView) -> str:
    """A task's mark in one sentence, for those who do not see it."""
    if task.mark.value is None:
        return f"{task.name}: {WORDS[task.mark.state]}. {task.sentence}"
    interval = ends(task.mark)
    parts = [f"{task.name}: {task.scale} {signed(task.mark.value)}"]
    parts += [f"interval {interval}"] if interval else []
    return f"{', '.join([*parts, WORDS[task.mark.state]])}. {task.sentence}"


def row_spoken(row: RowView, axis: Axis | None) -> str:
    """A row's mark in words."""
    interval = ends(row.mark, axis is None)
    told = f"{row.name}: {plain(row.mark.value) if axis is None else signed(row.mark.value)}"
    if axis is not None and row.mark.side is not None and row.mark.state == "clear":
        told += f" (to {axis.low if row.mark.side == 'low' else axis.high})"
    return f"{told}, interval {interval}, {WORDS[row.mark.state]}" if interval else told


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
    return task.scale not in {"lean", "excess"} and all(tick >= 0 for tick in ticks(task))


def nothing(task: TaskView) -> str:
    """What stands in the middle of a rail without a mark."""
    return "cannot tell" if task.result.inconclusive else "no score"


def family_note(family: FamilyView) -> str:
    """How to read the numbers of a family."""
    if family.name == CONTROLS:
        return "every working encoder finds these; not counted above"
    tasks = family.tasks
    return _FAMILY_NOTES.get(tasks[0].scale, "") if tasks else ""


def image_count_text(task: TaskView) -> str:
    """How many images and prompts a task is based on."""
    count, prompts = task.result.n_images, task.result.n_prompts
    return f"{count:,} images of {prompts} prompts" if count else f"{prompts} texts, no image"


def clear_count_text(series: SeriesView) -> str:
    """How many rows lean clearly, and to which side."""
    low, high = series.clear
    axis, total = series.series.axis, len(series.rows)
    if axis is None:
        return f"{low + high} of {total} clear after correction"
    sides = f"{low} clearly to {people(axis.low)}, {high} to {people(axis.high)}"
    return f"{sides}, {total - low - high} not clear"


def estimand(task: TaskView) -> str:
    """What the headline estimates."""
    return METHODS.get(task.result.method).estimand


def interval_text(task: TaskView) -> str:
    """What the interval is about."""
    head, level = task.result.headline, 100 * task.result.settings.level
    about = {
        "fixed_prompts": "of these very prompts, with other images",
        "prompt_population": "of prompts like these, with other images",
        None: "",
    }[head.question]
    told = f"{level:g} %, {about}." if about else f"{level:g} %."
    if task.mark.fair_low is not None and task.mark.fair_high is not None:
        told += (
            f" Fair band: a fair model falls between {signed(task.mark.fair_low)} and "
            f"{signed(task.mark.fair_high)} at this size."
        )
    return told


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
            number = f"{here.value:.3f}" if here is not None and here.value is not None else "–"
            yield entry["model"], score_words(name), f"{value:.3f}", number, entry["source"]


def summary(run: RunView) -> str:
    """The size of a run."""
    tasks = [task.result for task in run.tasks]
    counts = {task.settings.images_per_prompt for task in tasks}
    sizes = sorted(count for count in counts if count is not None)
    image = "image" if sizes == [1] else "images"
    each = f" · {' or '.join(map(str, sizes))} {image} a prompt" if sizes else ""
    texts = f" and {len(run.texts)} on words alone" if run.texts else ""
    if not tasks:
        plural = "test" if len(run.texts) == 1 else "tests"
        return f"{len(run.texts)} {plural} on words alone, no image"
    return f"{len(tasks)} {'test' if len(tasks) == 1 else 'tests'} on images{texts}{each}"


def limits(run: RunView) -> list[tuple[str, str]]:
    """What the run cannot show, first."""
    names = ", ".join(run.encoders)
    what = "image" if run.tasks else "word"
    instruments = {
        0: ("No encoder.", "Only answers of a judge were scored."),
        1: ("One encoder.", f"{names} measured every {what}. Another could disagree."),
    }
    several = (f"{len(run.encoders)} encoders.", f"{names}: means, and each one’s own.")
    found = [instruments.get(len(run.encoders), several)]
    if run.judges:
        names = f"{'One judge' if len(run.judges) == 1 else 'Judges'}, {', '.join(run.judges)}"
        judged = [task.result for task in run.tasks if task.result.settings.judges]
        told = list(dict.fromkeys(filter(None, map(judges_said, judged))))
        found.append((f"{names}.", " ".join(told[:_MANY])))
    least = min((row.n_images or 0 for task in run.tasks for row in task.result.by), default=0)
    if least and least < _FEW_IMAGES:
        images = "one image" if least == 1 else f"{least} images"
        found.append(("Few images.", f"Some rows rest on only {images}."))
    failed = [task for task in run.tests if task.result.inconclusive]
    if failed:
        tests = "test fails its" if len(failed) == 1 else "tests fail their"
        found.append((f"{len(failed)} {tests} own check", f"and cannot tell: {_some(failed)}."))
    repeated = {one.prompt for task in run.tasks for one in task.result.repeated_prompts}
    if repeated:
        prompts = "prompt repeats its" if len(repeated) == 1 else "prompts repeat their"
        counted = "Each distinct image counts once; see Diversity."
        found.append((f"{len(repeated):,} {prompts} images.", counted))
    reasons = [one for task in run.tasks for one in task.result.excluded.items()]
    left = sum(count for reason, count in reasons if reason != REPEATED)
    if left:
        found.append((f"{left:,} left out.", "Images or answers that are missing; listed below."))
    found += filter(None, [earlier(run)])
    found.append(("Only these prompts and groups", "were measured."))
    return found


def _some(tasks: Sequence[TaskView]) -> str:
    names = ", ".join(task.name for task in tasks[:_SOME])
    return f"{names} and {len(tasks) - _SOME} more" if len(tasks) > _SOME else names


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
        *(signed, plain, at, ends, task_ends, coded, css, rail_class, spoken, row_spoken, ticks),
        *(one_sided, brief, nothing, poles, family_note, image_count_text, clear_count_text),
        *(estimand, interval_text, prompts_said, published),
        *(people, sorted_rows, counts_text, judges_said),
    )
}
