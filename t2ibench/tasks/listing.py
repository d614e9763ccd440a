"""List tasks: what a line of `t2ibench ls` shows of each, and which file it is in.

Reading all shipped files takes a second, so a list of them is stored beside them, with the SHA-256
of every file. Tasks are listed from it, and of the tasks that a run names only the files are read.
It is used only while all files have these hashes. `python tools/write_task_list.py`
writes it, and a test compares it with the files.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.tasks.choice import TaskIndex
from t2ibench.tasks.folders import bundled_tasks, task_files, word_list_files

if TYPE_CHECKING:
    from t2ibench.methods.core.evidence import Needs
    from t2ibench.tasks.loader import LoadedTask

LIST = "list.json"
CORE = "core"  # the group of the short suite


@dataclass(frozen=True, slots=True)
class ListedTask:
    """What a list shows of a task, and what it is chosen by.

    Attributes:
        id: Its unique name.
        method: Name of its method.
        version: Version of its file.
        group: Its folder below the tasks folder.
        file: Name of its file in that folder.
        tags: Its names for `--tasks tag:NAME`.
        extended: Whether 'extended' chooses it, not 'all'.
        images: Images that it needs at its own number of images, edits and their source images
            among them; None if captions decide it.
        title: Its title.
        needs: The flag that gives its captions; '' if it has them.
    """

    id: str
    method: str
    version: int
    group: str
    file: str
    tags: tuple[str, ...]
    extended: bool
    images: int | None
    title: str
    needs: str

    @property
    def suite(self) -> str:
        """The --tasks value of the suite that the task belongs to."""
        if self.group == CORE:
            return CORE
        return "extended" if self.extended else "all"


def listed_task(task: LoadedTask) -> ListedTask:
    """Return what a list shows of a task that has been read."""
    from t2ibench.methods.registry import needs_if_decided

    spec = task.spec
    pool = spec.awaits
    asked = needs_if_decided(spec)
    return ListedTask(
        id=task.id,
        method=spec.method,
        version=spec.version,
        group=task.group,
        file=task.path.name,
        tags=spec.tags,
        extended=spec.extended,
        images=None if asked is None else _number_of_images(asked),
        title=spec.title,
        needs="" if pool is None else pool.flag,
    )


def _number_of_images(asked: Needs) -> int:
    """Return how many images a task needs: of prompts, source images, and edits of these."""
    from t2ibench.methods.core.edit_needs import expected_images

    sources = sum(source.images for source in asked.sources)
    return asked.n_images + sources + expected_images([asked])


@functools.cache
def shipped_list() -> TaskIndex[ListedTask] | None:
    """Return the list of the shipped tasks, which is read once per process, as their files are."""
    return stored_list(bundled_tasks())


def stored_list(folder: Path) -> TaskIndex[ListedTask] | None:
    """Return the list of a folder's tasks; None if a file is not as it was when it was written."""
    try:
        stored = json.loads((folder / LIST).read_bytes())
        if stored["files"] != _hashes(folder):
            return None
        tasks = [
            ListedTask(**row | {"tags": tuple(row["tags"])}) for row in stored["tasks"]
        ]
    # It is missing, damaged, or of a version that lists something else.
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return TaskIndex({task.id: task for task in tasks})


def list_text(folder: Path, tasks: Iterable[LoadedTask]) -> str:
    """Return the text of the list of tasks in a folder, one file and one task a line."""
    files = [
        f"  {_json(name)}: {_json(sha256)}" for name, sha256 in _hashes(folder).items()
    ]
    rows = [f"  {_json(asdict(listed_task(task)))}" for task in tasks]
    parts = ['{"files": {', ",\n".join(files), '}, "tasks": [', ",\n".join(rows), "]}"]
    return "\n".join(parts) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of tasks and of words, keyed by its place in the folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in (*task_files(folder), *word_list_files(folder))
    }
