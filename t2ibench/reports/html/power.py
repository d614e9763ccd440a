"""What a run could see, and what was left out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.calibration.forecasts import Reach, reach
from t2ibench.calibration.pilots import pilot_of
from t2ibench.errors import T2IBenchError
from t2ibench.reports.html.page import fragment
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import TaskResult


@dataclass(frozen=True, slots=True)
class PowerRow:
    """What one test could see.

    Attributes:
        task: The test.
        reach: What it could see; None where it says nothing of its variance.
        now: Images of a prompt that it has.
    """

    task: TaskView
    reach: Reach | None
    now: int | None


def power_section(run: RunView, paired: Mapping[str, PairedTask]) -> Markup | None:
    """The smallest lean that each test could see, and what would halve its interval.

    Args:
        run: The run.
        paired: The influences on its headlines.

    Returns:
        HTML; None where no test has a file that says what it needs.
    """
    rows = [_power_row(task, paired) for task in run.tasks if task.spec is not None]
    return fragment("power.html", rows=rows) if rows else None


def _power_row(task: TaskView, paired: Mapping[str, PairedTask]) -> PowerRow:
    assert task.spec is not None
    parts = paired[task.id].headline if task.id in paired else ()
    try:
        pilot = pilot_of(task.spec, task.result, parts, "this run")
        found = None if pilot is None or task.mark.value is None else reach(pilot)
    except T2IBenchError:
        return PowerRow(task, None, None)
    return PowerRow(task, found, None if pilot is None else pilot.size.images)


@dataclass(frozen=True, slots=True)
class Left:
    """What was left out of one group of tests or prompts.

    Attributes:
        name: The group.
        total: Images, or answers, that were asked for.
        left: Those that do not count, by reason.
    """

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


def left_section(run: RunView) -> Markup:
    """What was left out: refused, filtered, failed and unanswered, test by test.

    Args:
        run: The run.

    Returns:
        HTML.
    """
    rows = [
        Left(f"{family.title}, {task.name}", *_left(task.result))
        for family in run.families
        for task in family.tasks
    ]
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row.left)
    return fragment("left_out.html", rows=_with_some(rows), reasons=reasons, tests=len(rows))


def _left(result: TaskResult) -> tuple[int, dict[str, int]]:
    left = {reason: count for reason, count in result.excluded.items() if count}
    return result.n_images + sum(left.values()), left


def _with_some(rows: Sequence[Left]) -> list[Left]:
    return sorted((row for row in rows if row.count), key=lambda row: (row.share, row.name))
