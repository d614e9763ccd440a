"""Two simulated runs side by side, as `t2ibench compare` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from t2ibench.methods.core.estimate import MethodResult
from t2ibench.results.builder import headline_record, score_record
from t2ibench.results.comparison import compare
from t2ibench.results.paired import paired_task
from t2ibench.results.schema import (
    GeneratorInfo,
    Results,
    Row,
    TaskResult,
    TaskSettings,
)
from t2ibench.results.score_difference import Difference
from t2ibench.settings import Settings
from tools.calibration.cells import Cell

CAUTIOUS = (
    "A mean square of about 0 is not known to be 0, so two of them are compared as if both "
    "leaned as much as both together show"
)
_TASK = "calibration"


def compared(
    cell: Cell, results: Sequence[MethodResult], settings: Settings
) -> Difference:
    """The difference of the headlines of two results of a task."""
    first, second = (
        run_of({_TASK: _record(cell, result, settings)}) for result in results
    )
    paired, other = ({_TASK: paired_task(result)} for result in results)
    return compare(first, second, paired, other, rows=False)[0]


def _record(cell: Cell, result: MethodResult, settings: Settings) -> TaskResult:
    return record_of(
        cell.task.method,
        cell.name,
        result,
        seed=settings.seed,
        level=settings.level,
    )


def record_of(
    method: str, title: str, result: MethodResult, *, seed: int, level: float
) -> TaskResult:
    """A result of a task as results.json has it, as far as `compare` reads it."""
    measured = TaskSettings(
        images_per_prompt=None,
        limit=None,
        seed=seed,
        level=level,
        n_permutations=1,
        n_bootstrap=1,
        encoders={},
    )
    rows = [
        Row(
            name=item.name,
            group=item.group,
            scores={
                name: score_record(estimate, level)
                for name, estimate in item.scores.items()
            },
        )
        for item in result.by
    ]
    return TaskResult(
        version=1,
        method=method,
        task_hash="0" * 64,
        family=method,
        title=title,
        headline=headline_record(result.headline),
        by=rows,
        n_images=result.n_images,
        settings=measured,
        inconclusive=result.inconclusive,
    )


def run_of(tasks: Mapping[str, TaskResult]) -> Results:
    """A run with these tasks."""
    model = GeneratorInfo(name="simulated", fingerprint="0" * 64)
    return Results(
        t2ibench="0",
        model=model,
        command=["x"],
        environment={},
        limited=False,
        tasks=dict(tasks),
    )
