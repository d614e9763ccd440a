"""`t2ibench validate`: check task files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.tasks.loader import LoadedTask
    from t2ibench.tasks.source import Problem


def add(verbs: Any) -> None:
    """Add the command `validate` and its flags to the command line."""
    verb = verbs.add_parser(
        "validate",
        description="Check task files (the bundled ones without arguments).",
    )
    add_flag(
        verb,
        "paths FILE|DIR",
        "validate these task files and folders (default: the tasks that are shipped)",
        nargs="*",
    )
    add_flag(verb, "--strict", "treat warnings as errors (default: report them)")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Validate task files, print every problem, and return the exit status."""
    from t2ibench.tasks.folders import bundled_tasks, task_files
    from t2ibench.tasks.loader import library_for, load_file
    from t2ibench.tasks.source import Problem

    paths = [Path(path) for path in arguments.paths] or [bundled_tasks()]
    _check_existing(paths)
    roots = [path if path.is_dir() else path.parent for path in paths]
    library = library_for(list(dict.fromkeys(roots)))
    problems = list(library.problems)
    ids: dict[str, LoadedTask] = {}
    count = 0
    for path, root in zip(paths, roots, strict=True):
        files = task_files(path) if path.is_dir() else [path]
        if not files:
            problems.append(Problem(path, None, "holds no task files (*.yaml)"))
        for file in files:
            count += 1
            task, complaints = load_file(file, root, library)
            problems += complaints
            if task is None:
                continue
            other = ids.setdefault(task.id, task)
            if other.path.resolve() != file.resolve():
                message = f"the id '{task.id}' is used by {other.path}"
                problems.append(Problem(file, task.line, message))
    problems += _clashes(ids)
    for problem in problems:
        print(problem)
    return _print_summary(count, problems, strict=arguments.strict)


def _check_existing(paths: Sequence[Path]) -> None:
    """Raise an error if a file or folder does not exist."""
    for path in paths:
        if not path.exists():
            raise T2IBenchError(f"No such file or folder: '{path}'.")


def _print_summary(count: int, problems: Sequence[Problem], *, strict: bool) -> int:
    """Print how many files have how many problems, and return the exit status."""
    errors = sum(not problem.warning for problem in problems)
    warnings = len(problems) - errors
    failed = errors > 0 or (strict and warnings > 0)
    parts = ((count, "task file"), (errors, "error"), (warnings, "warning"))
    texts = [f"{number} {what}{'' if number == 1 else 's'}" for number, what in parts]
    summary = f"{texts[0]}: {texts[1]}, {texts[2]}."
    print(summary, file=sys.stderr if failed else sys.stdout)
    return 1 if failed else 0


def _clashes(ids: dict[str, LoadedTask]) -> list[Problem]:
    """Return a problem for each id that a bundled task has already."""
    from t2ibench.tasks.folders import shipped_tasks
    from t2ibench.tasks.index import build_index
    from t2ibench.tasks.source import Problem

    shipped = shipped_tasks([task.path for task in ids.values()]).resolve()
    outside = {
        name: task
        for name, task in ids.items()
        if not task.path.resolve().is_relative_to(shipped)
    }
    if not outside:
        return []
    registry, _ = build_index()
    return [
        Problem(task.path, task.line, f"the id '{name}' is used by a bundled task")
        for name, task in outside.items()
        if name in registry.tasks
    ]
