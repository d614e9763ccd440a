"""The report section on images that are excluded from a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.reports.coverage import unanswered
from t2ibench.reports.exclusions import (
    GroupExclusions,
    TaskExclusions,
    excluded_of,
    exclusions,
    reasons_said,
)
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.view import RunView
from t2ibench.results.display import IntervalMark

_GROUPS = 12  # of a test's exclusions, shown at most


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """How many images of a test are excluded; `share` is the per cent that are not."""

    id: str
    name: str
    count: int
    total: int
    share: float


@dataclass(frozen=True, slots=True)
class ExcludedGroupView:
    """How many images of a group of prompts were refused or filtered."""

    name: str
    verdict: str
    verdict_classes: str
    mark: IntervalMark
    spoken: str
    percent: str
    count: int
    total: int
    why: str
    prompts: str


@dataclass(frozen=True, slots=True)
class ExcludedTestView:
    """The images of one test that were refused or filtered, for each group of prompts.

    Attributes:
        id: The test's id.
        name: What pages call it.
        finding: Whether its groups differ.
        groups: Those shown.
        further: A line on the others; empty where all are shown.
        reasons: Number of images, what became of them, and why.
    """

    id: str
    name: str
    finding: str
    groups: tuple[ExcludedGroupView, ...]
    further: str
    reasons: tuple[tuple[int, str, str], ...]


def exclusions_section(run: RunView) -> Markup:
    """Return the report section on exclusions: how many in each test, and from which groups."""
    rows = []
    reasons: Counter[str] = Counter()
    for family in run.families:
        for task in family.tasks:
            total, by_reason = excluded_of(task.result)
            count = sum(by_reason.values())
            reasons.update(by_reason)
            name = f"{family.title}, {task.name}"
            share = 100.0 * (1 - count / total) if total else 100.0
            rows.append(LeftOutRow(task.id, name, count, total, share))
    tests = [_excluded_test(task) for task in exclusions(run)]
    without_loss = sum(not row.count for row in rows)
    return fragment(
        "left_out.html",
        unanswered=unanswered(run),
        rows=sorted(
            (row for row in rows if row.count), key=lambda row: (row.share, row.name)
        ),
        reasons=reasons_said(reasons),
        without_loss=without_loss,
        tests=tests,
        link=_link(tests) if tests else "",
    )


def _link(tests: Sequence[ExcludedTestView]) -> Markup:
    """Return what was refused or filtered, by group of prompts, as a link to CSV."""
    heads = ["test", "group", "why", "images", "of", "low", "high"]
    rows = [
        [
            test.name,
            group.name,
            group.why,
            group.count,
            group.total,
            group.mark.low,
            group.mark.high,
        ]
        for test in tests
        for group in test.groups
    ]
    return csv_link("left out", heads, rows)


def _excluded_test(task_exclusions: TaskExclusions) -> ExcludedTestView:
    result = task_exclusions.task.result
    further = ""
    if len(task_exclusions.groups) > _GROUPS:
        share = round(100 * (task_exclusions.groups[_GROUPS].mark.value or 0.0))
        count = len(task_exclusions.groups) - _GROUPS
        further = f"and {count} more groups, each with {share} % or less"
    reasons = [
        (count, status, reason)
        for status, by_reason in result.excluded_because.items()
        for reason, count in by_reason.items()
    ]
    return ExcludedTestView(
        id=task_exclusions.task.id,
        name=task_exclusions.task.name,
        finding=_finding(task_exclusions),
        groups=tuple(
            _excluded_group(group) for group in task_exclusions.groups[:_GROUPS]
        ),
        further=further,
        reasons=tuple(reasons),
    )


def _finding(task_exclusions: TaskExclusions) -> str:
    if len(task_exclusions.groups) == 1:
        return "one group"
    if task_exclusions.differs:
        return "its groups differ"
    return "no clear difference between its groups"


def _excluded_group(group: GroupExclusions) -> ExcludedGroupView:
    plural = "" if group.prompts == 1 else "s"
    return ExcludedGroupView(
        name=group.name,
        verdict=group.verdict,
        verdict_classes="b" if group.more else "faint",
        mark=group.mark,
        spoken=group.spoken,
        percent=group.percent,
        count=group.rate.count,
        total=group.rate.total,
        why=group.what,
        prompts=f"of {group.prompts} prompt{plural}",
    )
