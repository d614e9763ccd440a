"""Read the copies of tasks that a run stores together with their captions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.schema import BaseTask
from t2ibench.tasks.loader import LoadedTask, library_for, load_file, raise_errors

FOLDER = "tasks"


def stored_file(run: Path, task: str) -> Path:
    """Return the file in which a run stores a task."""
    return run / FOLDER / f"{task}.yaml"


def stored_task(task: LoadedTask, run: Path) -> LoadedTask | None:
    """Return the copy of a task that a run stores with its captions; None if it stores none."""
    file = stored_file(run, task.id)
    if not file.is_file():
        return None
    stored, problems = load_file(file, file.parent, library_for([]))
    raise_errors(problems)
    if (
        stored is None
        or stored.id != task.id
        or stored.spec.drawn_from is None
        or stored.spec.awaits
    ):
        raise T2IBenchError(
            f"{file} is not the task {task.id} with its captions.",
            "Delete it, and run the command with --captions again.",
        )
    return replace(stored, group=task.group)


def with_stored(tasks: Iterable[LoadedTask], run: Path) -> list[LoadedTask]:
    """Return tasks, with a run's stored captions for those that wait for captions."""
    return [
        task if task.spec.awaits is None else stored_task(task, run) or task
        for task in tasks
    ]


def stored_specs(run: Path) -> dict[str, BaseTask]:
    """Return the tasks that a run stores, keyed by their hashes."""
    specs: dict[str, BaseTask] = {}
    for file in sorted((run / FOLDER).glob("*.yaml")):
        task, _ = load_file(file, file.parent, library_for([]))
        if task is not None:
            specs[task.hash] = task.spec
    return specs
