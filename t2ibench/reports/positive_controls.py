"""The outcome of the positive controls of a run, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from t2ibench.methods.core.describe import listed
from t2ibench.reports.planted_controls import evening_settings
from t2ibench.results.states import STATES

if TYPE_CHECKING:
    from t2ibench.reports.view import RunView, TaskView

UNTRAINED = "random_encoder"  # the control by a network of random weights


def controls_said(run: RunView) -> tuple[str, str]:
    """Return the outcome of the positive controls in words."""
    passed = [
        t for t in run.controls if t.mark.state == "clear" and t.mark.side == "high"
    ]
    unsure = [t for t in run.controls if STATES[t.mark.state].unsure]
    failed = [
        task for task in run.controls if task not in passed and task not in unsure
    ]
    readers = dict.fromkeys(
        name for task in (failed or unsure) for name in _failing_readers(task)
    )
    who = ", ".join(readers or run.encoders)
    taken_away = _settings_behind(run, failed)
    warning = ""
    if taken_away:
        names = ", ".join(task.name for task in failed)
        controls = "controls" if len(failed) > 1 else "control"
        warning = (
            f"What the positive {controls} ({names}) should find was taken away by "
            f"{listed(taken_away)}: whether {who} would find a bias that is there, this run does "
            "not test."
        )
    elif failed:
        names = ", ".join(task.name for task in failed)
        warning = f"A positive control failed ({names}): nothing else from {who} can be relied on."
    elif unsure:
        names = ", ".join(task.name for task in unsure)
        warning = f"A positive control cannot tell ({names}): read nothing else from {who} yet."
    several = len(passed) > 1
    fine = (
        f"{len(passed)} positive control{'s' if several else ''} passed and "
        f"{'are' if several else 'is'} not counted."
    )
    reproduced = [
        (blind.value, task.result.headline.ci_low)
        for task in passed
        if (blind := task.result.controls.get(UNTRAINED)) is not None
    ]
    if any(
        value is not None and low is not None and value >= low
        for value, low in reproduced
    ):
        fine += " An untrained network passes too, so this shows little."
    return warning, fine if passed else ""


def _settings_behind(run: RunView, failed: Sequence[TaskView]) -> list[str]:
    """Return the settings of toyland that took away what all failed controls look for."""
    settings = [evening_settings(task.result.by, run.results) for task in failed]
    return list(dict.fromkeys(chain(*settings))) if all(settings) else []


def _failing_readers(task: TaskView) -> list[str]:
    """Return the encoders that fail a positive control; all if no single one fails."""
    readers = task.result.by_encoder
    failing = [
        name
        for name, scores in readers.items()
        if scores.reason
        or scores.inconclusive
        or not (scores.headline.ci_low or 0.0) > 0
    ]
    return failing or list(task.result.settings.encoders)
