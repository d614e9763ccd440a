"""Tasks with the captions that a run was given, as the run keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.schema import BaseTask
from t2ibench.tasks.loader import LoadedTask, library_for, load_file, raise_errors

FOLDER = "tasks"


def kept_file(run: Path, task: str) -> Path:
    """Where a run keeps a task."""
    return run / FOLDER / f"{task}.yaml"


def kept_task(task: LoadedTask, run: Path) -> LoadedTask | None:
    """A task with the captions that a run keeps."""
    file = kept_file(run, task.id)
    if not file.is_file():
        return None
    kept, problems = load_file(file, file.parent, library_for([]))
    raise_errors(problems)
    if (
        kept is None
        or kept.id != task.id
        or kept.spec.drawn_from is None
        or kept.spec.awaits
    ):
        raise T2IBenchError(
            f"{file} is not the task {task.id} with its captions.",
            "Delete it, and run the command with --captions again.",
        )
    return replace(kept, group=task.group)


def with_kept(tasks: Iterable[LoadedTask], run: Path) -> list[LoadedTask]:
    """Tasks, those that wait for captions with the ones that a run keeps."""
    return [
        task if task.spec.awaits is None else kept_task(task, run) or task
        for task in tasks
    ]


def kept_specs(run: Path) -> dict[str, BaseTask]:
    """The files of the tasks that a run keeps, with their hashes."""
    found: dict[str, BaseTask] = {}
    for file in sorted((run / FOLDER).glob("*.yaml")):
        task, _ = load_file(file, file.parent, library_for([]))
        if task is not None:
            found[task.hash] = task.spec
    return found
