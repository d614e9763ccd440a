"""`t2ibench ls`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from t2ibench.models.adapter import Listed
    from t2ibench.registry import Registry

Row = dict[str, Any]
_OWN = "t2ibench"


def _from_adapters(word: str, rows: Iterable[Listed]) -> list[Row]:
    listed = list(rows)
    columns = list(dict.fromkeys(name for row in listed for name in row.facts))
    return [
        {
            word: row.form,
            "what it is": row.description,
            **{name: row.facts.get(name, "") for name in columns},
            "from": row.origin,
        }
        for row in listed
    ]


def _adapters(word: str, registry: Registry[Any]) -> list[Row]:
    from t2ibench.models.adapter import listed

    return _from_adapters(word, listed(registry))


def _models(word: str, registry: Registry[Any]) -> list[Row]:
    from t2ibench.models.generators import describe_generators

    return _from_adapters(word, describe_generators())


def _judges(word: str, registry: Registry[Any]) -> list[Row]:
    from t2ibench.models.judges import describe_judges

    return _from_adapters(word, describe_judges())


def _methods(word: str, registry: Registry[Any]) -> list[Row]:
    from t2ibench.errors import T2IBenchError

    rows = []
    for name in registry:
        origin = registry.origin(name)
        try:
            method = registry.get(name)
        except T2IBenchError as error:
            rows.append({word: name, "what it is": str(error), "estimates": "", "from": origin})
            continue
        estimand = " ".join(str(method.estimand).split())
        rows.append({word: name, "what it is": method.title, "estimates": estimand, "from": origin})
    return rows


def _described(word: str, registry: Registry[Any]) -> list[Row]:
    """Entries that are the part itself and carry their own description."""
    from t2ibench.errors import T2IBenchError

    rows = []
    for name in registry:
        try:
            text = str(registry.get(name).description)
        except T2IBenchError as error:
            text = str(error)
        rows.append({word: name, "what it is": text, "from": registry.origin(name)})
    return rows


@dataclass(frozen=True, slots=True)
class Kind:
    """Something that a registry has.

    Attributes:
        registry: Where the registry is, as 'package.module:attribute'.
        rows: From the name of the first column and the registry to rows.
    """

    registry: str
    rows: Callable[[str, Registry[Any]], list[Row]] = _adapters


KINDS = {
    "methods": Kind("t2ibench.methods:METHODS", _methods),
    "models": Kind("t2ibench.models.generators:GENERATORS", _models),
    "encoders": Kind("t2ibench.models.encoders:ENCODERS"),
    "judges": Kind("t2ibench.models.judges:JUDGES", _judges),
    "rewriters": Kind("t2ibench.models.rewriters:REWRITERS"),
    "proposers": Kind("t2ibench.models.proposers:PROPOSERS"),
    "writers": Kind("t2ibench.reports.writers:WRITERS", _described),
    "papers": Kind("t2ibench.apps.papers.registry:PAPERS", _described),
    "destinations": Kind("t2ibench.reports.destinations:DESTINATIONS", _described),
}
CHOICES = ("tasks", "groups", "tags", *KINDS)


def run(arguments: argparse.Namespace) -> int:
    """List tasks, groups, tags or the entries of a registry."""
    what = arguments.what
    if what in KINDS:
        rows = _registered(what)
    else:
        rows = _tasks(what, [Path(path) for path in arguments.include_path or ()])
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return 0
    from tabulate import tabulate

    shown = [
        {key: ", ".join(value) if isinstance(value, list) else value for key, value in row.items()}
        for row in _without_own(_needs_last(rows))
    ]
    print(tabulate(shown, headers="keys", tablefmt="simple", maxcolwidths=_widths(shown)))
    return 0


def _registered(what: str) -> list[Row]:
    from t2ibench.registry import load_target

    registry = load_target(KINDS[what].registry)
    for line in registry.clashes():
        print(f"t2ibench: {line}", file=sys.stderr)
    return KINDS[what].rows(what.removesuffix("s"), registry)


def _without_own(rows: list[Row]) -> list[Row]:
    """Drop the column of packages if all entries come from t2ibench."""
    if any(row.get("from", _OWN) != _OWN for row in rows):
        return [{**row, "from": "" if row["from"] == _OWN else row["from"]} for row in rows]
    return [{key: value for key, value in row.items() if key != "from"} for row in rows]


def _needs_last(rows: list[Row]) -> list[Row]:
    """What a task needs beside its file goes behind its title: few need anything."""
    return [
        {
            **{key: value for key, value in row.items() if key != "needs"},
            "title": f"{row['title']} [{row['needs']}]",
        }
        if row.get("needs")
        else {key: value for key, value in row.items() if key != "needs"}
        for row in rows
    ]


def _widths(rows: list[Row]) -> list[int | None]:
    """On a terminal the longest column takes the room that is left; into a pipe none is cut."""
    if not rows or not sys.stdout.isatty():
        return []
    widths = {key: max(len(key), *(len(str(row[key])) for row in rows)) for key in rows[0]}
    longest = max(widths, key=lambda key: widths[key])
    taken = sum(2 + width for key, width in widths.items() if key != longest)
    room = max(30, shutil.get_terminal_size().columns - taken)
    return [room if key == longest else None for key in widths]


def _tasks(what: str, include_paths: list[Path]) -> list[Row]:
    from t2ibench.tasks.index import build_index

    registry, _ = build_index(include_paths)
    for line in registry.left_out():
        print(f"t2ibench: {line}", file=sys.stderr)
    if what == "groups":
        return [{"group": name, "tasks": ids} for name, ids in registry.groups.items()]
    if what == "tags":
        return [{"tag": f"tag:{name}", "tasks": ids} for name, ids in registry.tags.items()]
    return [
        {
            "task": task.id,
            "method": task.spec.method,
            "version": task.spec.version,
            "suite": "extended" if task.spec.extended else "all",
            "tags": list(task.spec.tags),
            "title": task.spec.title,
            "needs": pool.flag if (pool := task.spec.awaits) is not None else "",
        }
        for task in registry.tasks.values()
    ]
