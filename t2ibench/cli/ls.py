"""`t2ibench ls`."""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

_KINDS = {
    "models": ("t2ibench.models.generators", "list_generators"),
    "encoders": ("t2ibench.models.encoders", "list_encoders"),
    "judges": ("t2ibench.models.judges", "list_judges"),
    "proposers": ("t2ibench.models.proposers", "list_proposers"),
}


def run(arguments: argparse.Namespace) -> int:
    """List what there is."""
    rows = _rows(arguments.what, [Path(path) for path in arguments.include_path or ()])
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return 0
    from tabulate import tabulate

    shown = [
        {key: ", ".join(value) if isinstance(value, list) else value for key, value in row.items()}
        for row in rows
    ]
    print(tabulate(shown, headers="keys", tablefmt="simple", maxcolwidths=_widths(shown)))
    return 0


def _widths(rows: list[dict[str, Any]]) -> list[int | None]:
    """On a terminal the last column takes the room that is left; into a pipe it is never cut."""
    if not rows or not sys.stdout.isatty():
        return []
    *others, _ = rows[0]
    taken = sum(2 + max(len(key), *(len(str(row[key])) for row in rows)) for key in others)
    return [*(None for _ in others), max(30, shutil.get_terminal_size().columns - taken)]


def _rows(what: str, include_paths: list[Path]) -> list[dict[str, Any]]:
    if what in _KINDS:
        module, function = _KINDS[what]
        listed = getattr(importlib.import_module(module), function)()
        return [{what.removesuffix("s"): name, "what it is": text} for name, text in listed]
    from t2ibench.tasks.index import build_index
    from t2ibench.tasks.loader import raise_errors

    registry, problems = build_index(include_paths)
    raise_errors(problems)
    if what == "groups":
        return [{"group": name, "tasks": ids} for name, ids in registry.groups.items()]
    if what == "tags":
        return [{"tag": f"tag:{name}", "tasks": ids} for name, ids in registry.tags.items()]
    return [
        {
            "task": task.id,
            "method": task.spec.method,
            "version": task.spec.version,
            "tags": list(task.spec.tags),
            "title": task.spec.title,
        }
        for task in registry.tasks.values()
    ]
