"""The leaderboard's numbers: families by model, their intervals, and ranks as intervals."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.apps.leaderboard.ranks import Draws, Measured, Rank, draws_of, rank_intervals
from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.apps.leaderboard.verdicts import VERIFIED
from t2ibench.results.display import text_only
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Results, TaskResult
from t2ibench.settings import Settings
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
        alike: Tasks, encoders, judges and settings, as a key: only models that share it are ranked
            together.
        measured: Each conclusive task's square and its draws; None where they lack.
        tasks: Ids of the tasks it is about.
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
    tasks: frozenset[str] = frozenset()

    def shown(self, square: float | None) -> float | None:
        """A number on the scale on which the family is shown."""
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
        level: The level that verifying gave (see `verdicts.LEVELS`).
        notes: Of the verdict.
        folder: Its path.
        families: Family to cell.
        parts: Kind of evidence to how much of it was made again and is the same.
        stated: What nothing could compare, such as 'environment'.
        departures: What was not measured as the tasks ask, a clause each.
        paired: Task id to the influences on its headline; empty where nobody recomputed them: it
            then has no interval here and no part in ranks.
    """

    id: str
    manifest: Manifest
    results: Results
    level: str
    notes: list[str]
    folder: Path = Path()
    families: dict[str, Cell] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    stated: list[str] = field(default_factory=list)
    departures: list[str] = field(default_factory=list)
    paired: Mapping[str, PairedTask] = field(default_factory=dict)

    @property
    def verified(self) -> bool:
        """Whether its scores were at least recomputed, so that it is ranked."""
        return self.level in VERIFIED


def fewer_images(task: TaskResult, asked: int | None) -> str | None:
    """What to know of a task with fewer images than it asks for."""
    made = None if asked is None else Settings.of(task.settings).images(asked)
    if asked is None or made is None or made >= asked:
        return None
    return f"{made} images a prompt; the task asks for {asked}"


def departures(tasks: Mapping[str, TaskResult], asked: Mapping[str, int]) -> list[str]:
    """What of a submission was not measured as the tasks ask."""
    found = []
    images = [
        (Settings.of(task.settings), asked[name]) for name, task in tasks.items() if name in asked
    ]
    fewer = [(settings.images(of), of) for settings, of in images if settings.images(of) < of]
    if fewer:
        made, of = _span([number for number, _ in fewer]), _span([of for _, of in fewer])
        found.append(
            f"fewer images in {len(fewer)} of {len(images)} tasks: {made} a prompt, {of} asked for"
        )
    guided = {
        settings.guided_images(of)
        for settings, of in images
        if settings.guided_images(of) < min(of, settings.images(of))  # else said above
    }
    if guided:
        found.append(f"{_span(guided)} images of a prompt that names an attribute")
    usual = Settings()
    for key, text in (
        ("seed", "seed {}"),
        ("n_permutations", "{} permutations"),
        ("n_bootstrap", "{} bootstrap draws"),
        ("level", "intervals at {}"),
        ("limit", "only the first {} stimuli (--limit)"),
    ):
        values = {getattr(task.settings, key) for task in tasks.values()}
        others = sorted(one for one in values if one != getattr(usual, key))
        found += [text.format(one) for one in others]
    return found


def _span(numbers: Collection[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def asked_images() -> dict[str, int]:
    """How many images of a prompt each shipped task asks for."""
    from t2ibench.tasks.index import build_index

    registry, _ = build_index()
    counts = {
        name: getattr(task.spec, "images_per_prompt", None) for name, task in registry.tasks.items()
    }
    return {name: count for name, count in counts.items() if count is not None}


def extended_tasks() -> frozenset[str]:
    """The shipped tasks that no model is ranked by, because few models ran them."""
    from t2ibench.tasks.index import build_index

    registry, _ = build_index()
    return frozenset(name for name, task in registry.tasks.items() if task.spec.extended)


def families(
    tasks: Mapping[str, TaskResult],
    sizes: Mapping[str, int],
    paired: Mapping[str, PairedTask] | None = None,
    asked: Mapping[str, int] | None = None,
) -> dict[str, Cell]:
    """The mean squared magnitude of each family, over its conclusive tasks.

    A family that was not run has no cell: missing is never 0.
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
        _alike(tasks, asked),
        Measured(squares, draws) if complete else None,
        frozenset(tasks),
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


def _alike(tasks: Mapping[str, TaskResult], asked: Mapping[str, int]) -> str:
    measured = {
        name: [
            task.task_hash,
            sorted(task.settings.encoders.values()),
            sorted(task.settings.judges.values()),
            departures({name: task}, asked),
        ]
        for name, task in sorted(tasks.items())
    }
    return hashlib.sha256(json.dumps(measured).encode()).hexdigest()


def ranks(cells: Sequence[Cell | None]) -> list[Rank | None]:
    """Ranks by squared magnitude, 1 the smallest, among the models that were measured alike."""
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


def family_ranks(entries: Sequence[Entry], family: str) -> list[Rank | None]:
    """Ranks in a family; only what was verified takes part."""
    return ranks([one.families.get(family) if one.verified else None for one in entries])


def borda(
    entries: Sequence[Entry], by_family: Mapping[str, Sequence[Rank | None]]
) -> list[dict[str, Any]]:
    """Mean share of models that lean more, over families; only among models that have them all.

    It condenses many measurements into one number, so nothing shows it unless asked. The ends are
    those of the ranks, the value is half way between them.
    """
    names = [name for name, found in sorted(by_family.items()) if any(found)]
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, entry in enumerate(entries):
        if names and all(by_family[name][index] for name in names):
            key = tuple(entry.families[name].alike for name in names)
            groups.setdefault(key, []).append(index)
    complete = max(groups.values(), key=len, default=[])
    if len(complete) < 2:
        return []
    rows = []
    for index in complete:
        places = [rank for rank in (by_family[name][index] for name in names) if rank]
        low, high = (
            math.fsum((rank.among - end) / (rank.among - 1) for rank, end in pairs) / len(places)
            for pairs in ([(r, r.worst) for r in places], [(r, r.best) for r in places])
        )
        rows.append({"id": entries[index].id, "value": (low + high) / 2, "low": low, "high": high})
    return sorted(rows, key=lambda row: (-row["value"], row["id"]))
