"""What is on the leaderboard: the submissions that hold, in order, and those that are left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard import names
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.table import (
    Entry,
    asked_images,
    departures,
    families,
)
from t2ibench.apps.leaderboard.verify import LEVELS, REFUSED, Verdict
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.results.files import read_results
from t2ibench.results.schema import TaskResult
from t2ibench.tasks.index import build_index

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
# A file of verdicts among the submissions would be the submitter's own; none is ever read.
STRAY = "verdicts.json"


@dataclass(frozen=True, slots=True)
class Refused:
    """A submission that is left out.

    Attributes:
        id: Its folder.
        problem: Why, in one line.
    """

    id: str
    problem: str


@dataclass(slots=True)
class Board:
    """What the leaderboard shows.

    Attributes:
        entries: Models: those that were verified, then the others.
        refused: What is left out.
    """

    entries: list[Entry]
    refused: list[Refused] = field(default_factory=list)


def read_board(
    root: Path, judge: Callable[[Path], Verdict], tell: Callable[[str], object] = str
) -> Board:
    """Every submission of a folder, verified; one that is broken is left out and ends nothing."""
    board = Board([])
    if (root / STRAY).exists():
        tell(f"{root / STRAY} is not read: verdicts are made where the site is built.")
    folders = submissions(root)
    for number, folder in enumerate(folders, 1):
        try:
            admitted = _admit(folder, judge(folder))
        except T2IBenchError as error:
            admitted = Refused(folder.name, str(error))
        except Exception as error:  # whatever a stranger's files can do, the others are shown
            admitted = Refused(folder.name, f"{type(error).__name__}: {first_line(error)}")
        where = f"[{number}/{len(folders)}] {names.visible(folder.name)}"
        if isinstance(admitted, Refused):
            # The page does not tell where on the builder's machine the submissions are.
            problem = admitted.problem.replace(str(folder), folder.name)
            admitted = Refused(names.visible(admitted.id), names.visible(problem))
            board.refused.append(admitted)
            tell(f"{where}: left out: {admitted.problem}")
        else:
            board.entries.append(admitted)
            tell(f"{where}: {admitted.level}")
    _leave_twins_out(board, tell)
    board.entries.sort(key=lambda entry: (not entry.verified, entry.id))
    _measure(board)
    return board


def submissions(root: Path) -> list[Path]:
    """The folders of submissions."""
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir() and path.name[0] != ".")


def _admit(folder: Path, found: Verdict) -> Entry | Refused:
    if found.level == REFUSED:
        return Refused(folder.name, next(iter(found.problems), "it was refused"))
    if folder.is_symlink() or not _FOLDER.fullmatch(folder.name):
        return Refused(folder.name, "its folder is a link, or has a name of strange characters")
    manifest, results = read_manifest(folder), found.results or read_results(folder)
    # Two models may have been given other captions for a task that ships none.
    shared = {name: task for name, task in results.tasks.items() if task.pool is None}
    results = results.model_copy(update={"tasks": shared})
    if not results.tasks:
        return Refused(folder.name, "it has tasks with captions of its own alone")
    entry = Entry(folder.name, manifest, results, found.level, list(found.notes), folder)
    entry.parts, entry.stated, entry.paired = dict(found.parts), list(found.stated), found.paired
    return entry


def _leave_twins_out(board: Board, tell: Callable[[str], object]) -> None:
    """Of rows whose names look alike one is kept."""

    def claim(entry: Entry) -> tuple[Any, ...]:
        """The better verified, a model's own name, the plainer name; smaller is better."""
        name = entry.manifest.name
        level = list(LEVELS).index(entry.level)
        return level, name != entry.manifest.model, not name.isascii(), entry.id

    kept: dict[str, str] = {}
    for entry in sorted(board.entries, key=claim):
        other = names.twin(entry.manifest.name, kept)
        if other is None:
            kept[entry.id] = entry.manifest.name
            continue
        refused = Refused(entry.id, f"its name looks like that of {other}")
        board.refused.append(refused)
        tell(f"{refused.id}: left out: {refused.problem}")
    board.entries = [entry for entry in board.entries if entry.id in kept]


def twins(name: str, folders: Iterable[Path]) -> str | None:
    """Which submission a name could be confused with."""
    known: dict[str, str] = {}
    for folder in folders:
        try:
            known[folder.name] = read_manifest(folder).name
        except T2IBenchError:
            continue
    other = names.twin(name, known)
    if other is None:
        return None
    return (
        f"the name '{names.visible(name)}' looks like that of {names.visible(other)}, "
        f"'{names.visible(known[other])}'"
    )


def folder_problems(root: Path) -> Iterator[str]:
    """What a folder of submissions may not hold, besides what is wrong with a single one."""
    if (root / STRAY).exists():
        yield (
            f"{root / STRAY}: verdicts are made where the site is built, never submitted; remove it"
        )
    folders = submissions(root)
    for number, folder in enumerate(folders):
        if not _FOLDER.fullmatch(folder.name):
            yield f"{names.visible(str(folder))}: its name may only hold letters, digits, . _ and -"
        try:
            name = read_manifest(folder).name
        except T2IBenchError:
            continue  # verifying it says so
        problem = twins(name, folders[:number])
        if problem:
            yield f"{folder}: {problem}"


def _measure(board: Board) -> None:
    """Compute the cells of all models; only what was verified says which tasks a family has."""
    # No model is ranked by what few models ran.
    extended = {name for name, task in build_index()[0].tasks.items() if task.spec.extended}
    ranked = {
        entry.id: {name: one for name, one in entry.results.tasks.items() if name not in extended}
        for entry in board.entries
    }
    sizes = _family_sizes([ranked[entry.id] for entry in board.entries if entry.verified])
    # Who ran extended tests alone is compared with those who ran the same ones.
    alone = {entry.id for entry in board.entries if not ranked[entry.id]}
    ranked |= {one.id: dict(one.results.tasks) for one in board.entries if one.id in alone}
    asked = asked_images()
    for entry in board.entries:
        found = _family_sizes([ranked[entry.id]])
        others = {} if entry.id in alone else sizes
        own = {name: max(size, others.get(name, 0)) for name, size in found.items()}
        of = dict(sorted((others | own).items()))
        entry.families = families(ranked[entry.id], of, entry.paired, asked)
        entry.departures = departures(entry.results.tasks, asked)


def _family_sizes(ran: Iterable[Mapping[str, TaskResult]]) -> dict[str, int]:
    """Number of tasks of each family."""
    tasks = {(task.family, name) for found in ran for name, task in found.items()}
    return dict(sorted(Counter(family for family, _ in tasks).items()))
