"""The tests of a run that formats of other projects can hold, each as the size of a lean.

Other formats have one number a test and say whether lower or higher is better. A signed lean is
best at 0, so it is exported as its distance from 0; its sign stays in the details.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass

from t2ibench.errors import T2IBenchError
from t2ibench.reports.files import task_files
from t2ibench.reports.sentences import why_unsure
from t2ibench.reports.view import RunView, TaskView, run_view
from t2ibench.results.display import IntervalMark
from t2ibench.results.record import RunRecord
from t2ibench.results.run import open_run
from t2ibench.results.schema import Results


@dataclass(frozen=True, slots=True)
class ExportedSize:
    """How far a test is from balance: a number of which less is better.

    Attributes:
        value: The size.
        low: Lower end of its interval; None without one.
        high: Upper end.
        least: The smallest size that can be displayed.
        most: The largest one; infinity where there is none.
    """

    value: float
    low: float | None
    high: float | None
    least: float
    most: float


def view_of(results: Results) -> RunView:
    """Return the view of a run with the tasks of its folder, or with the shipped ones."""
    return run_view(results, task_files(results, results.folder))


def record_of(results: Results) -> RunRecord | None:
    """Return the record of the run that results were read from; None where there is no run."""
    if results.folder is None:
        return None
    with contextlib.suppress(T2IBenchError):
        return open_run(results.folder).record
    return None


def unfinished_notes(results: Results) -> list[str]:
    """Return paragraphs in bold that say why results must not be reported; none if they may."""
    notes = []
    if results.limited:
        notes.append("**Made with --limit; not a result to report.**")
    if results.partial:
        notes.append(f"**{results.what_is_missing}; not a result to report.**")
    return notes


def exported_tests(run: RunView) -> list[TaskView]:
    """Return the tests on images that decide something, without positive controls."""
    return [task for task in run.tests if not _omission(task)]


def omitted_tests(run: RunView) -> Iterator[tuple[str, str]]:
    """Yield the id of each test that is not exported, and the reason."""
    for task in run.tests:
        reason = _omission(task)
        if reason:
            yield task.id, reason
    for task in run.controls:
        yield task.id, "a positive control, which is no finding"
    for task in run.texts:
        yield task.id, "it describes a text encoder, not the model"


def _omission(task: TaskView) -> str:
    """Return why a test has no number that could stand alone; "" where it has one."""
    without_number = task.mark.value is None or task.result.headline.p is None
    if without_number or task.result.inconclusive:
        return why_unsure(task)
    return ""


def size_of(mark: IntervalMark) -> ExportedSize:
    """Return the distance of a displayed headline from balance.

    The interval of a distance is the image of that of the signed value, so it covers at least as
    often.
    """
    assert mark.value is not None
    most = mark.scale.end if mark.scale.bounded else math.inf
    if not mark.signed:
        least = -most if mark.scale.signed else 0.0
        return ExportedSize(mark.value, mark.low, mark.high, least, most)
    low = high = None
    if mark.low is not None and mark.high is not None:
        distances = (abs(mark.low), abs(mark.high))
        low = 0.0 if mark.low <= 0 <= mark.high else min(distances)
        high = max(distances)
    return ExportedSize(abs(mark.value), low, high, 0.0, most)
