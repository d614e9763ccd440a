"""How well images fit their prompts and how much they differ, for a test and its groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.decimals import p_value, significant
from t2ibench.methods.core.prompt_groups import shown_group
from t2ibench.methods.core.text_image_alignment import mean_cosine
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.numbers import signed
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.alignment_records import TextImageAlignment
from t2ibench.results.display import ALPHA
from t2ibench.results.diversity import Diversity
from t2ibench.results.paired import PairedTask
from t2ibench.results.repeated_prompts import RepeatedPrompt
from t2ibench.results.text_image_alignment import every_prompt

_REPEATED = 10  # prompts that repeat their images, shown at most
_ALL = "all prompts"
_GROUP_HEADS = (
    "measure",
    "encoder",
    "group",
    "prompts",
    "images",
    "value",
    "low",
    "high",
)


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
    """How well images fit their prompts in one test as one encoder reads it, and by group."""

    reader: str
    value: str
    finding: str
    rows: tuple[AlignmentRow, ...]
    fixed: bool


@dataclass(frozen=True, slots=True)
class AlignmentReader:
    """How well the images of all tests fit their prompts, as one encoder reads them."""

    name: str
    overall: str
    interval: str
    prompts: int
    images: int


def alignment_readers(
    run: RunView, paired: Mapping[str, PairedTask]
) -> list[AlignmentReader]:
    """Return how well images fit their prompts over all tests, for each encoder that knows it."""
    names = dict.fromkeys(
        name for task in run.tasks for name in task.result.text_image_alignment
    )
    readers = [_reader(name, run, paired) for name in names]
    return [reader for reader in readers if reader is not None]


def _reader(
    name: str, run: RunView, paired: Mapping[str, PairedTask]
) -> AlignmentReader | None:
    tasks = [task for task in run.tasks if task.result.text_image_alignment.get(name)]
    prompts = every_prompt(
        paired, name, [task.id for task in tasks if task.id in paired]
    )
    if not tasks or not prompts:
        return None
    mean = mean_cosine(prompts, tasks[0].result.settings.level)
    return AlignmentReader(
        name=name,
        overall=signed(mean.value),
        interval=_interval(mean.low, mean.high),
        prompts=mean.n_prompts,
        images=mean.n_images,
    )


def alignment_tests(task: TaskView) -> list[AlignmentTest]:
    """Return how well a test's images fit their prompts, as each encoder reads them."""
    return [
        _alignment(reader, groups)
        for reader, groups in task.result.text_image_alignment.items()
        if groups
    ]


def _alignment(reader: str, groups: Sequence[TextImageAlignment]) -> AlignmentTest:
    whole, *parts = groups
    return AlignmentTest(
        reader=reader,
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
        p = "" if difference.p_holm is None else p_value(difference.p_holm)
    return AlignmentRow(
        group=_name(group.group),
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
    """A test's diversity as one encoder reads it; `least` is the prompt with the least."""

    reader: str
    value: str
    least: str
    least_value: str
    rows: tuple[DiversityRow, ...]


@dataclass(frozen=True, slots=True)
class RepeatedImages:
    """The prompts whose images repeat one another most, and how many more there are."""

    prompts: tuple[RepeatedPrompt, ...]
    further: int


def repeated_images(run: RunView) -> RepeatedImages:
    """Return the prompts of a run whose images repeat one another, the worst first."""
    repeated = {
        prompt.prompt: prompt
        for task in run.tasks
        for prompt in task.result.repeated_prompts
    }
    worst = sorted(
        repeated.values(),
        key=lambda prompt: (prompt.n_distinct / prompt.n_images, prompt.prompt),
    )
    further = max(0, len(worst) - _REPEATED)
    return RepeatedImages(tuple(worst[:_REPEATED]), further)


def diversity_tests(task: TaskView) -> list[DiversityTest]:
    """Return how much a test's images of one prompt differ, as each encoder reads them."""
    return [
        _diversity(reader, groups) for reader, groups in task.result.diversity.items()
    ]


@dataclass(frozen=True, slots=True)
class GroupsView:
    """A test by its groups of prompts, in its card.

    Attributes:
        alignment: How well images agree with their prompts, one table an encoder.
        diversity: How much images of one prompt differ, one table an encoder.
        link: Saves both as CSV.
    """

    alignment: tuple[AlignmentTest, ...]
    diversity: tuple[DiversityTest, ...]
    link: Markup


def groups_view(task: TaskView) -> GroupsView | None:
    """Return the part of a test's card on its groups of prompts; None if nothing is known."""
    alignment = alignment_tests(task)
    diversity = diversity_tests(task)
    if not alignment and not diversity:
        return None
    link = csv_link(f"{task.id} by group", _GROUP_HEADS, list(_group_cells(task)))
    return GroupsView(tuple(alignment), tuple(diversity), link)


def _name(group: str | None) -> str:
    """Return what the page calls a group of prompts; None is all of them."""
    return _ALL if group is None else shown_group(group)


def _group_cells(task: TaskView) -> Iterator[list[object]]:
    """Yield what is known of each group of prompts as cells of a CSV file."""
    result = task.result
    measures: list[tuple[str, str, Sequence[TextImageAlignment | Diversity]]] = [
        *(("agreement", *item) for item in result.text_image_alignment.items()),
        *(("diversity", *item) for item in result.diversity.items()),
    ]
    for measure, reader, groups in measures:
        for group in groups:
            name = _ALL if group.group is None else group.group
            ends = [group.ci_low, group.ci_high]
            yield [
                measure,
                reader,
                name,
                group.n_prompts,
                group.n_images,
                group.value,
                *ends,
            ]


def _diversity(reader: str, groups: Sequence[Diversity]) -> DiversityTest:
    whole = groups[0]
    rows = []
    for group in groups:
        interval = ""
        if group.ci_low is not None:
            interval = f"{significant(group.ci_low)} to {significant(group.ci_high)}"
        rows.append(
            DiversityRow(
                group=_name(group.group),
                prompts=group.n_prompts,
                images=group.n_images,
                value=significant(group.value),
                interval=interval,
            )
        )
    return DiversityTest(
        reader=reader,
        value=significant(whole.value),
        least=whole.lowest_prompt,
        least_value=significant(whole.lowest),
        rows=tuple(rows),
    )
