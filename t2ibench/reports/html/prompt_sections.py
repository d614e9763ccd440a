"""Report sections on how well images fit their prompts, and how much they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.methods.core.text_image_alignment import mean_cosine
from t2ibench.reports.cells import format_p, three_digits
from t2ibench.reports.html.numbers import signed
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.alignment_records import TextImageAlignment
from t2ibench.results.display import ALPHA
from t2ibench.results.diversity import Diversity
from t2ibench.results.paired import PairedTask
from t2ibench.results.text_image_alignment import every_prompt

_REPEATED = 10  # prompts that repeat their images, shown at most
_ALL = "all prompts"


@dataclass(frozen=True, slots=True)
class AlignmentRow:
    """How well the images of a group of prompts fit them, compared with other groups."""

    group: str
    prompts: int
    images: int
    value: str
    interval: str
    difference: str
    difference_interval: str
    p: str


@dataclass(frozen=True, slots=True)
class AlignmentTest:
    """How well images fit their prompts in one test, overall and for each group."""

    name: str
    value: str
    finding: str
    rows: tuple[AlignmentRow, ...]
    fixed: bool


@dataclass(frozen=True, slots=True)
class AlignmentReader:
    """How well images fit their prompts as one encoder sees it; `overall` is "" if unknown."""

    name: str
    overall: str
    interval: str
    prompts: int
    images: int
    tests: tuple[AlignmentTest, ...]


def prompts_section(run: RunView, paired: Mapping[str, PairedTask]) -> Markup | None:
    """Return the section on how well images fit their prompts; None if it was not measured."""
    names = dict.fromkeys(
        name for task in run.tasks for name in task.result.text_image_alignment
    )
    readers = [_reader(name, run, paired) for name in names]
    readers = [reader for reader in readers if reader.tests]
    return fragment("prompts.html", readers=readers) if readers else None


def _reader(
    name: str, run: RunView, paired: Mapping[str, PairedTask]
) -> AlignmentReader:
    tasks = [task for task in run.tasks if task.result.text_image_alignment.get(name)]
    tests = [_alignment(task, task.result.text_image_alignment[name]) for task in tasks]
    prompts = every_prompt(
        paired, name, [task.id for task in tasks if task.id in paired]
    )
    if not tasks or not prompts:
        return AlignmentReader(name, "", "", 0, 0, tuple(tests))
    mean = mean_cosine(prompts, tasks[0].result.settings.level)
    return AlignmentReader(
        name=name,
        overall=signed(mean.value),
        interval=_interval(mean.low, mean.high),
        prompts=mean.n_prompts,
        images=mean.n_images,
        tests=tuple(tests),
    )


def _alignment(task: TaskView, groups: Sequence[TextImageAlignment]) -> AlignmentTest:
    whole, *parts = groups
    return AlignmentTest(
        name=task.name,
        value=signed(whole.value),
        finding=_finding(parts),
        rows=tuple(_alignment_row(group) for group in groups),
        fixed=any(group.question == "fixed_prompts" for group in parts),
    )


def _finding(groups: Sequence[TextImageAlignment]) -> str:
    """Return a few words on whether groups differ in how well images fit their prompts."""
    p_values = [
        group.difference.p_holm for group in groups if group.difference is not None
    ]
    if not groups:
        return "one group"
    if not p_values:
        return "too few stimuli to compare groups"
    if any(p is not None and p < ALPHA for p in p_values):
        return "groups differ"
    return "no clear difference between groups"


def _alignment_row(group: TextImageAlignment) -> AlignmentRow:
    difference = group.difference
    interval = _interval(group.ci_low, group.ci_high)
    if interval and group.question == "fixed_prompts":
        interval += " *"
    difference_text = ""
    difference_interval = ""
    p = ""
    if difference is not None:
        difference_text = signed(difference.value)
        difference_interval = _interval(difference.ci_low, difference.ci_high)
        p = "" if difference.p_holm is None else format_p(difference.p_holm)
    return AlignmentRow(
        group=_ALL if group.group is None else group.group,
        prompts=group.n_prompts,
        images=group.n_images,
        value=signed(group.value),
        interval=interval,
        difference=difference_text,
        difference_interval=difference_interval,
        p=p,
    )


def _interval(low: float | None, high: float | None) -> str:
    """Return both ends of an interval as text; "" if there is none."""
    return "" if low is None else f"{signed(low)} to {signed(high)}"


@dataclass(frozen=True, slots=True)
class DiversityRow:
    """How much images of the same prompt differ, on average over a group of prompts."""

    group: str
    prompts: int
    images: int
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class DiversityTest:
    """A test's diversity as one encoder sees it; `least` is the prompt with the least."""

    name: str
    reader: str
    value: str
    least: str
    least_value: str
    rows: tuple[DiversityRow, ...]


def diversity_section(run: RunView) -> Markup | None:
    """Return the section on diversity and repeated images; None if there is neither."""
    tests = [
        _diversity(task, reader, groups)
        for task in run.tasks
        for reader, groups in task.result.diversity.items()
    ]
    repeated = {
        prompt.prompt: prompt
        for task in run.tasks
        for prompt in task.result.repeated_prompts
    }
    if not tests and not repeated:
        return None
    worst = sorted(
        repeated.values(),
        key=lambda prompt: (prompt.n_distinct / prompt.n_images, prompt.prompt),
    )
    return fragment(
        "diversity.html",
        tests=tests,
        repeated=worst[:_REPEATED],
        further=max(0, len(worst) - _REPEATED),
    )


def _diversity(
    task: TaskView, reader: str, groups: Sequence[Diversity]
) -> DiversityTest:
    whole = groups[0]
    rows = []
    for group in groups:
        interval = ""
        if group.ci_low is not None:
            interval = f"{three_digits(group.ci_low)} to {three_digits(group.ci_high)}"
        rows.append(
            DiversityRow(
                group=_ALL if group.group is None else group.group,
                prompts=group.n_prompts,
                images=group.n_images,
                value=three_digits(group.value),
                interval=interval,
            )
        )
    return DiversityTest(
        name=task.name,
        reader=reader,
        value=three_digits(whole.value),
        least=whole.lowest_prompt,
        least_value=three_digits(whole.lowest),
        rows=tuple(rows),
    )
