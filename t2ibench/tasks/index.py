"""Build the index of all tasks that can be chosen, and load the chosen ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from t2ibench.methods.core.schema import BaseTask
from t2ibench.store.files import natural_key
from t2ibench.store.user_paths import resolved
from t2ibench.tasks.choice import TaskIndex
from t2ibench.tasks.folders import bundled_tasks, shipped_tasks, task_files
from t2ibench.tasks.listing import ListedTask, shipped_list
from t2ibench.tasks.loader import (
    LoadedTask,
    library_for,
    load_bundled_file,
    load_folder,
)
from t2ibench.tasks.source import Problem


def shadowed(tasks: Iterable[LoadedTask]) -> list[Problem]:
    """Return an error for each task whose id is also the name of a group of other tasks."""
    index = TaskIndex({task.id: task for task in tasks})
    return [
        Problem(
            task.path,
            task.line,
            f"the id '{name}' is also that of a group; choose another",
        )
        for name, ids in index.groups.items()
        if (task := index.tasks.get(name)) is not None and set(ids) != {name}
    ]


def build_index(
    include_paths: Sequence[Path] = (),
) -> tuple[TaskIndex[LoadedTask], list[Problem]]:
    """Return an index of the bundled tasks and those of further folders, and all problems."""
    first_root = shipped_tasks(include_paths)
    roots = list(
        {resolved(root): root for root in (first_root, *include_paths)}.values()
    )
    library = library_for(roots)
    problems = list(library.problems)
    tasks: dict[str, LoadedTask] = {}
    broken: dict[Path, list[Problem]] = {}
    for root in roots:
        loaded, complaints = load_folder(root, library)
        problems += complaints
        of_word_lists = [
            problem
            for problem in library.problems
            if problem.path.parent == root / "stimuli"
        ]
        # With an error in its word lists, the tasks of a folder could mean other words.
        if of_word_lists:
            broken |= {path: list(of_word_lists) for path in task_files(root)}
            continue
        for task in loaded:
            first = tasks.get(task.id)
            if first and resolved(first.path) == resolved(task.path):
                continue  # a folder inside another
            if first:
                message = f"the id '{task.id}' is used by {first.path}"
                problems.append(Problem(task.path, task.line, message))
                continue
            tasks[task.id] = task
    problems += shadowed(tasks.values())
    ordered = sorted(
        tasks.values(), key=lambda task: (task.group, natural_key(task.id))
    )
    for problem in problems:
        if not problem.warning:
            broken.setdefault(problem.path, []).append(problem)
    return TaskIndex({task.id: task for task in ordered}, broken), problems


def load_tasks(
    patterns: str | Sequence[str] = "all",
    include_path: Sequence[str | Path] = (),
    *,
    on_left_out: Callable[[str], None] = warnings.warn,
) -> list[LoadedTask]:
    """Return the tasks that ids, globs, groups or tags select.

    Args:
        patterns: Task ids, globs, groups, 'tag:NAME', 'all' or 'extended'; a string may hold
            several, separated by commas.
        include_path: Folders with further task files.
        on_left_out: Called with a message for each file that has errors and is ignored.

    Returns:
        The tasks, in the order of the index.

    Raises:
        TaskFileError: the file of an id that is named has errors; all of them are listed.
        T2IBenchError: a pattern matches nothing.
    """
    names = patterns.split(",") if isinstance(patterns, str) else list(patterns)
    listed = None if include_path else shipped_list()
    if listed is not None:
        listed_tasks = _read(listed.select(names))
        if listed_tasks is not None:
            return listed_tasks
    registry, _ = build_index([Path(path) for path in include_path])
    tasks = registry.select(names)
    for line in registry.left_out():
        on_left_out(line)
    return tasks


def _read(listed: Iterable[ListedTask]) -> list[LoadedTask] | None:
    """Return listed tasks, from their files alone; None if some file is not as it is listed."""
    tasks = []
    for entry in listed:
        path = bundled_tasks() / entry.group / entry.file
        task, _ = load_bundled_file(path)
        if task is None or (task.id, task.group) != (entry.id, entry.group):
            return None
        tasks.append(task)
    return tasks


def specs_of(
    hashes: Mapping[str, str], include_paths: Sequence[Path] = ()
) -> dict[str, BaseTask]:
    """Return the tasks with which results were computed, keyed by id, if they are unchanged here.

    Args:
        hashes: The hash of each task, by id, as results.json has it.
        include_paths: Folders with further task files.
    """
    folders = [path for path in include_paths if path.is_dir()]
    listed = None if folders else shipped_list()
    tasks = None
    if listed is not None:
        entries = [task for name, task in listed.tasks.items() if name in hashes]
        tasks = _read(entries)
    if tasks is None:
        index, _ = build_index(folders)
        tasks = list(index.tasks.values())
    return {task.id: task.spec for task in tasks if hashes.get(task.id) == task.hash}
