"""Sentences about runs, tests and rows that all pages use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from t2ibench.methods.core.describe import GROUP, listed, people, shown_sentence
from t2ibench.methods.core.edit_report import edit_report
from t2ibench.methods.core.headline import Control
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.edit_counts import edits_counted
from t2ibench.reports.html.numbers import plain, signed
from t2ibench.reports.largest_lean import none_above, possible
from t2ibench.reports.positive_controls import UNTRAINED, controls_said
from t2ibench.results.display import ALPHA, IntervalMark
from t2ibench.results.judge_checks import judges_said, short_questions
from t2ibench.results.schema import TaskResult
from t2ibench.results.states import STATES

if TYPE_CHECKING:
    from t2ibench.reports.view import FamilyView, RowView, RunView, SeriesView, TaskView

CONTROLS = "controls"  # name of the group of positive controls
_UNSURE = STATES["cannot_tell"].word
_SOME = 2
_NAMED = 3


def task_sentence(task: TaskResult, mark: IntervalMark, axis: Axis | None) -> str:
    """Return a task's result in words; without a clear lean, with the largest that is possible."""
    sentence = task.headline.direction or task.reason or task.headline.reason or ""
    p = task.headline.p
    if mark.state in {"clear", "no_score"} or task.inconclusive:
        return sentence
    if p is not None and p < ALPHA:
        sentence = f"{sentence} Corrected for all tests of this run, that is not clear."
    elif sentence.startswith("Not clear") and mark.state == "cannot_tell":
        open_, _, remainder = sentence.removeprefix("Not clear").partition(".")
        sentence = f"{_UNSURE.capitalize()}{open_}: the interval is wide.{remainder}"
    if mark.state == "cannot_tell":
        return sentence
    if mark.state == "none_above":
        return none_above(mark, axis)
    return f"{sentence} {possible(mark, axis)}."


def brief(task: TaskView) -> str:
    """Return a task's result in a few words."""
    if task.mark.state == "clear" or task.result.inconclusive:
        return task.finding or f"{STATES[task.mark.state].word.capitalize()}."
    if task.mark.state == "cannot_tell":
        return f"{_UNSURE.capitalize()}: the interval is wide."
    if task.mark.state == "no_score":
        return "No score."
    if task.mark.state == "none_above":
        return none_above(task.mark, task.shown.axis)
    text = possible(task.mark, task.shown.axis)
    return f"{STATES[task.mark.state].word.capitalize()}: {text[:1].lower()}{text[1:]}."


def verdict(run: RunView) -> list[tuple[str, bool]]:
    """Return a run's summary as parts of text, each with whether it is emphasised.

    A warning of positive controls comes first, then how many tests lean clearly.
    """
    tests = run.tests
    counts = run.counts()
    failed, _ = controls_said(run)
    parts = [(f"{failed} ", True)] if failed else []
    if not tests:
        what = "no task on images" if not run.tasks else "nothing but positive controls"
        return [*parts, (f"{run.name}: {what} was scored.", False)]
    if not counts["clear"]:
        text = _without_clear_test(run, len(tests), counts["cannot_tell"])
        return [*parts, (f"{text}{_not_answered(run)}", False)]
    subject = "the one test"
    if len(tests) > 1:
        subject = f"{counts['clear']} of {len(tests)} tests"
    parts.append((f"In images of {run.title}, {subject} ", False))
    parts.append(("lean clearly" if counts["clear"] > 1 else "leans clearly", True))
    findings = " ".join([".", *_named_findings(run)])
    parts.append((f"{findings}{_not_answered(run)}", False))
    return parts


def _without_clear_test(run: RunView, n_tests: int, unsure: int) -> str:
    """Return the summary of a run in which no test leans clearly; prompts may, of a single test."""
    start = f"In images of {run.title},"
    if n_tests > 1:
        end = f"; {unsure} {_UNSURE}." if unsure else "."
        return f"{start} none of {n_tests} tests shows a clear lean{end}"
    text = f"{start} the one test shows no clear lean."
    if unsure:
        text = f"{start} the one test {_UNSURE} whether they lean."
    rows = [row for shown in run.tests[0].prompts for row in shown.rows]
    if any(row.clear for row in rows):
        text += f" As judged, {shown_sentence(rows)}."
    return text


def _not_answered(run: RunView) -> str:
    """Return a sentence on the questions of a run's one test that nobody answered; else ""."""
    if len(run.tests) != 1:
        return ""
    questions = run.tests[0].result.questions
    names = short_questions([question.about for question in questions])
    silent = [
        name
        for name, question in zip(names, questions, strict=True)
        if not question.answered
    ]
    return f" Not answered: {listed(silent)}." if silent else ""


def _named_findings(run: RunView) -> list[str]:
    """Return the results that a run's summary names, with who read the images where that differs.

    An encoder and a judge may count the same prompts, and need not agree.
    """
    tasks = named(run)
    has_answers = [bool(task.prompts) for task in tasks]
    if all(has_answers) or not any(has_answers):
        return [task.finding for task in tasks]
    return [
        task.finding if answered else f"By the encoder: {_lower(task.finding)}"
        for task, answered in zip(tasks, has_answers, strict=True)
    ]


def _lower(text: str) -> str:
    """Return a sentence as it goes on after a colon."""
    return f"{text[:1].lower()}{text[1:]}" if text.startswith("Images") else text


def sentence(run: RunView) -> str:
    """Return a run's summary: a warning if positive controls failed, then the clear tests."""
    return "".join(text for text, _ in verdict(run))


def named(run: RunView) -> list[TaskView]:
    """Return up to two tests with a clear lean that a run's summary names."""
    by_sentence: dict[str, TaskView] = {}
    for task in _turns(run):
        if task.sentence:
            by_sentence.setdefault(task.sentence, task)
    return list(by_sentence.values())[:_SOME]


def _turns(run: RunView) -> list[TaskView]:
    """Return the clear tests: the first of each family, then the second of each, and so on."""

    def place(task: TaskView) -> tuple[bool, int]:
        counted = any(attribute.rows for attribute in task.prompts)
        return not counted, -sum(
            sum(series.clear) for series in task.series if series.series.axis
        )

    columns = [
        sorted((task for task in group.tasks if task.mark.state == "clear"), key=place)
        for group in run.groups
        if group.name != CONTROLS
    ]
    columns = sorted(filter(None, columns), key=lambda column: place(column[0]))
    depth = max((len(column) for column in columns), default=0)
    return [
        column[rank]
        for rank in range(depth)
        for column in columns
        if rank < len(column)
    ]


def controls_by_reader(result: TaskResult) -> list[tuple[str, str, Control]]:
    """Return encoder or judge ("" if only one), name and result of each control of a test.

    Each is a reader (empty where there is one alone), the control's name and the control.
    """
    if not result.by_encoder:
        return [("", name, control) for name, control in result.controls.items()]
    by_reader = [
        (reader, name, control)
        for reader, scores in result.by_encoder.items()
        for name, control in scores.controls.items()
    ]
    untrained = result.controls.get(UNTRAINED)
    return [
        *by_reader,
        *([("their mean", UNTRAINED, untrained)] if untrained is not None else []),
    ]


def findings(run: RunView) -> Iterator[tuple[str, str]]:
    """Yield each test's id and its result in words, for tests that have one."""
    for task in (*run.tasks, *run.texts):
        if task.sentence:
            yield task.id, task.sentence


def judged(run: RunView) -> list[str]:
    """Return sentences on which judges answered about which tasks, and if people checked them."""
    tasks: dict[str, list[str]] = {}
    for task in run.tasks:
        if judges_text := judges_said(task.result):
            tasks.setdefault(judges_text, []).append(task.id)
    return [
        f"{listed(names, _NAMED)}: {judges_text[:1].lower()}{judges_text[1:]}"
        for judges_text, names in tasks.items()
    ]


def is_forecast(task: TaskView) -> bool:
    """Return whether `power` can forecast larger runs of a test; those of edits it cannot."""
    return edit_report(task.result.details) is None


def too_wide(task: TaskView) -> bool:
    """Return whether a test is inconclusive only because its interval is too wide."""
    result = task.result
    unsure = task.mark.state == "cannot_tell" and not result.inconclusive
    return unsure and result.headline.p is not None


def why_unsure(task: TaskView) -> str:
    """Return a clause on why a test is inconclusive or has no score."""
    if too_wide(task):
        return f"its interval, {ends(task.mark, task.mark.sized)}, is too wide"
    result = task.result
    reason = result.inconclusive or result.reason or result.headline.reason
    return reason or (
        "it has no p-value" if task.mark.value is not None else "no score"
    )


def summary(run: RunView) -> str:
    """Return a run's size in words: how many tests, and how many images of each prompt."""
    tasks = [task.result for task in run.tasks]
    counts = {task.settings.images_per_prompt for task in tasks}
    sizes = sorted(count for count in counts if count is not None)
    image = "image" if sizes == [1] else "images"
    each = f" · {' or '.join(map(str, sizes))} {image} a prompt" if sizes else ""
    texts = f" and {len(run.texts)} on words alone" if run.texts else ""
    if not tasks:
        plural = "test" if len(run.texts) == 1 else "tests"
        return f"{len(run.texts)} {plural} on words alone, no image"
    return (
        f"{len(tasks)} {'test' if len(tasks) == 1 else 'tests'} on images{texts}{each}"
    )


def network_text(network: Mapping[str, Any]) -> str:
    """Return the properties of an encoder's network as one line of text.

    Examples:
        >>> network_text({"architecture": "ViT-L-14", "mean": [0.5, 0.5]})
        'architecture ViT-L-14, mean 0.5 0.5'
    """
    parts = []
    for name, value in network.items():
        values = value if isinstance(value, list) else [value]
        words = " ".join(
            f"{item:.4g}" if isinstance(item, float) else str(item) for item in values
        )
        parts.append(f"{name.replace('_', ' ')} {words}")
    return ", ".join(parts)


def family_note(family: FamilyView) -> str:
    """Return a note on how to read the numbers of a family's tests."""
    if family.name == CONTROLS:
        return "every working encoder finds these; not counted above"
    tasks = family.tasks
    if not tasks:
        return ""
    scale = tasks[0].mark.scale
    return "; ".join(clause for clause in (scale.note, scale.ends) if clause)


def image_count_text(task: TaskView) -> str:
    """Return as text how many images and prompts a task is based on."""
    count = task.result.n_images
    prompts = task.result.n_prompts
    edits = edits_counted([task.result])
    if count and edits:
        return f"{count:,} images: {edits}"
    return (
        f"{count:,} images of {prompts} prompts"
        if count
        else f"{prompts} texts, no image"
    )


def clear_count_text(series: SeriesView) -> str:
    """Return as text how many rows lean clearly, and to which side."""
    low, high = series.clear
    axis = series.series.axis
    total = len(series.rows)
    if axis is None:
        return f"{low + high} of {total} clear after correction"
    sides = f"{low} clearly to {people(axis.low, GROUP)}, {high} to {people(axis.high, GROUP)}"
    return f"{sides}, {total - low - high} not clear"


def interval_text(task: TaskView) -> str:
    """Return in words what a test's interval and fair band are about."""
    head = task.result.headline
    level = 100 * task.result.settings.level
    about = {
        "fixed_prompts": "of exactly these prompts, with other images",
        "prompt_population": "of prompts like these, with other images",
        None: "",
    }[head.question]
    text = f"{level:g} %, {about}." if about else f"{level:g} %."
    if task.mark.fair_low is not None and task.mark.fair_high is not None:
        write = plain if task.mark.sized else signed
        text += (
            f" Fair band: a fair model falls between {write(task.mark.fair_low)} and "
            f"{write(task.mark.fair_high)}{task.mark.scale.unit} at this size."
        )
    return f"{text} {effective_number_text(task.result)}".rstrip()


def effective_number_text(result: TaskResult) -> str:
    """Return a sentence on how unequally stimuli count in a weighted headline; "" in others."""
    effective = result.scores.get("effective_stimuli")
    if effective is None or effective.value is None:
        return ""
    count = len([row for row in result.by if "weight" in row.scores])
    return (
        f"The {count} stimuli count by how visible the groups are in them: as "
        f"{effective.value:.1f} equally visible ones would."
    )


def nothing(task: TaskView) -> str:
    """Return the text shown where a test has no mark: that it is inconclusive, or has no score."""
    return _UNSURE if task.result.inconclusive else "no score"


def spoken(task: TaskView) -> str:
    """Return a test's value, interval and state as a sentence for screen readers."""
    if task.mark.value is None:
        return f"{task.name}: {STATES[task.mark.state].word}. {task.sentence}"
    interval = task_ends(task)
    number = plain(task.mark.value) if task.mark.sized else signed(task.mark.value)
    value = f"{number}{task.mark.scale.unit}"
    parts = [f"{task.name}: {task.scale} {value}"]
    parts += [f"interval {interval}"] if interval else []
    return f"{', '.join([*parts, STATES[task.mark.state].word])}. {task.sentence}"


def row_spoken(row: RowView, axis: Axis | None) -> str:
    """Return a row's value and interval, and to which pole it leans if clearly, in words."""
    interval = ends(row.mark, axis is None)
    number = plain(row.mark.value) if axis is None else signed(row.mark.value)
    text = f"{row.name}: {number}{row.mark.scale.unit}"
    if axis is not None and row.mark.side is not None and row.mark.state == "clear":
        text += (
            f" (to {people(axis.low if row.mark.side == 'low' else axis.high, GROUP)})"
        )
    return (
        f"{text}, interval {interval}, {STATES[row.mark.state].word}"
        if interval
        else text
    )


def ends(mark: IntervalMark, sized: bool = False) -> str:
    """Return both ends of an interval as text; "" if unknown.

    A note says if an end was cut at the end of the scale.
    """
    if mark.low is None or mark.high is None:
        return ""
    shown = plain if sized else signed
    return f"{shown(mark.low)} to {shown(mark.high)}{' (cut)' if mark.cut else ''}"


def task_ends(task: TaskView) -> str:
    """Return both ends of a headline's interval as text, with signs if its value has one."""
    return ends(task.mark, task.mark.sized)
