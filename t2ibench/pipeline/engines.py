"""Who does a run (`--engine`, `--workers`): this process, several, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, check_installed
from t2ibench.models.protocols import GeneratesInParts
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.executors import Executor, InProcess
from t2ibench.pipeline.executors.pool import WorkerPool, Workers
from t2ibench.pipeline.executors.processes import Processes, visible_gpus
from t2ibench.pipeline.preparation import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.worker import UserLine, WorkerSpec
from t2ibench.settings import RunSettings
from t2ibench.worker_pool import cores


def check_engine(settings: RunSettings) -> None:
    """Check --engine and --engine-args, before anything is done."""
    if settings.engine == "local":
        if settings.engine_args:
            raise T2IBenchError("--engine-args go to --engine ray; local takes none.")
        return
    from t2ibench.pipeline.executors.ray import Args

    read_args(Args, settings.engine_args, "the engine ray", flag="--engine-args")
    check_installed("ray", "ray")


@contextmanager
def executor_of(
    prepared: Prepared, reporter: Reporter, observing: bool
) -> Iterator[Executor]:
    """Have somebody to do a run, and end them with it."""
    check_engine(prepared.settings)
    workers = _workers(prepared, reporter, observing)
    if workers is None:
        yield _own_process(prepared, reporter, observing)
        return
    try:
        yield WorkerPool(workers, prepared.generator, reporter)
    finally:
        workers.close()


def _own_process(prepared: Prepared, reporter: Reporter, observing: bool) -> InProcess:
    def tell(line: UserLine) -> None:
        (reporter.warn if line.warning else reporter.say)(line.text)

    spec = WorkerSpec.of(prepared, observing)
    return InProcess(
        spec.worker(prepared.generator, prepared.objects, tell, stop_request.asked)
    )


def generating_executor(
    executor: Executor, prepared: Prepared, reporter: Reporter
) -> Executor:
    """Who generates: a model on a server is asked from here, so that one limit of cost holds."""
    if isinstance(executor, WorkerPool) and isinstance(
        prepared.generator, GeneratesInParts
    ):
        return _own_process(prepared, reporter, observing=False)
    return executor


def check_objects(prepared: Prepared) -> None:
    """Refuse Python objects where there are workers, which make their own models."""
    local = prepared.settings.engine == "local"
    if prepared.objects and not (
        local and _worker_count(prepared, _gpus(prepared)) == 1
    ):
        raise T2IBenchError(
            "Workers make their own models, and cannot take Python objects.",
            "Name each as package.module:factory, or leave workers and engine out.",
        )


def _gpus(prepared: Prepared) -> list[str]:
    """The GPUs of this machine that workers may have, one each."""
    settings = prepared.settings
    local = settings.engine == "local"
    return visible_gpus() if local and settings.device in {None, "auto", "cuda"} else []


def _worker_count(prepared: Prepared, gpus: Sequence[str]) -> int:
    return prepared.settings.workers or max(len(gpus), 1)


def _workers(prepared: Prepared, reporter: Reporter, observing: bool) -> Workers | None:
    """The workers that were asked for; None where this process works alone."""
    settings = prepared.settings
    local = settings.engine == "local"
    gpus = _gpus(prepared)
    count = _worker_count(prepared, gpus)
    if local and count == 1:
        return None
    spec = WorkerSpec.of(prepared, observing)
    if not local:
        from t2ibench.pipeline.executors.ray import actors

        return actors(spec, settings, reporter)
    threads = max(1, cores() // count)
    each = "1 thread" if threads == 1 else f"{threads} threads"
    reporter.say(
        f"{count} workers {f'on {len(gpus)} GPUs' if gpus else f'with {each} each'}."
    )
    return Processes(spec, count, gpus, threads)
