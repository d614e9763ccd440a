"""Simulating cells through the public functions of their methods, in parallel.

Every data set has its own random numbers, given by the cell and its place in it alone: neither the
number of workers nor the other cells change anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.errors import first_line
from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.inference import QUESTIONS, Inference
from t2ibench.results.score_difference import Difference
from t2ibench.stats import holm
from t2ibench.worker_pool import each_of
from tools.calibration.cells import Cell, Sample, ToylandWorld
from tools.calibration.compare import compared
from tools.calibration.kept import KeptChunks
from tools.calibration.toyland import toyland_sample

# 'power' is 'rejects' where there is bias
_ASKED = ("rejects", "power", "covers", "agrees")
# Whether any fair row of a data set is clear after Holm's correction.
ANY_ROW = "any row rejects"
COLUMNS = (
    *("value", "error", "fair", "decided"),
    *(f"{who} {what}" for who in (*QUESTIONS, "rows") for what in _ASKED),
    ANY_ROW,
)
_NOTHING = float("nan")
_CHUNK = 25  # data sets that a worker simulates at once

Table = dict[str, Float64Array]


@dataclass(frozen=True, slots=True)
class Job:
    """A cell and how many data sets of it are simulated."""

    cell: Cell
    sets: int


def simulate(
    jobs: Sequence[Job],
    seed: int = 0,
    workers: int | None = 1,
    advance: Callable[[int], object] = id,
    kept: KeptChunks | None = None,
) -> dict[tuple[str, str], Table | str]:
    """Simulate cells; a table a cell, or how its method failed.

    Args:
        jobs: The cells.
        seed: Seed of the worlds.
        workers: Number of processes; None for one per core.
        advance: Called with the number of data sets that were simulated.
        kept: Holds data sets that need not be simulated again, and is given every other.
    """
    chunks = [
        (job.cell, range(start, min(start + _CHUNK, job.sets)))
        for job in jobs
        for start in range(0, job.sets, _CHUNK)
    ]
    parts = each_of(
        chunks,
        partial(_kept_chunk, seed, kept),
        workers,
        lambda chunk, _: advance(len(chunk[1])),
    )
    by_cell: dict[tuple[str, str], list[Float64Array | str]] = {}
    for (cell, _), part in zip(chunks, parts, strict=True):
        by_cell.setdefault(cell.key, []).append(part)
    return {key: _joined(found) for key, found in by_cell.items()}


def _joined(parts: Sequence[Float64Array | str]) -> Table | str:
    for part in parts:
        if isinstance(part, str):
            return part
    rows = np.concatenate([part for part in parts if not isinstance(part, str)])
    return {name: rows[:, k] for k, name in enumerate(COLUMNS)}


def _kept_chunk(
    seed: int, kept: KeptChunks | None, chunk: tuple[Cell, range]
) -> Float64Array | str:
    """Simulate some data sets of a cell, or return those that were kept."""
    before = None if kept is None else kept.get(seed, *chunk)
    if before is not None:
        return before
    part = run_chunk(seed, chunk)
    if kept is not None and not isinstance(part, str):
        kept.add(seed, *chunk, part)
    return part


def run_chunk(seed: int, chunk: tuple[Cell, range]) -> Float64Array | str:
    """Simulate some data sets of a cell."""
    cell, numbers = chunk
    try:
        return np.array([_one(cell, number, seed) for number in numbers])
    except Exception as error:  # a defect of one method must not lose the other cells
        return f"{type(error).__name__}: {first_line(error)}"


def _one(cell: Cell, number: int, seed: int) -> list[float]:
    digest = hashlib.sha256("\0".join(cell.key).encode()).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "little"), number])
    settings = cell.settings.model_copy(update={"seed": int(rng.integers(2**31))})
    samples = []
    for world in (cell.world, cell.other):
        if isinstance(world, ToylandWorld):
            samples.append(
                toyland_sample(world, needs(cell.task, settings), settings.seed)
            )
        elif world is not None:
            samples.append(world.draw(rng))
    results = [
        combine(cell.task, [score(cell.task, sample.evidence, settings)], settings)
        for sample in samples
    ]
    if cell.other is not None:
        return _row_of_two(
            compared(cell, results, settings), samples, 1 - settings.level
        )
    return row_of(cell, samples[0], results[0], 1 - settings.level)


def _row_of_two(
    found: Difference, samples: Sequence[Sample], alpha: float
) -> list[float]:
    """What the difference of two runs of one data set each shows."""
    roots = [float(np.sqrt(sample.truth["fixed_prompts"])) for sample in samples]
    ends = found.low, found.high
    differ = float(samples[0].rows != samples[1].rows)
    return [
        *(_NOTHING if found.value is None else found.value, _NOTHING, _NOTHING),
        float(found.verdict is not None),
        *_judged(roots[0] - roots[1], ends, found.p, alpha),
        *[_NOTHING] * len(_ASKED),
        *_judged(differ, (None, None), found.p_items, alpha),
        _NOTHING,
    ]


def row_of(
    cell: Cell, sample: Sample, result: MethodResult, alpha: float
) -> list[float]:
    """What one data set shows."""
    headline, truth = result.headline, sample.truth
    value = _NOTHING if headline.value is None else headline.value
    true = truth.get("fixed_prompts", next(iter(truth.values()), _NOTHING))
    fair = _NOTHING
    if (
        truth.get(headline.question) == 0
        and headline.fair is not None
        and headline.value is not None
    ):
        fair = float(headline.fair[0] <= value <= headline.fair[1])
    decided = float(headline.value is not None and not result.inconclusive)
    row = [_NOTHING, _NOTHING, _NOTHING, decided]
    if not cell.claims:
        row = [value, value - true, fair, decided]
    for question in QUESTIONS:
        found = headline.inference.get(question, Inference())
        if cell.claims and result.inconclusive:
            found = Inference(-np.inf, np.inf, 1.0)
        row += _judged(
            truth.get(question), (found.ci_low, found.ci_high), found.p, alpha
        )
    rows = [
        _judged(sample.rows[item.name], score.interval or (None, None), score.p, alpha)
        for item in result.by
        for name, score in item.scores.items()
        if name == cell.row_score and item.name in sample.rows
    ]
    judged = np.array(rows).reshape(-1, len(_ASKED))
    row += [_mean(judged[:, k]) for k in range(len(_ASKED))]
    return [*row, _any_row(cell, sample, result, alpha)]


def _any_row(cell: Cell, sample: Sample, result: MethodResult, alpha: float) -> float:
    """Whether any row is clear after Holm's correction; nothing where a row leans in truth."""
    if not cell.any_row or any(sample.rows.values()):
        return _NOTHING
    tested = [
        item.scores[cell.row_score].p
        for item in result.by
        if cell.row_score in item.scores and item.name in sample.rows
    ]
    adjusted = [p for p in holm(tested) if p is not None]
    return float(min(adjusted) < alpha) if adjusted else _NOTHING


def _judged(
    true: float | None,
    interval: tuple[float | None, float | None],
    p: float | None,
    alpha: float,
) -> list[float]:
    """Whether it rejects (without bias, with bias), covers the truth, and both agree."""
    if true is None:
        return [_NOTHING] * len(_ASKED)
    low, high = interval
    rejects = _NOTHING if p is None else float(p < alpha)
    covers = agrees = _NOTHING
    if low is not None and high is not None and np.isfinite(true):
        covers = float(low <= true <= high)
        if p is not None:
            agrees = float((p < alpha) == (not low <= 0 <= high))
    without = true == 0 or np.isnan(true)
    return [
        rejects if without else _NOTHING,
        _NOTHING if without else rejects,
        covers,
        agrees,
    ]


def _mean(values: Float64Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else _NOTHING
