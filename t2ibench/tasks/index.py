"""Finding tasks by name, glob, group, tag or 'all'."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.methods.core.schema import BaseTask
from t2ibench.store.files import natural_key
from t2ibench.tasks.loader import (
    LoadedTask,
    bundled_tasks,
    library_for,
    load_folder,
    raise_errors,
)
from t2ibench.tasks.source import Problem

_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class TaskIndex:
    """All tasks that can be named."""

    tasks: dict[str, LoadedTask]

    @property
    def groups(self) -> dict[str, list[str]]:
        """Group name to task ids; a task is also in the groups around its own."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks.values():
            parts = task.group.split("/")
            for length in range(1, len(parts) + 1):
                groups.setdefault("/".join(parts[:length]), []).append(task.id)
        return dict(sorted(groups.items()))

    @property
    def tags(self) -> dict[str, list[str]]:
        """Tag to task ids."""
        tags: dict[str, list[str]] = {}
        for task in self.tasks.values():
            for tag in task.spec.tags:
                tags.setdefault(tag, []).append(task.id)
        return dict(sorted(tags.items()))

    def select(self, patterns: Iterable[str]) -> list[LoadedTask]:
        """The tasks that match any of the patterns, in the index's order.

        Args:
            patterns: Task ids, globs, group names, 'tag:NAME' or 'all'.

        Returns:
            The tasks, each once.

        Raises:
            T2IBenchError: a pattern matches nothing.
        """
        chosen: set[str] = set()
        for pattern in map(str.strip, patterns):
            matches = self._match(pattern)
            if not matches:
                names = [*self.tasks, *self.groups, *(f"tag:{tag}" for tag in self.tags), "all"]
                raise T2IBenchError(
                    f"Unknown task, group or tag '{pattern}'.{did_you_mean(pattern, names)}",
                    "`t2ibench ls tasks` lists them.",
                )
            chosen.update(matches)
        return [task for name, task in self.tasks.items() if name in chosen]

    def _match(self, pattern: str) -> list[str]:
        if pattern == "all":
            return list(self.tasks)
        if pattern.startswith("tag:"):
            return self.tags.get(pattern.removeprefix("tag:"), [])
        if _GLOB.search(pattern):
            return fnmatch.filter(self.tasks, pattern)
        if pattern in self.tasks:
            return [pattern]
        return self.groups.get(pattern, [])


def build_index(
    include_paths: Sequence[Path] = (),
) -> tuple[TaskIndex, list[Problem]]:
    """Load the bundled tasks and those of further folders.

    Args:
        include_paths: Folders of further task files.

    Returns:
        The index and every problem, warnings included.

    Raises:
        T2IBenchError: a folder does not exist.
    """
    roots = list({root.resolve(): root for root in (bundled_tasks(), *include_paths)}.values())
    library = library_for(roots)
    problems = list(library.problems)
    tasks: dict[str, LoadedTask] = {}
    for root in roots:
        loaded, complaints = load_folder(root, library)
        problems += complaints
        for task in loaded:
            first = tasks.get(task.id)
            if first and first.path.resolve() == task.path.resolve():
                continue  # a folder inside another
            if first:
                message = f"the id '{task.id}' is used by {first.path}"
                problems.append(Problem(task.path, task.line, message))
                continue
            tasks[task.id] = task
    ordered = sorted(tasks.values(), key=lambda task: (task.group, natural_key(task.id)))
    return TaskIndex({task.id: task for task in ordered}), problems


def load_tasks(
    patterns: str | Sequence[str] = "all", include_path: Sequence[str | Path] = ()
) -> list[LoadedTask]:
    """Load tasks by name.

    Args:
        patterns: Task ids, globs, groups, 'tag:NAME' or 'all'; a string may hold several,
            separated by commas.
        include_path: Folders with further task files.

    Returns:
        The tasks, in the order of the index.

    Raises:
        TaskFileError: a task file has errors; all of them are listed.
        T2IBenchError: a pattern matches nothing.
    """
    names = patterns.split(",") if isinstance(patterns, str) else list(patterns)
    registry, problems = build_index([Path(path) for path in include_path])
    raise_errors(problems)
    return registry.select(names)


def specs_of(hashes: Mapping[str, str], include_paths: Sequence[Path] = ()) -> dict[str, BaseTask]:
    """The task files of results, as far as they are at hand and unchanged.

    Args:
        hashes: Task id to the hash that its results have.
        include_paths: Folders of further task files; those that are gone are ignored.

    Returns:
        Task id to its file.
    """
    index, _ = build_index([path for path in include_paths if path.is_dir()])
    return {name: task.spec for name, task in index.tasks.items() if hashes.get(name) == task.hash}
