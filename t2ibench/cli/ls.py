"""`t2ibench ls`: list tasks and adapters, or show one task in full."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.failure import say
from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError, TaskFileError, did_you_mean, shown
from t2ibench.garbage import uncollected
from t2ibench.registry import load_target

if TYPE_CHECKING:
    from t2ibench.registry import Registry
    from t2ibench.tasks.choice import TaskIndex
    from t2ibench.tasks.listing import ListedTask
    from t2ibench.tasks.loader import LoadedTask

Row = dict[str, Any]
_OWN = "t2ibench"
_NARROWEST = 20  # width of the longest column on a narrow terminal


def _adapters(
    word: str, registry: Registry[Any], aliases: str | None = None, behind: str = ""
) -> list[Row]:
    """Return a row for each adapter in a registry, and for `aliases` below adapter `behind`."""
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
    """Return a row for each entry of a registry whose entries describe themselves."""
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


_models = partial(
    _adapters, aliases="t2ibench.models.generators:ALIASES", behind="toyland"
)
_judges = partial(_adapters, aliases="t2ibench.models.judges:ALIASES", behind="vlm")

# The import path of each registry, and the function that makes its rows, given the heading of the
# first column and the registry.
KINDS: dict[str, tuple[str, Callable[[str, Registry[Any]], list[Row]]]] = {
    "methods": ("t2ibench.methods:METHODS", _described),
    "models": ("t2ibench.models.generators:GENERATORS", _models),
    "encoders": ("t2ibench.models.encoders:ENCODERS", _adapters),
    "judges": ("t2ibench.models.judges:JUDGES", _judges),
    "rewriters": ("t2ibench.models.rewriters:REWRITERS", _adapters),
    "proposers": ("t2ibench.models.proposers:PROPOSERS", _adapters),
    "writers": ("t2ibench.reports.writers:WRITERS", _described),
    "papers": ("t2ibench.apps.papers.paper:PAPERS", _described),
    "destinations": ("t2ibench.reports.destinations:DESTINATIONS", _described),
}
WORDS = ("tasks", "groups", "runs", *KINDS)
_WIDTH = 100  # columns of the output if there is no terminal

_DESCRIPTION = """List tasks, groups of tasks, your runs, or the parts of a run; print one task.

  t2ibench ls                          all tasks: suite, images, title
  t2ibench ls core                     the tasks of a suite: core, all or extended
  t2ibench ls occupations              of a group; `ls groups` lists groups
  t2ibench ls tag:gender               with a tag
  t2ibench ls "*_gender"               by a pattern of their names; several words: core,tag:age
  t2ibench ls core_occupations_gender  one task: question, prompts, images, groups, source, limits
  t2ibench ls core --card              benchmark cards of tasks, in Markdown
  t2ibench ls runs                     your runs in ./runs: model, images, state, date, tests
  t2ibench ls runs results old/runs    the runs under these folders
  t2ibench ls models                   models and their aliases
  t2ibench ls encoders                 what embeds images and texts
  t2ibench ls judges                   what answers questions about images
  t2ibench ls methods                  families of tasks, and what they estimate
  t2ibench ls writers                  formats of `report --format`
  t2ibench ls papers                   what `reproduce` takes; also rewriters, proposers,
                                       destinations"""


def add(verbs: Any) -> None:
    """Add the command `ls` and its flags to the command line."""
    verb = verbs.add_parser(
        "ls",
        description=_DESCRIPTION,
    )
    text = (
        f"list one kind of thing ({', '.join(WORDS)}), or print one task, or list those of a "
        "group, tag:NAME or pattern (default: tasks)"
    )
    add_flag(verb, "what WORD", text, nargs="?", default="tasks")
    text = "list the runs under these folders, of `ls runs` (default: runs)"
    add_flag(verb, "folders FOLDER", text, nargs="*", default=[])
    add_flag(verb, "--json", "print JSON with every column (default: a table)")
    add_flag(
        verb,
        "--card",
        "print a benchmark card of each task, in Markdown (default: a table, or one task)",
    )
    add_flag(
        verb,
        "--format F",
        "print table, json or csv (default: table)",
        choices=("table", "json", "csv"),
    )
    add_flag(
        verb, "--verbose", "print every prompt and word of a task (default: a summary)"
    )
    add_flag(
        verb,
        "--include-path DIR",
        "add the tasks of a folder (default: none)",
        action="append",
    )
    verb.set_defaults(handler=run)


@uncollected()  # because most of its time is that of imports
def run(arguments: argparse.Namespace) -> int:
    """List tasks, groups or registry entries, or print one task; return the exit status."""
    what = arguments.what
    form = "json" if arguments.json else arguments.format or "table"
    _check(arguments, form)
    if what == "runs":
        _print_runs(arguments.folders, form)
        return 0
    if what in KINDS:
        target, rows_of = KINDS[what]
        registry = load_target(target)
        _print_rows(rows_of(what.removesuffix("s"), registry), form)
        return 0
    folders = arguments.include_path or ()
    index = _index(folders)
    for line in index.left_out():
        say(line)
    if arguments.card:
        _print_cards(_read(_selected(index, what), folders))
    elif what == "groups":
        groups = [{"group": name, "tasks": ids} for name, ids in index.groups.items()]
        _print_rows(groups, form)
    elif what in index.tasks:
        (task,) = _read([index.tasks[what]], folders)
        _print_task(task, form, verbose=arguments.verbose)
    else:
        _print_tasks(_selected(index, what), form)
    return 0


def _index(folders: Sequence[str]) -> TaskIndex[ListedTask]:
    """Return an index of the shipped tasks and those of further folders, for a list of them."""
    from t2ibench.tasks.choice import TaskIndex
    from t2ibench.tasks.listing import listed_task, shipped_list

    stored = None if folders else shipped_list()
    if stored is not None:
        return stored
    from t2ibench.tasks.index import build_index

    index, _ = build_index(list(map(Path, folders)))
    tasks = {name: listed_task(task) for name, task in index.tasks.items()}
    return TaskIndex(tasks, index.broken)


def _read(tasks: Sequence[ListedTask], folders: Sequence[str]) -> list[LoadedTask]:
    """Return listed tasks as their files have them."""
    from t2ibench.tasks.index import build_index

    index, _ = build_index(list(map(Path, folders)))
    return [index.tasks[task.id] for task in tasks]


def _check(arguments: argparse.Namespace, form: str) -> None:
    """Raise an error for flags that do not fit what is listed."""
    what = arguments.what
    is_of_tasks = what not in ("groups", "runs", *KINDS)
    if arguments.card and not (is_of_tasks and form == "table"):
        raise T2IBenchError(
            "--card is about tasks, and is Markdown.",
            "Name tasks, and leave --json and --format out: t2ibench ls core --card",
        )
    if arguments.folders and what != "runs":
        raise T2IBenchError(
            f"`ls {shown(what)}` takes no folder.", "`t2ibench ls runs FOLDER` does."
        )


def _print_runs(folders: Sequence[str], form: str) -> None:
    """Print the runs under folders as a table, JSON or CSV."""
    from t2ibench.cli.ls_runs import print_runs, run_rows

    rows = run_rows(folders)
    if form == "table":
        print_runs(rows)
    else:
        _print_rows(rows, form)


def _selected(index: TaskIndex[ListedTask], what: str) -> list[ListedTask]:
    """Return the tasks that a word names; raise an error with the most similar name if none."""
    if what == "tasks":
        return list(index.tasks.values())
    try:
        return index.select(what.split(","))
    except TaskFileError:
        raise
    except T2IBenchError:
        if "," in what:  # then the error names the unknown word
            raise
        suites = ("all", "extended")
        names = [
            *WORDS,
            *suites,
            *index.groups,
            *index.tasks,
            *(f"tag:{tag}" for tag in index.tags),
        ]
        raise T2IBenchError(
            f"Nothing is called '{shown(what)}'.{did_you_mean(what, names)}",
            "`t2ibench ls tasks` lists tasks, `t2ibench ls groups` groups; `t2ibench ls --help` "
            "says what else there is.",
        ) from None


def _print_tasks(tasks: Sequence[ListedTask], form: str) -> None:
    """Print tasks as a table as wide as the terminal, or all their cells as JSON or CSV."""
    from t2ibench.cli.ls_tasks import row_of, shown_row

    rows = [row_of(task) for task in tasks]
    if form != "table":
        _print_rows(rows, form)
        return
    from tabulate import tabulate

    table = [shown_row(row) for row in rows]
    widths = _widths(table, shutil.get_terminal_size((_WIDTH, 24)).columns)
    align = ("left", "left", "right", "left")
    print(
        tabulate(
            table,
            headers="keys",
            tablefmt="simple",
            maxcolwidths=widths,
            colalign=align,
        )
    )


def _print_cards(tasks: Sequence[LoadedTask]) -> None:
    from t2ibench.reports.exchange.benchmark_card import benchmark_card

    print("\n".join(map(benchmark_card, tasks)), end="")


def _print_task(task: LoadedTask, form: str, *, verbose: bool) -> None:
    from t2ibench.cli.ls_task import page_of, record_of

    if form == "csv":
        raise T2IBenchError(
            "A single task cannot be printed as a table.", "Use --format json."
        )
    if form == "json":
        print(json.dumps(record_of(task), indent=1, ensure_ascii=False))
    else:
        width = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns)
        print(page_of(task, width, verbose))


def _print_rows(rows: list[Row], form: str) -> None:
    """Print rows as a table, or with every column as JSON or CSV."""
    if form == "json":
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    if form == "csv":
        print(_csv(rows), end="")
        return
    from tabulate import tabulate

    foreign = any(row.get("from", _OWN) != _OWN for row in rows)
    table = []
    for row in rows:
        origin = row.pop("from", _OWN)
        if foreign:
            row["from"] = "" if origin == _OWN else origin
        texts = (
            ", ".join(cell) if isinstance(cell, list) else cell for cell in row.values()
        )
        table.append(dict(zip(row, texts, strict=True)))
    # A pipe gets columns of any width.
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(
        tabulate(
            table,
            headers="keys",
            tablefmt="simple",
            maxcolwidths=_widths(table, columns),
        )
    )


def _csv(rows: list[Row]) -> str:
    """Return rows as comma-separated values; lists are joined, what is unknown is empty."""
    from t2ibench.reports.writers import Table, render

    heads = list(rows[0]) if rows else []
    cells = [[_csv_cell(row.get(head)) for head in heads] for row in rows]
    return render("csv", Table(heads, cells))


def _csv_cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return "" if value is None else str(value)


def _widths(rows: list[Row], columns: int | None) -> list[int | None]:
    """Return a limit for the width of the longest column, and None for each other one."""
    if not rows or columns is None:
        return []
    widths = {  # tabulate gives a heading two columns more
        key: max(len(key) + 2, *(len(str(row[key])) for row in rows)) for key in rows[0]
    }
    longest = max(widths, key=lambda key: widths[key])
    taken = sum(2 + width for key, width in widths.items() if key != longest)
    room = max(_NARROWEST, columns - taken)
    return [room if key == longest else None for key in widths]
