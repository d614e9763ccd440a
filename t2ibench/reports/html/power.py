"""What a run could see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.errors import T2IBenchError
from t2ibench.power.designs import Reach, reach
from t2ibench.power.pilots import pilot_of
from t2ibench.reports.html.page import fragment
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.paired import PairedTask


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
    """The smallest lean that each test could see, and what would halve its interval."""
    rows = [_power_row(task, paired) for task in run.tasks if task.spec is not None]
    return fragment("power.html", rows=rows) if rows else None


def _power_row(task: TaskView, paired: Mapping[str, PairedTask]) -> PowerRow:
    assert task.spec is not None
    parts = paired[task.id].headline if task.id in paired else ()
    try:
        pilot = pilot_of(task.spec, task.result, parts, "this run")
        found = None if pilot is None or task.mark.value is None else reach(pilot, task.distance)
    except T2IBenchError:
        return PowerRow(task, None, None)
    return PowerRow(task, found, None if pilot is None else pilot.size.images)
