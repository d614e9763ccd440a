"""Find tasks by id, glob, group or tag, or all of them by 'all' or 'extended'."""

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
# Characters of the longest glob; the time of fnmatch grows with the square of its length.
_LONGEST = 1000
_ID = re.compile(r"^id:[ \t]*(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TaskIndex:
    """All tasks that a user can select, and the files that could not be used.

    Attributes:
        tasks: Valid tasks by id.
        broken: Files with errors, and their errors.
    """

    tasks: dict[str, LoadedTask]
    broken: dict[Path, list[Problem]] = field(default_factory=dict)

    def left_out(self) -> list[str]:
        """Return a message for each file that is left out because it has errors."""
        lines = []
        for path, problems in self.broken.items():
            if problems[0].path != path:
                continue  # its word list has an error, which is reported there
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            if path.parent.name == "stimuli":
                to_validate = path.parent.parent
                what = "tasks beside it are"
            else:
                to_validate = path
                what = "file is"
            command = f"t2ibench validate {shlex.quote(str(to_validate))}"
            lines.append(
                f"{str(problems[0]).rstrip('.?')}{more}. The {what} left out; see `{command}`."
            )
        return lines

    @property
    def groups(self) -> dict[str, list[str]]:
        """Task ids keyed by group; a task of group a/b also belongs to group a."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks.values():
            for group in accumulate(task.group.split("/"), "{}/{}".format):
                groups.setdefault(group, []).append(task.id)
        return dict(sorted(groups.items()))

    @property
    def tags(self) -> dict[str, list[str]]:
        """Task ids keyed by tag."""
        tags: dict[str, list[str]] = {}
        for task in self.tasks.values():
            for tag in task.spec.tags:
                tags.setdefault(tag, []).append(task.id)
        return dict(sorted(tags.items()))

    def select(self, patterns: Iterable[str]) -> list[LoadedTask]:
        """Return the tasks that match any of the patterns, in the order of the index.

        Raises:
            TaskFileError: a pattern is the id of a task whose file has errors.
            T2IBenchError: a pattern matches nothing.
        """
        chosen: set[str] = set()
        for pattern in map(str.strip, patterns):
            errors: list[Problem] = []
            for path, problems in self.broken.items():
                if pattern in _ids_in(path):
                    errors += problems
            raise_errors(errors)
            matches = self._match(pattern)
            if not matches:
                from t2ibench.methods.core.describe import listed

                tags = (f"tag:{tag}" for tag in self.tags)
                names = [*self.tasks, *self.groups, *tags, *RESERVED]
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
) -> tuple[TaskIndex, list[Problem]]:
    """Return an index of the bundled tasks and those of further folders, and all problems."""
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
    """Return the ids that a task file with errors may define: those in it, or its file name."""
    if "stimuli" in path.parts:
        return set()
    if not path.is_file():  # a pipe or a device has no end
        return {path.stem}
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    return {task_id.strip("'\"") for task_id in _ID.findall(text)} or {path.stem}


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
    registry, _ = build_index([Path(path) for path in include_path])
    tasks = registry.select(names)
    for line in registry.left_out():
        on_left_out(line)
    return tasks


def specs_of(
    hashes: Mapping[str, str], include_paths: Sequence[Path] = ()
) -> dict[str, BaseTask]:
    """Return the tasks with which results were computed, keyed by id, if they are unchanged here.

    Args:
        hashes: The hash of each task, by id, as results.json has it.
        include_paths: Folders with further task files.
    """
    index, _ = build_index([path for path in include_paths if path.is_dir()])
    return {
        name: task.spec
        for name, task in index.tasks.items()
        if hashes.get(name) == task.hash
    }
