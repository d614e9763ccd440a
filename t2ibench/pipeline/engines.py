"""Selection of the executor (`--engine`, `--workers`): this process, several, or Ray."""

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
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run_context import Models, PythonAdapters, RunContext
from t2ibench.pipeline.worker import UserLine, WorkerSpec
from t2ibench.settings import RunSettings
from t2ibench.worker_pool import cores


def check_engine(settings: RunSettings) -> None:
    """Raise an error for an unusable --engine or --engine-args, before any work."""
    if settings.engine == "local":
        if settings.engine_args:
            raise T2IBenchError("--engine-args go to --engine ray; local takes none.")
        return
    from t2ibench.pipeline.executors.ray import Args

    read_args(Args, settings.engine_args, "the engine ray", flag="--engine-args")
    check_installed("ray", "ray")


@contextmanager
def executor_of(
    context: RunContext, models: Models, reporter: Reporter, observing: bool
) -> Iterator[Executor]:
    """Provide, inside this context, the executor of a run's work items, and end its workers."""
    check_engine(context.settings)
    workers = _workers(context, models, reporter, observing)
    if workers is None:
        yield _in_this_process(context, models, reporter, observing)
        return
    try:
        yield WorkerPool(workers, models.generator, reporter)
    finally:
        workers.close()


def _in_this_process(
    context: RunContext, models: Models, reporter: Reporter, observing: bool
) -> InProcess:
    def tell(line: UserLine) -> None:
        if line.warning:
            reporter.warn(line.text)
        else:
            reporter.say(line.text)

    spec = WorkerSpec.for_run(context, models.generator, observing)
    worker = spec.worker(models.generator, models.adapters, tell, stop_request.asked)
    return InProcess(worker)


def generating_executor(
    executor: Executor, context: RunContext, models: Models, reporter: Reporter
) -> Executor:
    """Return the executor for generation: for a model on a server, always this process.

    There, one limit of cost applies to all images.
    """
    if isinstance(executor, WorkerPool) and isinstance(
        models.generator, GeneratesInParts
    ):
        return _in_this_process(context, models, reporter, observing=False)
    return executor


def check_adapters(settings: RunSettings, adapters: PythonAdapters) -> None:
    """Raise an error for Python objects if worker processes have to create the models."""
    if not adapters:
        return
    if settings.engine != "local" or _worker_count(settings, _gpus(settings)) != 1:
        raise T2IBenchError(
            "Workers make their own models, and cannot take Python objects.",
            "Name each as package.module:factory, or leave workers and engine out.",
        )


def _gpus(settings: RunSettings) -> list[str]:
    """Return the names of this machine's GPUs that workers may use, one for each worker."""
    if settings.engine == "local" and settings.device in {None, "auto", "cuda"}:
        return visible_gpus()
    return []


def _worker_count(settings: RunSettings, gpus: Sequence[str]) -> int:
    return settings.workers or max(len(gpus), 1)


def _workers(
    context: RunContext, models: Models, reporter: Reporter, observing: bool
) -> Workers | None:
    """Return the workers that the settings request; None if this process works alone."""
    settings = context.settings
    local = settings.engine == "local"
    gpus = _gpus(settings)
    count = _worker_count(settings, gpus)
    if local and count == 1:
        return None
    spec = WorkerSpec.for_run(context, models.generator, observing)
    if not local:
        from t2ibench.pipeline.executors.ray import actors

        return actors(spec, settings, reporter)
    threads = max(1, cores() // count)
    each = "1 thread" if threads == 1 else f"{threads} threads"
    share = f"on {len(gpus)} GPUs" if gpus else f"with {each} each"
    reporter.say(f"{count} workers {share}.")
    return Processes(spec, count, gpus, threads)
