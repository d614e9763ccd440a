"""Two simulated runs side by side, as `t2ibench compare` has them."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.estimate import MethodResult
from t2ibench.results.builder import headline_record
from t2ibench.results.comparison import Difference, compare
from t2ibench.results.paired import paired_task
from t2ibench.results.schema import GeneratorInfo, Results, TaskResult, TaskSettings
from t2ibench.settings import Settings
from tools.calibration.cells import Cell

CAUTIOUS = (
    "A mean square of about 0 is not known to be 0: two of them are compared as if both leaned as "
    "much as both together show"
)
_TASK = "calibration"


def compared(
    cell: Cell, results: Sequence[MethodResult], settings: Settings
) -> Difference:
    """The difference of the headlines of two results of a task."""
    first, second = (_run(cell, result, settings) for result in results)
    paired, other = ({_TASK: paired_task(result)} for result in results)
    return compare(first, second, paired, other)[0]


def _run(cell: Cell, result: MethodResult, settings: Settings) -> Results:
    measured = TaskSettings(
        images_per_prompt=None,
        limit=None,
        seed=settings.seed,
        level=settings.level,
        n_permutations=settings.n_permutations,
        n_bootstrap=settings.n_bootstrap,
        encoders={},
    )
    task = TaskResult(
        version=1,
        method=cell.task.method,
        task_hash="0" * 64,
        family=cell.task.method,
        title=cell.name,
        headline=headline_record(result.headline),
        n_images=result.n_images,
        settings=measured,
        inconclusive=result.inconclusive,
    )
    model = GeneratorInfo(name="simulated", fingerprint="0" * 64)
    return Results(
        t2ibench="0",
        model=model,
        command=["x"],
        environment={},
        limited=False,
        tasks={_TASK: task},
    )
