"""Who does a run: this process, or the workers of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from t2ibench.errors import T2IBenchError, shown
from t2ibench.pipeline.executors import (
    EXECUTORS,
    Employs,
    Engine,
    Executor,
    Submits,
    TakesArguments,
)
from t2ibench.pipeline.opening import Observers, load_observers
from t2ibench.pipeline.prepare import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.settings import RunSettings


def check_engine(settings: RunSettings) -> Engine:
    """Check --engine, --workers and --engine-args, before anything is done."""
    engine = EXECUTORS.get(settings.engine)
    if not isinstance(engine, Executor | Employs | Submits):
        raise T2IBenchError(
            f"The engine '{shown(settings.engine)}' does no work: it has no run().",
            "See t2ibench.pipeline.executors.",
        )
    if isinstance(engine, TakesArguments):
        engine.check(settings.workers, settings.engine_args)
    elif settings.engine_args or (settings.workers or 1) > 1:
        flag = "--engine-args" if settings.engine_args else "--workers"
        raise T2IBenchError(
            f"The engine '{shown(settings.engine)}' takes no {flag}.",
            "It works in one process; start the same command several times to share the work.",
        )
    return engine


@contextmanager
def employed(
    prepared: Prepared, reporter: Reporter, observing: bool
) -> Iterator[tuple[Executor, Observers]]:
    """Have somebody to do a run, and end them with it."""
    engine = check_engine(prepared.settings)
    if isinstance(engine, Submits):
        raise T2IBenchError(
            f"The engine '{prepared.settings.engine}' only writes jobs: nothing is done now.",
            f"Use `t2ibench run … --engine {prepared.settings.engine}`, without --until-precise "
            "and --budget.",
        )
    crew = engine.hire(prepared, reporter, observing) if isinstance(engine, Employs) else None
    if crew is None:
        assert isinstance(engine, Executor)
        yield engine, load_observers(prepared, reporter) if observing else Observers()
        return
    try:
        yield crew, crew.observers()
    except KeyboardInterrupt:
        reporter.say("Stopping: the workers finish their batches.")
        crew.stop()
        raise
    finally:
        crew.close()
