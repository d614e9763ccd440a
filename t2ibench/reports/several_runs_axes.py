"""What both ends of the leans of compared runs mean, read from their task files."""

from __future__ import annotations

from collections.abc import Mapping

from t2ibench.methods.core.presentation import Axis
from t2ibench.methods.registry import presentation
from t2ibench.reports.files import task_files
from t2ibench.results.several_runs import RunsComparison


def axes_of(comparison: RunsComparison) -> Mapping[str, Axis]:
    """Return what both ends of the leans of each task mean, where its file is there to say it."""
    axes: dict[str, Axis] = {}
    for run in comparison.runs:
        missing = [task for task in run.results.tasks if task not in axes]
        if missing:
            specs = task_files(run.results, run.results.folder)
            for task in missing:
                axis = presentation(specs[task]).axis if task in specs else None
                if axis is not None:
                    axes[task] = axis
    return axes
