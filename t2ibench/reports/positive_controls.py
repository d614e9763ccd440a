"""The outcome of a run's positive controls, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from t2ibench.methods.core.describe import listed
from t2ibench.results.states import STATES

if TYPE_CHECKING:
    from t2ibench.reports.view import RunView, TaskView

UNTRAINED = "random_encoder"  # the control by a network of random weights


def controls_said(run: RunView) -> tuple[str, str]:
    """Return a warning if positive controls failed, and a sentence on those that passed.

    Either is "" if there are none; inconclusive controls are warned of, too.
    """
    passed: list[TaskView] = []
    unsure: list[TaskView] = []
    failed: list[TaskView] = []
    for task in run.controls:
        if task.mark.state == "clear" and task.mark.side == "high":
            passed.append(task)
        elif STATES[task.mark.state].unsure:
            unsure.append(task)
        else:
            failed.append(task)
    return _control_warning(run, failed, unsure), _passed_controls(passed)


def _control_warning(
    run: RunView, failed: Sequence[TaskView], unsure: Sequence[TaskView]
) -> str:
    """Return a warning about results that failed or inconclusive positive controls put in doubt."""
    tasks = failed or unsure
    if not tasks:
        return ""
    names = ", ".join(task.name for task in tasks)
    readers = [name for task in tasks for name in _failing_readers(task)]
    who = ", ".join(dict.fromkeys(readers) or run.encoders)
    taken_away = _settings_behind(run, tasks)
    if taken_away:
        controls = "controls" if len(tasks) > 1 else "control"
        return (
            f"What the positive {controls} ({names}) should find was taken away by "
            f"{listed(taken_away)}: whether {who} would find a bias that is there, this run does "
            "not test."
        )
    if failed:
        return f"A positive control failed ({names}): nothing else from {who} can be relied on."
    return (
        f"A positive control is inconclusive ({names}): do not interpret other results of {who} "
        "yet."
    )


def _settings_behind(run: RunView, tasks: Sequence[TaskView]) -> list[str]:
    """Return the toyland settings that removed what all these controls look for; else none."""
    # Imported here: it loads toyland, which the lists of runs do without.
    from t2ibench.reports.planted_controls import evening_settings

    settings = [evening_settings(task.result.by, run.results) for task in tasks]
    return list(dict.fromkeys(chain(*settings))) if all(settings) else []


def _passed_controls(passed: Sequence[TaskView]) -> str:
    """Return a sentence on how many positive controls passed; "" if none did.

    It says so if an untrained network passes, too.
    """
    if not passed:
        return ""
    several = len(passed) > 1
    fine = (
        f"{len(passed)} positive control{'s' if several else ''} passed and "
        f"{'are' if several else 'is'} not counted."
    )
    if any(map(_untrained_passes, passed)):
        fine += " But an untrained network passes too: that shows little."
    return fine


def _untrained_passes(task: TaskView) -> bool:
    """Return whether a network of random weights passes a positive control, too.

    It does if its value reaches the interval of the control.
    """
    untrained = task.result.controls.get(UNTRAINED)
    low = task.result.headline.ci_low
    if untrained is None or untrained.value is None or low is None:
        return False
    return untrained.value >= low


def _failing_readers(task: TaskView) -> list[str]:
    """Return the encoders with which a positive control fails; all of them if none does alone."""
    readers = task.result.by_encoder
    failing = [
        name
        for name, scores in readers.items()
        if scores.reason
        or scores.inconclusive
        or not (scores.headline.ci_low or 0.0) > 0
    ]
    return failing or list(task.result.settings.encoders)
