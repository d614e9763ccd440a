"""Selection of the executor (`--engine`, `--workers`): this process, several, or Ray."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, check_installed
from t2ibench.models.protocols import GeneratesInParts
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.executors import Executor, InProcess
from t2ibench.pipeline.executors.pool import WorkerPool, Workers
from t2ibench.pipeline.executors.processes import Processes
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.run_context import Models, PythonAdapters, RunContext
from t2ibench.pipeline.worker import UserLine, WorkerSpec
from t2ibench.pipeline.worker_count import (
    images_to_generate,
    needs_workers,
    shared_imports,
    worker_count,
)
from t2ibench.settings import RunSettings


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
        n_items = math.ceil(images_to_generate(context) / context.plan.shard_size)
        yield WorkerPool(workers, models.generator, reporter, at_once=n_items)
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
    if adapters and needs_workers(settings):
        raise T2IBenchError(
            "Workers make their own models, and cannot take Python objects.",
            "Name each as package.module:factory, or leave workers and engine out.",
        )


def _workers(
    context: RunContext, models: Models, reporter: Reporter, observing: bool
) -> Workers | None:
    """Return the workers of a run; None if this process works alone."""
    settings = context.settings
    if settings.engine != "local":
        from t2ibench.pipeline.executors.ray import actors

        spec = WorkerSpec.for_run(context, models.generator, observing)
        return actors(spec, settings, reporter)
    number = worker_count(context, models)
    if number.count == 1:
        return None
    reporter.say(number.sentence())
    spec = WorkerSpec.for_run(context, models.generator, observing)
    imports = shared_imports(settings, observing=spec.embeds) if number.on_cpu else ()
    return Processes(
        spec,
        number.count,
        list(number.gpus),
        number.threads,
        shared_imports=imports,
    )
