"""The table of a report with one row a test: its lean, and how well it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.reports.exclusions import excluded_of
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.design_sections import PowerRow, power_row, wordings_of
from t2ibench.reports.html.marks import value_text
from t2ibench.reports.html.prompt_sections import (
    alignment_readers,
    alignment_tests,
    diversity_tests,
    repeated_images,
)
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.sentences import task_ends
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.paired import PairedTask
from t2ibench.results.states import STATES

_NONE = "–"
_DIFFERS = "groups differ"
_HEADS = (
    "test",
    "shows",
    "lean",
    "interval",
    "agreement with the prompt",
    "diversity",
    "by wording",
    "smallest lean seen",
    "to halve the interval",
    "left out",
    "images",
)


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A test as a row: its lean, and what else was measured of its images.

    Attributes:
        id: The test's id, which is its place on the page.
        test: What pages call it.
        state: What it shows, in words.
        lean: Its headline.
        interval: The interval of that.
        obeyed: How well images fit their prompts.
        differs: Whether groups of prompts clearly differ in that.
        diversity: How much images of one prompt differ.
        wording: The lowest and the highest headline of a wording.
        power: The smallest lean that it detects.
        excluded: Images that were left out.
        images: Images that were asked for.
    """

    id: str
    test: str
    state: str
    lean: str
    interval: str
    obeyed: str
    differs: bool
    diversity: str
    wording: str
    power: PowerRow
    excluded: int
    images: int

    @property
    def cells(self) -> list[str]:
        """The row as cells of a CSV file, in the order of `_HEADS`."""
        power = self.power.missing or self.power.effect
        return [
            self.test,
            self.state,
            self.lean,
            self.interval,
            self.obeyed,
            self.diversity,
            self.wording,
            power,
            self.power.advice,
            str(self.excluded),
            str(self.images),
        ]


def summary_table_section(
    run: RunView, paired: Mapping[str, PairedTask]
) -> Markup | None:
    """Return the section with one row a test; None if a run has no test on images."""
    if not run.tasks:
        return None
    tasks = [task for group in run.groups for task in group.tasks]
    rows = [_row(task, paired.get(task.id)) for task in tasks]
    measured = ("obeyed", "diversity", "wording")
    has = {name: any(getattr(row, name) != _NONE for row in rows) for name in measured}
    link = csv_link("tests", _HEADS, [row.cells for row in rows])
    return fragment(
        "summary_table.html",
        rows=rows,
        link=link,
        has=has,
        readers=alignment_readers(run, paired),
        repeated=repeated_images(run),
    )


def _row(task: TaskView, paired: PairedTask | None) -> SummaryRow:
    alignment = alignment_tests(task)
    images, by_reason = excluded_of(task.result)
    return SummaryRow(
        id=task.id,
        test=task.name,
        state=STATES[task.mark.state].word,
        lean=value_text(task.mark),
        interval=task_ends(task),
        obeyed=_by_reader([(test.reader, test.value) for test in alignment]),
        differs=any(test.finding == _DIFFERS for test in alignment),
        diversity=_by_reader(
            [(test.reader, test.value) for test in diversity_tests(task)]
        ),
        wording="; ".join(wording.brief for wording in wordings_of(task)) or _NONE,
        power=power_row(task, paired),
        excluded=sum(by_reason.values()),
        images=images,
    )


def _by_reader(values: Sequence[tuple[str, str]]) -> str:
    """Return one encoder's value as it is, and those of several with their names."""
    if len(values) == 1:
        return values[0][1]
    return ", ".join(f"{value} ({reader})" for reader, value in values) or _NONE
