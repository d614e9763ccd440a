"""Finding tasks by name, glob, group or tag, 'all' or 'extended'."""

from __future__ import annotations

import fnmatch
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.schema import BaseTask
from t2ibench.store.files import natural_key
from t2ibench.tasks.loader import (
    RESERVED,
    LoadedTask,
    library_for,
    load_folder,
    raise_errors,
    shipped_tasks,
    task_files,
)
from t2ibench.tasks.source import Problem

_GLOB = re.compile(r"[*?\[]")
_LONGEST = 1000  # of a pattern: fnmatch takes the square of its length
_ID = re.compile(r"^id:[ \t]*(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TaskIndex:
    """All tasks that can be named, by id, and files with errors."""

    tasks: dict[str, LoadedTask]
    broken: dict[Path, list[Problem]] = field(default_factory=dict)

    def left_out(self) -> list[str]:
        """A line for each file with errors."""
        lines = []
        for path, problems in self.broken.items():
            if problems[0].path != path:
                continue  # told of the word lists beside it
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            lists = path.parent.name == "stimuli"
            whole, what = (
                (path.parent.parent, "tasks beside it are")
                if lists
                else (path, "file is")
            )
            command = f"t2ibench validate {shlex.quote(str(whole))}"
            lines.append(
                f"{str(problems[0]).rstrip('.?')}{more}. The {what} left out; see `{command}`."
            )
        return lines

    @property
    def groups(self) -> dict[str, list[str]]:
        """Group name to task ids; a task is also in the groups around its own."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks.values():
            for group in accumulate(task.group.split("/"), "{}/{}".format):
                groups.setdefault(group, []).append(task.id)
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
        """The tasks that match any of the patterns, in the index's order."""
        chosen: set[str] = set()
        for pattern in map(str.strip, patterns):
            mine = [path for path in self.broken if pattern in _ids_in(path)]
            raise_errors([problem for path in mine for problem in self.broken[path]])
            matches = self._match(pattern)
            if not matches:
                tags = (f"tag:{tag}" for tag in self.tags)
                names = [*self.tasks, *self.groups, *tags, *RESERVED]
                from t2ibench.methods.core.describe import listed

                files = listed(list(map(str, self.broken)), 1)
                also = (
                    f"; {files} could not be used, because of errors" if files else ""
                )
                raise T2IBenchError(
                    f"Unknown task, group or tag '{shown(pattern)}'.{did_you_mean(pattern, names)}",
                    f"`t2ibench ls tasks` lists them{also}.",
                )
            chosen.update(matches)
        return [task for name, task in self.tasks.items() if name in chosen]

    def _match(self, pattern: str) -> list[str]:
        if pattern in RESERVED:
            extended = pattern == "extended"
            return [
                name
                for name, task in self.tasks.items()
                if task.spec.extended == extended
            ]
        if pattern.startswith("tag:"):
            return self.tags.get(pattern.removeprefix("tag:"), [])
        if _GLOB.search(pattern) and len(pattern) <= _LONGEST:
            return fnmatch.filter(self.tasks, pattern)
        if pattern in self.tasks:
            return [pattern]
        return self.groups.get(pattern, [])


def shadowed(tasks: Iterable[LoadedTask]) -> list[Problem]:
    """Tasks whose id is also the name of a group of other tasks."""
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
) -> tuple[TaskIndex, list[Problem]]:
    """Load the bundled tasks and those of further folders."""
    first_root = shipped_tasks(include_paths)
    roots = list(
        {root.resolve(): root for root in (first_root, *include_paths)}.values()
    )
    library = library_for(roots)
    problems = list(library.problems)
    tasks: dict[str, LoadedTask] = {}
    broken: dict[Path, list[Problem]] = {}
    for root in roots:
        loaded, complaints = load_folder(root, library)
        problems += complaints
        unsure = [
            one for one in library.problems if one.path.parent == root / "stimuli"
        ]
        if unsure:  # which words its tasks mean cannot be known
            broken |= {path: list(unsure) for path in task_files(root)}
            continue
        for task in loaded:
            first = tasks.get(task.id)
            if first and first.path.resolve() == task.path.resolve():
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


def _ids_in(path: Path) -> set[str]:
    """The ids that a task file with errors may define: the one it names, or its own name."""
    if "stimuli" in path.parts:
        return set()
    if not path.is_file():  # a pipe or a device has no end
        return {path.stem}
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return {found.strip("'\"") for found in _ID.findall(text)} or {path.stem}


def load_tasks(
    patterns: str | Sequence[str] = "all",
    include_path: Sequence[str | Path] = (),
    *,
    on_left_out: Callable[[str], None] = warnings.warn,
) -> list[LoadedTask]:
    """Load tasks by name.

    Args:
        patterns: Task ids, globs, groups, 'tag:NAME', 'all' or 'extended'; a string may hold
            several, separated by commas.
        include_path: Folders with further task files.
        on_left_out: Told of each file with errors; tasks of other files do not need it.

    Returns:
        The tasks, in the order of the index.

    Raises:
        TaskFileError: the file of an id that is named has errors; all of them are listed.
        T2IBenchError: a pattern matches nothing.
    """
    names = patterns.split(",") if isinstance(patterns, str) else list(patterns)
    registry, _ = build_index([Path(path) for path in include_path])
    tasks = registry.select(names)
    for line in registry.left_out():
        on_left_out(line)
    return tasks


def specs_of(
    hashes: Mapping[str, str], include_paths: Sequence[Path] = ()
) -> dict[str, BaseTask]:
    """The task files of results, as far as they are at hand and unchanged."""
    index, _ = build_index([path for path in include_paths if path.is_dir()])
    return {
        name: task.spec
        for name, task in index.tasks.items()
        if hashes.get(name) == task.hash
    }
