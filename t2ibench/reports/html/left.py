"""What was left out of a run: test by test, group by group, and the prompts that lost most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.reports.html.page import fragment
from t2ibench.reports.left import TaskLoss, left_of, reasons_said, worst_first
from t2ibench.reports.view import RunView, TaskView

_GROUPS, _PROMPTS = 12, 10  # shown at most: of a test, and of the run


@dataclass(frozen=True, slots=True)
class Left:
    """What was left out of one test.

    Attributes:
        task: The test.
        name: Its family and its name.
        total: Images that were asked for.
        left: Those that do not count, by reason.
    """

    task: TaskView
    name: str
    total: int
    left: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many do not count."""
        return sum(self.left.values())

    @property
    def share(self) -> float:
        """The share that counts, in percent."""
        return 100.0 * (1 - self.count / self.total) if self.total else 100.0


def left_section(run: RunView, lost: Sequence[TaskLoss] = ()) -> Markup:
    """What was left out: refused, filtered, failed and unanswered, by test, group and prompt."""
    rows = [
        Left(task, f"{family.title}, {task.name}", *left_of(task.result))
        for family in run.families
        for task in family.tasks
    ]
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row.left)
    prompts = {prompt.prompt: prompt for one in lost for prompt in one.prompts}
    worst = sorted(prompts.values(), key=worst_first)
    return fragment(
        "left_out.html",
        rows=sorted((row for row in rows if row.count), key=lambda row: (row.share, row.name)),
        told=reasons_said(reasons),
        tests=len(rows),
        lost=lost,
        worst=worst[:_PROMPTS],
        said=any(one.reason for one in worst[:_PROMPTS]),
        further=max(0, len(worst) - _PROMPTS),
        most=_GROUPS,
    )
