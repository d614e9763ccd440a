"""The stages of a run: generate, embed texts and images, ask; and mend what is damaged."""

from __future__ import annotations

from functools import partial

from t2ibench.errors import T2IBenchError
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.executors import Executor
from t2ibench.pipeline.job import Job, Stage
from t2ibench.pipeline.progress import Reporter

_TITLES: dict[Stage, tuple[str, str]] = {
    "generate": ("Generating images", "images"),
    "texts": ("Embedding texts", "texts"),
    "embed": ("Embedding images", "images"),
    "ask": ("Asking judges", "answers"),
    "again": ("Generating damaged images", "images"),
}


def run_stage(job: Job, stage: Stage, executor: Executor, reporter: Reporter) -> None:
    """One stage, by an executor; nothing where nothing is missing.

    Raises:
        KeyboardInterrupt: the run was asked to stop; what was in hand is stored.
    """
    left = job.left(stage)
    if not left:
        return
    title, unit = _TITLES[stage]
    parts = executor.run(left, partial(job.piece, stage))
    with reporter.stage(title, sum(left.values()), unit) as ticker, stop_request.between_batches():
        try:
            for part in parts:
                with stop_request.held():
                    stored = job.store(part)
                ticker.advance(stored)
        except KeyboardInterrupt:
            with stop_request.asked_meanwhile():
                for part in parts:
                    job.store(part)
            raise
    stop_request.check()


def repair(job: Job, executor: Executor, reporter: Reporter, from_folder: bool = False) -> None:
    """Generate damaged images again, once, and observe them; where that fails, go on without."""
    damaged = job.take_damaged()
    if not damaged:
        return
    how = "read from the folder" if from_folder else "generated"
    for line in dict.fromkeys(map(str, damaged)):
        reporter.warn(f"{line}. It is {how} again.")
    job.make_again(damaged)
    try:
        run_stage(job, "again", executor, reporter)
    except T2IBenchError as error:
        reporter.warn(f"They could not be generated again: {error}")
        job.damaged = damaged
        return
    run_stage(job, "embed", executor, reporter)
    run_stage(job, "ask", executor, reporter)
    job.damaged = job.take_damaged()
