"""The content of the leaderboard: the verified submissions, and the rejected ones with reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.apps.leaderboard import names
from t2ibench.apps.leaderboard.regenerate import LEVELS, REFUSED, Verdict
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.table import Entry, departures, families
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.results.files import read_results
from t2ibench.results.schema import TaskResult
from t2ibench.tasks.index import build_index

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


@dataclass(slots=True)
class Board:
    """The accepted submissions of the leaderboard, and the rejected ones with the reasons.

    Attributes:
        entries: The models.
        refused: Folder to why it is left out, in one line.
    """

    entries: list[Entry]
    refused: dict[str, str] = field(default_factory=dict)


def read_board(
    root: Path, judge: Callable[[Path], Verdict], tell: Callable[[str], object] = str
) -> Board:
    """Verify every submission in a folder, and return those accepted and those rejected."""
    board = Board([])
    folders = submissions(root)

    def leave_out(name: str, problem: str) -> None:
        board.refused[names.visible(name)] = names.visible(problem)
        tell(f"{names.visible(name)}: left out: {names.visible(problem)}")

    for number, folder in enumerate(folders, 1):
        try:
            entry = _admit(folder, judge(folder))
        except (
            Exception
        ) as error:  # untrusted files may raise anything; the other entries are shown
            kind = (
                "" if isinstance(error, T2IBenchError) else f"{type(error).__name__}: "
            )
            # The page does not tell where on the builder's machine the submissions are.
            leave_out(
                folder.name,
                f"{kind}{first_line(error)}".replace(str(folder), folder.name),
            )
            continue
        board.entries.append(entry)
        tell(f"[{number}/{len(folders)}] {entry.id}: {entry.verdict.level}")
    names_by_id: dict[str, str] = {}
    for entry in sorted(board.entries, key=_claim):
        lookalike = names.lookalike(entry.manifest.name, names_by_id)
        if lookalike is None:
            names_by_id[entry.id] = entry.manifest.name
        else:
            leave_out(entry.id, f"its name looks like that of {lookalike}")
    board.entries = sorted(
        (entry for entry in board.entries if entry.id in names_by_id),
        key=lambda entry: entry.id,
    )
    _measure(board.entries)
    return board


def _claim(entry: Entry) -> tuple[int, bool, bool, str]:
    """Return the key that decides which of several similar names stays: best verified first."""
    name = entry.manifest.name
    level = list(LEVELS).index(entry.verdict.level)
    return level, name != entry.manifest.model, not name.isascii(), entry.id


def submissions(root: Path) -> list[Path]:
    """Return the folders of all submissions in `root`, sorted by name."""
    if not root.is_dir():
        return []
    return sorted(
        path for path in root.iterdir() if path.is_dir() and path.name[0] != "."
    )


def _admit(folder: Path, verdict: Verdict) -> Entry:
    """Return the entry of a submission, in visible words; raise an error if it is left out."""
    if verdict.level == REFUSED:
        raise T2IBenchError(next(iter(verdict.problems), "it was refused"))
    if folder.is_symlink() or not _FOLDER.fullmatch(folder.name):
        raise T2IBenchError("its folder is a link, or has a name of strange characters")
    # From here on, every word of the submission is one that can be seen: nothing hides or turns it.
    return names.in_visible_words(
        Entry(
            folder.name,
            read_manifest(folder),
            verdict.results or read_results(folder),
            verdict,
        )
    )


def lookalike_problem(name: str, folders: Iterable[Path]) -> str | None:
    """Return a message if a name can be mistaken for that of a submission; else None."""
    names_by_folder: dict[str, str] = {}
    for folder in folders:
        with suppress(T2IBenchError):
            names_by_folder[folder.name] = read_manifest(folder).name
    other = names.lookalike(name, names_by_folder)
    return other and (
        f"the name '{names.visible(name)}' looks like that of {names.visible(other)}, "
        f"'{names.visible(names_by_folder[other])}'"
    )


def folder_problems(root: Path) -> Iterator[str]:
    """Yield a message for each invalid folder name, and each model name too similar to another."""
    folders = submissions(root)
    for number, folder in enumerate(folders):
        if not _FOLDER.fullmatch(folder.name):
            yield f"{names.visible(str(folder))}: its name may only hold letters, digits, . _ and -"
        with suppress(T2IBenchError):  # verifying the submission reports it
            if problem := lookalike_problem(
                read_manifest(folder).name, folders[:number]
            ):
                yield f"{folder}: {problem}"


def _measure(entries: Sequence[Entry]) -> None:
    """Set each entry's score in each family, and how its tasks depart from their definitions."""
    # A family that few models ran does not rank them.
    extended = {
        name for name, task in build_index()[0].tasks.items() if task.spec.extended
    }
    tasks_of_entries = {
        entry.id: {
            name: task
            for name, task in entry.results.tasks.items()
            if name not in extended
        }
        for entry in entries
    }
    sizes = _family_sizes(tasks_of_entries.values())
    for entry in entries:
        # Models that ran extended tests alone are compared with those that ran the same ones.
        tasks = tasks_of_entries[entry.id] or entry.results.tasks
        sizes_of_entry = _family_sizes([tasks])
        all_sizes = (
            sizes | sizes_of_entry if tasks_of_entries[entry.id] else sizes_of_entry
        )
        entry.families = families(
            tasks, dict(sorted(all_sizes.items())), entry.verdict.paired
        )
        entry.departures = departures(entry.results.tasks)


def _family_sizes(runs: Iterable[Mapping[str, TaskResult]]) -> Counter[str]:
    """Return how many distinct tasks of each family all runs together contain."""
    named = {(task.family, name) for tasks in runs for name, task in tasks.items()}
    return Counter(family for family, _ in named)
