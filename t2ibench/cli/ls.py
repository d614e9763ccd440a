"""`t2ibench ls`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.failure import say
from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError
from t2ibench.registry import load_target

if TYPE_CHECKING:
    from t2ibench.registry import Registry

Row = dict[str, Any]
_OWN = "t2ibench"


def _adapters(
    word: str, registry: Registry[Any], aliases: str | None = None, behind: str = ""
) -> list[Row]:
    """Adapters, and where `aliases` are, behind one of them."""
    from t2ibench.models.resolution import listed

    rows = list(listed(registry, load_target(aliases) if aliases else None, behind))
    columns = list(dict.fromkeys(name for row in rows for name in row.facts))
    return [
        {word: row.form, "what it is": row.description}
        | {name: row.facts.get(name, "") for name in columns}
        | {"from": row.origin}
        for row in rows
    ]


def _described(word: str, registry: Registry[Any]) -> list[Row]:
    """Entries that are the part itself and carry their own description."""
    rows = []
    for name in registry:
        row = {word: name, "what it is": ""}
        if word == "method":
            row["estimates"] = ""
        try:
            entry = registry.get(name)
            row["what it is"] = entry.title if word == "method" else entry.description
            if word == "method":
                row["estimates"] = " ".join(str(entry.estimand).split())
        except T2IBenchError as error:
            row["what it is"] = str(error)
        rows.append(row | {"from": registry.origin(name)})
    return rows


# Where a registry is, and from the name of the first column and the registry to rows.
KINDS: dict[str, tuple[str, Callable[[str, Registry[Any]], list[Row]]]] = {
    "methods": ("t2ibench.methods:METHODS", _described),
    "models": (
        "t2ibench.models.generators:GENERATORS",
        partial(_adapters, aliases="t2ibench.models.generators:ALIASES", behind="toyland"),
    ),
    "encoders": ("t2ibench.models.encoders:ENCODERS", _adapters),
    "judges": (
        "t2ibench.models.judges:JUDGES",
        partial(_adapters, aliases="t2ibench.models.judges:ALIASES", behind="vlm"),
    ),
    "rewriters": ("t2ibench.models.rewriters:REWRITERS", _adapters),
    "proposers": ("t2ibench.models.proposers:PROPOSERS", _adapters),
    "writers": ("t2ibench.reports.writers:WRITERS", _described),
    "papers": ("t2ibench.apps.papers.paper:PAPERS", _described),
    "destinations": ("t2ibench.reports.destinations:DESTINATIONS", _described),
}
CHOICES = ("tasks", "groups", *KINDS)
_WORDS = """what can be listed:
  tasks         tests, as --tasks takes them
  groups        groups of tests, and the tests of each
  methods       families of tests, and what each estimates
  models        generators for --model, and short names of well-known ones
  encoders      what embeds images and texts, for --encoder
  judges        what answers questions about images, for --judge
  rewriters     what rewrites prompts before the generator, for --rewriter
  proposers     language models that propose biases, for t2ibench propose
  writers       formats of t2ibench report and compare
  papers        papers for t2ibench reproduce and run --preset
  destinations  where results can be sent, for --log-to
"""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "ls",
        help="list tasks, methods, models, encoders, judges, writers, …",
        description="List what there is of one kind.",
        epilog=_WORDS,
    )
    add_flag(
        verb, "what", "kind to list (default: tasks)", nargs="?", default="tasks", choices=CHOICES
    )
    add_flag(verb, "--json", "print JSON instead of a table")
    add_flag(
        verb, "--include-path DIR", "list the tasks of DIR too; may be repeated", action="append"
    )
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """List tasks, groups or the entries of a registry."""
    what = arguments.what
    if what in KINDS:
        target, rows_of = KINDS[what]
        registry = load_target(target)
        rows = rows_of(what.removesuffix("s"), registry)
    else:
        rows = _tasks(what, [Path(path) for path in arguments.include_path or ()])
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return 0
    from tabulate import tabulate

    foreign = any(row.get("from", _OWN) != _OWN for row in rows)
    shown = []
    for row in rows:
        needs, origin = row.pop("needs", ""), row.pop("from", _OWN)
        if needs:  # few tasks need anything beside their file
            row["title"] += f" [{needs}]"
        if foreign:
            row["from"] = "" if origin == _OWN else origin
        texts = (", ".join(one) if isinstance(one, list) else one for one in row.values())
        shown.append(dict(zip(row, texts, strict=True)))
    print(tabulate(shown, headers="keys", tablefmt="simple", maxcolwidths=_widths(shown)))
    return 0


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
        say(line)
    if what == "groups":
        return [{"group": name, "tasks": ids} for name, ids in registry.groups.items()]
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
