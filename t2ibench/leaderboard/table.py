"""The leaderboard's numbers: families by model, their intervals, and ranks as intervals."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.errors import T2IBenchError
from t2ibench.leaderboard.ranks import Draws, Measured, Rank, draws_of, rank_intervals
from t2ibench.leaderboard.submission import Manifest, read_manifest
from t2ibench.results.display import text_only
from t2ibench.results.paired import PairedTask, read_paired_run
from t2ibench.results.schema import Results, TaskResult, read_results
from t2ibench.stats.student import satterthwaite, t_interval


@dataclass(frozen=True, slots=True)
class Cell:
    """The mean of a family's squared magnitudes, over its conclusive tasks.

    Attributes:
        square: The mean, unbiased, so negative about half of the time without bias; None where
            no task is conclusive.
        low: Lower end of its 95 % interval.
        high: Upper end.
        fair_high: What the mean of a fair model exceeds with probability .05.
        rooted: Whether it is shown as its root; an excess is shown as it is.
        conclusive: Number of tasks in the mean.
        inconclusive: Number of tasks that a control contradicts.
        of: Number of tasks of the family, over all submissions.
        fewer: Whether a task has fewer images than it asks for.
        text: Whether the family is of an encoder's texts alone, so that no model is ranked by it.
        alike: Tasks, encoders and judges, as a key: only models that share it are ranked together.
        measured: Each conclusive task's square and its draws; None where they lack.
    """

    square: float | None
    low: float | None = None
    high: float | None = None
    fair_high: float | None = None
    rooted: bool = True
    conclusive: int = 0
    inconclusive: int = 0
    of: int = 1
    fewer: bool = False
    text: bool = False
    alike: str = ""
    measured: Measured | None = None

    def shown(self, square: float | None) -> float | None:
        """A number on the scale on which the family is shown.

        Args:
            square: On the scale of the squares.

        Returns:
            Its root, at least 0, or the number itself.
        """
        if square is None or not self.rooted:
            return square
        return math.sqrt(max(0.0, square))

    @property
    def ranked(self) -> bool:
        """Whether a model has a rank here: all tasks were measured, and one is conclusive."""
        complete = self.conclusive + self.inconclusive == self.of
        return complete and self.measured is not None and not self.text


@dataclass(slots=True)
class Entry:
    """A model of the leaderboard.

    Attributes:
        id: Its folder.
        manifest: Its submission.json.
        results: Its results.json.
        level: The level that verifying gave; 'not verified' without a verdict.
        notes: Of the verdict.
        folder: Its path.
        families: Family to cell.
    """

    id: str
    manifest: Manifest
    results: Results
    level: str
    notes: list[str]
    folder: Path = Path()
    families: dict[str, Cell] = field(default_factory=dict)


def read_entries(root: Path) -> list[Entry]:
    """Every submission of a folder.

    Args:
        root: Folder of all submissions.

    Returns:
        One entry a submission, sorted by folder name.

    Raises:
        T2IBenchError: one cannot be read, or was refused when it was verified.
    """
    verdicts = _verdicts(root)
    entries = []
    for file in sorted(root.glob("*/submission.json")):
        folder = file.parent
        manifest = read_manifest(folder)
        known = verdicts.get(folder.name, {})
        fresh = known.get("submission") == _digest(file)
        level = str(known.get("level")) if fresh else "not verified"
        if level == "refused":
            raise T2IBenchError(
                f"{folder} was refused when it was verified.",
                f"See `t2ibench leaderboard verify {folder}`, or remove it.",
            )
        notes = [str(note) for note in known.get("notes", [])] if fresh else []
        entries.append(Entry(folder.name, manifest, read_results(folder), level, notes, folder))
    sizes, asked = _family_sizes(entries), asked_images()
    for entry in entries:
        paired = read_paired_run(entry.folder)
        entry.families = families(entry.results.tasks, sizes, paired, asked)
    return entries


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def verdict_file(root: Path) -> Path:
    """The file of verdicts, in the folder of all submissions.

    Args:
        root: Folder of all submissions.

    Returns:
        The path, whether the file exists or not.
    """
    return root / "verdicts.json"


def _verdicts(root: Path) -> dict[str, Any]:
    file = verdict_file(root)
    if not file.is_file():
        return {}
    try:
        verdicts = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise T2IBenchError(f"{file} cannot be read: {error}.") from None
    return verdicts if isinstance(verdicts, dict) else {}


def save_verdicts(root: Path, verdicts: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep verdicts; each holds only as long as its submission.json does not change.

    Args:
        root: Folder of all submissions.
        verdicts: Name of a submission's folder to what was said of it, as JSON values.
    """
    from t2ibench.store.files import write_text

    known = _verdicts(root)
    for name, verdict in verdicts.items():
        known[name] = {**verdict, "submission": _digest(root / name / "submission.json")}
    write_text(verdict_file(root), json.dumps(dict(sorted(known.items())), indent=1) + "\n")


def _family_sizes(entries: Iterable[Entry]) -> dict[str, int]:
    """Number of tasks of each family, over all submissions."""
    tasks = {(task.family, name) for entry in entries for name, task in entry.results.tasks.items()}
    sizes: dict[str, int] = {}
    for family, _ in tasks:
        sizes[family] = sizes.get(family, 0) + 1
    return dict(sorted(sizes.items()))


def fewer_images(task: TaskResult, asked: int | None) -> str | None:
    """What to know of a task with fewer images than it asks for.

    Args:
        task: The task's result.
        asked: Images of a prompt that the task file asks for, if known.

    Returns:
        A clause, or None.
    """
    made = task.settings.images_per_prompt
    if made is None or asked is None or made >= asked:
        return None
    return f"{made} images a prompt; the task asks for {asked}"


def asked_images() -> dict[str, int]:
    """How many images of a prompt each shipped task asks for.

    Returns:
        Task id to number.
    """
    from t2ibench.tasks.index import build_index

    registry, _ = build_index()
    counts = {
        name: getattr(task.spec, "images_per_prompt", None) for name, task in registry.tasks.items()
    }
    return {name: count for name, count in counts.items() if count is not None}


def families(
    tasks: Mapping[str, TaskResult],
    sizes: Mapping[str, int],
    paired: Mapping[str, PairedTask] | None = None,
    asked: Mapping[str, int] | None = None,
) -> dict[str, Cell]:
    """The mean squared magnitude of each family, over its conclusive tasks.

    A family that was not run has no cell: missing is never 0.

    Args:
        tasks: Task id to its result.
        sizes: Family to its number of tasks over all submissions.
        paired: Task id to the influences on its headline.
        asked: Task id to the images of a prompt that the task asks for.

    Returns:
        Family to its cell.
    """
    cells = {}
    for family, size in sizes.items():
        members = {name: task for name, task in tasks.items() if task.family == family}
        cell = _cell(members, size, paired or {}, asked or {})
        if cell.conclusive or cell.inconclusive:
            cells[family] = cell
    return cells


def _cell(
    tasks: Mapping[str, TaskResult],
    size: int,
    paired: Mapping[str, PairedTask],
    asked: Mapping[str, int],
) -> Cell:
    conclusive = {
        name: task
        for name, task in tasks.items()
        if task.headline.square is not None and not task.inconclusive
    }
    squares = {name: float(task.headline.square or 0.0) for name, task in conclusive.items()}
    found = {name: draws_of(paired[name]) for name in conclusive if name in paired}
    draws = {name: one for name, one in found.items() if one is not None}
    complete = bool(conclusive) and len(draws) == len(conclusive)
    mean = math.fsum(squares.values()) / len(squares) if squares else None
    low, high = _interval(mean, draws) if complete and mean is not None else (None, None)
    return Cell(
        mean,
        low,
        high,
        _fair(list(conclusive.values())),
        any(task.headline.scale != "excess" for task in conclusive.values()),
        len(conclusive),
        sum(bool(task.inconclusive) for task in tasks.values()),
        size,
        any(fewer_images(task, asked.get(name)) for name, task in tasks.items()),
        bool(tasks) and all(text_only(task) for task in tasks.values()),
        _alike(tasks),
        Measured(squares, draws) if complete else None,
    )


def _interval(mean: float, draws: Mapping[str, Draws]) -> tuple[float, float]:
    """Student's t interval, with the variance of the mean over tasks that may share images."""
    moved = np.mean([one.deviations for one in draws.values()], axis=0)
    _, df = satterthwaite(
        [one.variance for one in draws.values()], [one.df for one in draws.values()]
    )
    return t_interval(mean, float(np.mean(moved**2)), df)


def _fair(tasks: Sequence[TaskResult]) -> float | None:
    """The upper end of a fair model's band: those of independent tasks add in quadrature."""
    ends = []
    for task in tasks:
        head = task.headline
        if head.fair_high is None:
            return None
        noise = (head.value or 0.0) ** 2 - (head.square or 0.0)  # of a lean, its variance
        ends.append(head.fair_high**2 - noise if head.scale == "lean" else head.fair_high)
    return math.hypot(*ends) / len(ends) if ends else None


def _alike(tasks: Mapping[str, TaskResult]) -> str:
    measured = {
        name: [
            task.task_hash,
            sorted(task.settings.encoders.values()),
            sorted(task.settings.judges.values()),
        ]
        for name, task in sorted(tasks.items())
    }
    return hashlib.sha256(json.dumps(measured).encode()).hexdigest()


def ranks(cells: Sequence[Cell | None]) -> list[Rank | None]:
    """Ranks by squared magnitude, 1 the smallest, among the models that were measured alike.

    Args:
        cells: One family's cell of each model; None where the model was not run.

    Returns:
        The rank of each model; None where it has none: not all tasks were measured, nothing is
        conclusive, or the family says nothing of models.
    """
    found: list[Rank | None] = [None] * len(cells)
    groups: dict[str, list[int]] = {}
    for index, cell in enumerate(cells):
        if cell is not None and cell.ranked:
            groups.setdefault(cell.alike, []).append(index)
    for members in groups.values():
        models = [cell.measured for cell in (cells[k] for k in members) if cell and cell.measured]
        for index, rank in zip(members, rank_intervals(models), strict=True):
            found[index] = rank
    return found


def borda(
    entries: Sequence[Entry], family_ranks: Mapping[str, Sequence[Rank | None]]
) -> list[dict[str, Any]]:
    """Mean share of models that lean more, over families; only among models that have them all.

    It condenses many measurements into one number, so nothing shows it unless asked. The ends are
    those of the ranks, the value is half way between them.

    Args:
        entries: The submissions.
        family_ranks: Family to the rank of each entry.

    Returns:
        One mapping a model that is ranked in every ranked family, among the largest group of such
        models that were measured alike; empty for fewer than two of them.
    """
    names = [name for name, found in sorted(family_ranks.items()) if any(found)]
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, entry in enumerate(entries):
        if names and all(family_ranks[name][index] for name in names):
            key = tuple(entry.families[name].alike for name in names)
            groups.setdefault(key, []).append(index)
    complete = max(groups.values(), key=len, default=[])
    if len(complete) < 2:
        return []
    rows = []
    for index in complete:
        places = [rank for rank in (family_ranks[name][index] for name in names) if rank]
        low, high = (
            math.fsum((rank.among - end) / (rank.among - 1) for rank, end in pairs) / len(places)
            for pairs in ([(r, r.worst) for r in places], [(r, r.best) for r in places])
        )
        rows.append({"id": entries[index].id, "value": (low + high) / 2, "low": low, "high": high})
    return sorted(rows, key=lambda row: (-row["value"], row["id"]))
