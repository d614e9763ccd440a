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
from safetensors import SafetensorError
from safetensors.numpy import load_file
from scipy.stats import rankdata

from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.leaderboard.submission import Manifest, read_manifest
from t2ibench.methods.core.estimate import mean_draws
from t2ibench.results.schema import Results, TaskResult, read_results

_DRAWS = 2000
_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Cell:
    """One headline, or the mean of a family's headlines.

    Attributes:
        value: The magnitude; None with a reason.
        low: Lower end of its interval.
        high: Upper end.
        null: What it would be on average without bias.
        n: Number of tasks (of a family) or of images (of a task).
        of: Tasks of the family.
        draws: Bootstrap draws of a family's mean, paired between models.
    """

    value: float | None
    low: float | None
    high: float | None
    null: float | None
    n: int
    of: int = 1
    draws: Float64Array | None = None


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
    sizes = _family_sizes(entries)
    for entry in entries:
        entry.families = families(entry.results.tasks, sizes, _draws(root / entry.id))
    return entries


def _draws(folder: Path) -> dict[str, Float64Array]:
    """The bootstrap draws of a submission's headlines."""
    file = folder / "draws.safetensors"
    if not file.is_file():
        return {}
    try:
        return {name: rows.astype(np.float64) for name, rows in load_file(file).items()}
    except (SafetensorError, OSError) as error:
        raise T2IBenchError(f"{file} cannot be read: {error}.") from None


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


def cell_of(task: TaskResult) -> Cell:
    """A task's headline as a cell of the table.

    Args:
        task: The task's result.

    Returns:
        The cell.
    """
    head = task.headline
    return Cell(head.value, head.ci_low, head.ci_high, head.null, task.n_images)


def families(
    tasks: Mapping[str, TaskResult],
    sizes: Mapping[str, int],
    draws: Mapping[str, Float64Array] | None = None,
) -> dict[str, Cell]:
    """The mean headline of each family, over its tasks that have one.

    Tasks are measured independently, so the half-widths of their intervals add in quadrature. A
    family that was not run has no cell: missing is never 0.

    Args:
        tasks: Task id to its result.
        sizes: Family to its number of tasks over all submissions.
        draws: Task id to bootstrap draws of its headline; None without any.

    Returns:
        Family to its mean.
    """
    means = {}
    for family, size in sizes.items():
        cells = {name: cell_of(task) for name, task in tasks.items() if task.family == family}
        known = [cell for cell in cells.values() if cell.value is not None]
        if not known:
            continue
        values = [cell.value or 0.0 for cell in known]
        mean, count = math.fsum(values) / len(known), len(known)
        pairs = list(zip(known, values, strict=True))
        below = [value - _or(cell.low, value) for cell, value in pairs]
        above = [_or(cell.high, value) - value for cell, value in pairs]
        nulls = [cell.null for cell in known if cell.null is not None]
        # A task without an interval leaves its family without one: no interval is no certainty.
        complete = all(cell.low is not None for cell in known)
        means[family] = Cell(
            mean,
            max(0.0, mean - math.hypot(*below) / count) if complete else None,
            min(1.0, mean + math.hypot(*above) / count) if complete else None,
            math.fsum(nulls) / len(nulls) if nulls else None,
            count,
            size,
            mean_draws(
                [(draws or {}).get(name) for name, c in cells.items() if c.value is not None]
            ),
        )
    return means


def _or(end: float | None, value: float) -> float:
    return value if end is None else end


def rank_intervals(cells: Sequence[Cell | None], seed: int = 0) -> list[tuple[int, int] | None]:
    """95 % intervals of ranks, 1 the smallest magnitude; models that overlap share ranks.

    Models are ranked in each bootstrap draw, which resamples the same prompts and images in all of
    them. If any model has no bootstrap draws, values are simulated instead: normal, with the mean
    and the interval of each model. Incomplete and missing families have no rank.

    Args:
        cells: One family's cell of each model; None where the model was not run.
        seed: Seed of the simulated values.

    Returns:
        The best and the worst rank of each model, from 1; None where it has no rank.
    """
    places = [k for k, cell in enumerate(cells) if _ranked(cell)]
    if not places:
        return [None] * len(cells)
    draws = _values([cell for cell in (cells[k] for k in places) if cell], seed)
    # Equal values share their ranks: the best of them below, the worst above.
    low = np.percentile(rankdata(draws, "min", axis=0), 2.5, axis=1)
    high = np.percentile(rankdata(draws, "max", axis=0), 97.5, axis=1)
    intervals: list[tuple[int, int] | None] = [None] * len(cells)
    for k, a, b in zip(places, low, high, strict=True):
        intervals[k] = (math.floor(a), math.ceil(b))
    return intervals


def _values(cells: Sequence[Cell], seed: int) -> Float64Array:
    """Draws of several models' values, shape (models, draws)."""
    paired = [cell.draws for cell in cells if cell.draws is not None]
    if len(paired) == len(cells) and len({len(draws) for draws in paired}) == 1:
        return np.stack(paired)
    means = np.array([cell.value for cell in cells], dtype=np.float64)
    spreads = np.array([((cell.high or 0.0) - (cell.low or 0.0)) / (2 * _Z) for cell in cells])
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((len(cells), _DRAWS))
    simulated: Float64Array = means[:, None] + spreads[:, None] * noise
    return simulated


def _ranked(cell: Cell | None) -> bool:
    return (
        cell is not None and cell.value is not None and cell.low is not None and cell.n == cell.of
    )


def borda(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Mean share of models with a larger magnitude, over families; only where all were run.

    It condenses many measurements into one number, so nothing shows it unless asked.

    Args:
        entries: The submissions.

    Returns:
        One mapping a model that has every family; empty for fewer than two of them.
    """
    names = sorted({family for entry in entries for family in entry.families})
    complete = [e for e in entries if all(_ranked(e.families.get(name)) for name in names)]
    if len(complete) < 2:
        return []
    points: Float64Array | None = None
    exact = np.zeros(len(complete))
    for name in names:
        cells = [entry.families[name] for entry in complete]
        means = np.array([cell.value for cell in cells], dtype=np.float64)
        draws = _values(cells, 0)[:, :500]
        below: Float64Array = len(complete) - rankdata(draws, "average", axis=0)
        points = below if points is None else points[:, : below.shape[1]] + below
        exact += len(complete) - rankdata(means, "average")
    assert points is not None
    scale = len(names) * (len(complete) - 1)
    low, high = np.percentile(points / scale, [2.5, 97.5], axis=1)
    rows = [
        {
            "id": entry.id,
            "value": float(exact[k] / scale),
            "low": float(low[k]),
            "high": float(high[k]),
        }
        for k, entry in enumerate(complete)
    ]
    return sorted(rows, key=lambda row: (-row["value"], row["id"]))
