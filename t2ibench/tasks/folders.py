"""Where task files are."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

from t2ibench.store.user_paths import matching, resolved


@functools.cache  # it is asked for once for each task, and looks at each folder above it
def bundled_tasks() -> Path:
    """Return the folder of the tasks that come with t2ibench."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "bundled" / "tasks"
    return installed if installed.is_dir() else package.parent / "tasks"


def shipped_tasks(roots: Iterable[Path]) -> Path:
    """Return the folder of t2ibench's tasks: of a checkout around a root, or the bundled one."""
    bundled = bundled_tasks()
    for root in roots:
        place = resolved(root)
        for folder in (place, *place.parents):
            source = folder.parent / "t2ibench" / "tasks" / "loader.py"
            if folder.name == "tasks" and source.is_file():
                return bundled if folder == bundled.resolve() else folder
    return bundled


def task_files(root: Path) -> list[Path]:
    """Return every task file below a folder, without word lists and hidden folders."""

    def wanted(path: Path) -> bool:
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") for part in parts)
        return (
            path.suffix in {".yaml", ".yml"} and "stimuli" not in parts and not hidden
        )

    return [path for path in matching(root, "**/*.y*ml") if wanted(path)]


def word_list_files(root: Path) -> list[Path]:
    """Return every file of word lists and reference tables of a tasks folder."""
    return matching(root / "stimuli", "*.y*ml")
