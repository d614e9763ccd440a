"""Simulating cells through the public functions of their methods, in parallel.

Every data set has its own random numbers, given by the cell and its place in it alone: neither the
number of workers nor the other cells change anything.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.calibration.cells import Job, cells_of
from t2ibench.errors import first_line
from t2ibench.methods import METHODS
from t2ibench.methods.core.cells import Cell, Sample, ToylandWorld
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.headline import QUESTIONS, Inference

_ASKED = ("rejects", "power", "covers", "agrees")  # 'power' is 'rejects' where there is bias
COLUMNS = (
    *("value", "error", "fair", "decided"),
    *(f"{who} {what}" for who in (*QUESTIONS, "rows") for what in _ASKED),
)
_NOTHING = float("nan")
_CHUNK = 25  # data sets that a worker simulates at once
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Table = dict[str, Float64Array]


def simulate(
    jobs: Sequence[Job], seed: int = 0, workers: int = 1, advance: Callable[[int], object] = id
) -> dict[tuple[str, str], Table | str]:
    """Simulate cells.

    Args:
        jobs: What to simulate.
        seed: Another seed gives other data sets.
        workers: Processes; 1 works in this one.
        advance: Called with the number of data sets that were done.

    Returns:
        (method, cell) to a column of shape (sets,) for each name in `COLUMNS`, NaN where a data
        set has nothing to say; or a line that says how the method failed.
    """
    chunks = [
        (job, start, min(start + _CHUNK, job.sets))
        for job in jobs
        for start in range(0, job.sets, _CHUNK)
    ]
    found: dict[tuple[Job, int], Float64Array | str] = {}
    if workers == 1:
        for job, start, stop in chunks:
            found[job, start] = run_chunk(job, start, stop, seed)
            advance(stop - start)
    else:
        with _single_threaded(), ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            futures: dict[Future[Float64Array | str], tuple[Job, int, int]] = {
                pool.submit(run_chunk, job, start, stop, seed): (job, start, stop)
                for job, start, stop in chunks
            }
            for future in as_completed(futures):
                job, start, stop = futures[future]
                found[job, start] = future.result()
                advance(stop - start)
    return {
        (job.method, job.cell): _joined([found[job, start] for j, start, _ in chunks if j == job])
        for job in jobs
    }


def _joined(parts: Sequence[Float64Array | str]) -> Table | str:
    for part in parts:
        if isinstance(part, str):
            return part
    rows = np.concatenate([part for part in parts if not isinstance(part, str)])
    return {name: rows[:, k] for k, name in enumerate(COLUMNS)}


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Workers inherit the environment; threads of linear algebra would compete with them."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def run_chunk(job: Job, start: int, stop: int, seed: int) -> Float64Array | str:
    """Simulate some data sets of a cell.

    Args:
        job: The cell.
        start: Number of the first data set.
        stop: Number after the last.
        seed: Of the calibration.

    Returns:
        Shape (stop - start, columns), or a line that says how the method failed.
    """
    cell = cells_of(job.method)[job.cell]
    try:
        return np.array([_one(job.method, cell, number, seed) for number in range(start, stop)])
    except Exception as error:  # a defect of one method must not lose the other cells
        return f"{type(error).__name__}: {first_line(error)}"


def _one(method_name: str, cell: Cell, number: int, seed: int) -> list[float]:
    method = METHODS.get(method_name)
    digest = hashlib.sha256(f"{method_name}\0{cell.name}".encode()).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "little"), number])
    settings = cell.settings.model_copy(update={"seed": int(rng.integers(2**31))})
    if isinstance(cell.world, ToylandWorld):
        from t2ibench.calibration.toyland import toyland_sample

        sample = toyland_sample(cell.world, method.needs(cell.task, settings), settings.seed)
    else:
        sample = cell.world.draw(rng)
    scored = method.score(cell.task, sample.evidence, settings)
    result = method.combine(cell.task, [scored], settings)
    return row_of(cell, sample, result, 1 - settings.level)


def row_of(cell: Cell, sample: Sample, result: MethodResult, alpha: float) -> list[float]:
    """What one data set shows.

    Args:
        cell: Where it comes from.
        sample: The data set, with what is true of it.
        result: What the method makes of it.
        alpha: A p-value below it rejects.

    Returns:
        A number for each of `COLUMNS`; NaN where there is none.
    """
    headline, truth = result.headline, sample.truth
    value = _NOTHING if headline.value is None else headline.value
    true = truth.get("these", next(iter(truth.values()), _NOTHING))
    fair = _NOTHING
    if (
        truth.get(headline.question) == 0
        and headline.fair is not None
        and headline.value is not None
    ):
        fair = float(headline.fair[0] <= value <= headline.fair[1])
    decided = float(headline.value is not None and not result.inconclusive)
    row = [value, value - true, fair, decided]
    for question in QUESTIONS:
        found = headline.inference.get(question, Inference())
        row += _judged(truth.get(question), (found.low, found.high), found.p, alpha)
    rows = [
        _judged(sample.rows[item.name], score.interval or (None, None), score.p, alpha)
        for item in result.by
        for name, score in item.scores.items()
        if name == cell.row_score and item.name in sample.rows
    ]
    judged = np.array(rows).reshape(-1, len(_ASKED))
    return row + [_mean(judged[:, k]) for k in range(len(_ASKED))]


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
    return [rejects if without else _NOTHING, _NOTHING if without else rejects, covers, agrees]


def _mean(values: Float64Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else _NOTHING
