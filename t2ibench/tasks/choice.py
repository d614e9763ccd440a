"""Find tasks by id, glob, group or tag, or all of them by 'all' or 'extended'."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from t2ibench.errors import T2IBenchError, TaskFileError, did_you_mean, shown

if TYPE_CHECKING:  # tasks that are only listed are chosen without reading files
    from t2ibench.tasks.source import Problem

# Words that --tasks accepts besides ids, groups and tags.
RESERVED = ("all", "extended")
_GLOB = re.compile(r"[*?\[]")
# Characters of the longest glob; the time of fnmatch grows with the square of its length.
_LONGEST = 1000
_ID = re.compile(r"^id:[ \t]*(\S+)", re.MULTILINE)


class Choosable(Protocol):
    """The properties of a task, such as its id and folder, by which `--tasks` can choose it."""

    @property
    def id(self) -> str:
        """Its unique name."""
        ...

    @property
    def group(self) -> str:
        """Its folder below the tasks folder, such as 't2iat'."""
        ...

    @property
    def tags(self) -> Sequence[str]:
        """Its names for `--tasks tag:NAME`."""
        ...

    @property
    def extended(self) -> bool:
        """Whether 'extended' chooses it, not 'all'."""
        ...


TaskT = TypeVar("TaskT", bound=Choosable)


@dataclass(frozen=True, slots=True)
class TaskIndex(Generic[TaskT]):
    """All tasks that a user can select, and the files that could not be used.

    Attributes:
        tasks: Valid tasks by id.
        broken: Files with errors, and their errors.
    """

    tasks: dict[str, TaskT]
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
            for tag in task.tags:
                tags.setdefault(tag, []).append(task.id)
        return dict(sorted(tags.items()))

    def select(self, patterns: Iterable[str]) -> list[TaskT]:
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
                    errors += [problem for problem in problems if not problem.warning]
            if errors:
                raise TaskFileError(map(str, errors))
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
                name for name, task in self.tasks.items() if task.extended == extended
            ]
        if pattern.startswith("tag:"):
            return self.tags.get(pattern.removeprefix("tag:"), [])
        if _GLOB.search(pattern) and len(pattern) <= _LONGEST:
            return fnmatch.filter(self.tasks, pattern)
        if pattern in self.tasks:
            return [pattern]
        return self.groups.get(pattern, [])


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
