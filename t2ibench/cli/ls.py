"""`t2ibench ls`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


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
    widths: list[int | None] = [None] * (len(shown[0]) - 1) + [60] if shown else []
    print(tabulate(shown, headers="keys", tablefmt="simple", maxcolwidths=widths))
    return 0


def _rows(what: str, include_paths: list[Path]) -> list[dict[str, Any]]:
    if what == "models":
        from t2ibench.models.generators import list_generators

        return [{"model": name, "what it is": text} for name, text in list_generators()]
    if what == "encoders":
        from t2ibench.models.encoders import list_encoders

        return [{"encoder": name, "what it is": text} for name, text in list_encoders()]
    from t2ibench.tasks.loader import raise_errors
    from t2ibench.tasks.registry import build_registry

    registry, problems = build_registry(include_paths)
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
