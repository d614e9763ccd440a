"""Workers that are actors of a Ray cluster (`--engine ray`).

Core actors, not Ray Data: what is missing is known from the run's own store, so a dataset would
only wrap a list of numbers, and `map_batches` hides which actor died with which work item. An actor
keeps its models for the whole run and streams its results. Ray restarts one that dies
(`max_restarts`), on another node where its own is gone; its work item goes to whoever is free at
once, because the restarted actor has to load models first: so only `ready` is tried again
(`max_task_retries`). Image files come and go with the work items, so that no folder needs to be
shared.
All actors are asked for at the start; those that do not fit wait in Ray, which is what an
autoscaler adds nodes for.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from t2ibench.arguments import Arguments, PositiveInt, read_args
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.pipeline.executors.pool import (
    MOST_RESTARTS,
    Message,
    WorkerDeath,
    WorkerModels,
    sendable,
)
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.stop_request import restore_handler
from t2ibench.pipeline.work_items import WorkItem
from t2ibench.pipeline.worker import UserLine, WorkerSpec
from t2ibench.settings import RunSettings

_READY_TRIES = 10  # attempts of an actor to start, each on any available node


class Args(Arguments):
    """The arguments of the engine `ray` that --engine-args accepts."""

    address: str | None = None  # else RAY_ADDRESS, else Ray starts on this machine
    # of each worker, or a part of one; 1 where there is any
    num_gpus: float | None = None
    num_cpus: PositiveInt | None = None  # 1 beside a GPU, else its share of the cores


def actors(spec: WorkerSpec, settings: RunSettings, reporter: Reporter) -> Actors:
    """Return workers that are Ray actors, after connecting to a cluster."""
    args = read_args(Args, settings.engine_args, "the engine ray", flag="--engine-args")
    ours = _connect(args.address)
    count, resources = _sizes(args, settings.workers, settings.device)
    gpus = f", {resources['num_gpus']:g} GPU" if resources["num_gpus"] else ""
    reporter.say(f"{count} workers on Ray, each {resources['num_cpus']} CPU{gpus}.")
    return Actors(spec, count, resources, ours)


def _ray() -> Any:
    """Return the module ray, typed as Any because its own types miss decorated classes."""
    import ray

    return ray


def _connect(address: str | None) -> bool:
    """Connect to a cluster or start one here; return whether this process has to end it."""
    ray = _ray()
    if ray.is_initialized():
        return False
    named = address or os.environ.get("RAY_ADDRESS")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        if named:
            ray.init(address=named, **quiet)
        else:
            ray.init(include_dashboard=False, **quiet)
    except Exception as error:  # Ray raises kinds of many libraries
        raise T2IBenchError(
            f"The Ray cluster {named or 'of this machine'} cannot be reached: {first_line(error)}",
            "Check --engine-args address=… or RAY_ADDRESS, and that `ray status` answers.",
        ) from error
    restore_handler()  # Ray has installed its own handler of SIGTERM
    return True


def _sizes(
    args: Args, workers: int | None, device: str | None
) -> tuple[int, dict[str, Any]]:
    """Return the number of workers on a Ray cluster, and the resources that each requests."""
    ray = _ray()
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    total_gpus = 0.0 if device == "cpu" else sum(node.get("GPU", 0.0) for node in nodes)
    num_gpus = (
        args.num_gpus if args.num_gpus is not None else float(min(total_gpus, 1.0))
    )
    cpus = [int(node["CPU"]) for node in nodes if node.get("CPU", 0.0) >= 1] or [1]
    if num_gpus:
        count = workers or max(1, int(total_gpus / num_gpus + 1e-9))
        num_cpus = args.num_cpus or 1
    else:
        count = workers or len(cpus)
        num_cpus = args.num_cpus or max(1, min(*cpus, sum(cpus) // count))
    return count, {"num_gpus": num_gpus, "num_cpus": num_cpus}


class _Actor:
    """A worker as a Ray actor, whose models load in `ready`, which Ray may call again."""

    def __init__(self) -> None:
        self._worker: Any = None
        self._stopping = False
        self._lines: list[UserLine] = []

    def ready(self, spec: WorkerSpec) -> Iterator[Message]:
        try:
            if self._worker is None:
                self._worker = spec.worker_elsewhere(
                    self._lines.append, lambda: self._stopping
                )
            yield from self._said()
            yield WorkerModels.of(self._worker)
        except Exception as error:
            yield sendable(error)

    def do(self, item: WorkItem) -> Iterator[Message]:
        if self._worker is None:
            yield WorkerDeath("was started again", restarted=True)
            return
        try:
            for result in self._worker.do(item):
                yield from self._said()
                yield result
            yield None
        except Exception as error:
            yield sendable(error)

    def stop(self) -> None:
        self._stopping = True

    def _said(self) -> Iterator[Message]:
        while self._lines:
            yield self._lines.pop(0)


class Actors:
    """Runs workers as Ray actors (see `Workers`)."""

    elsewhere = True

    def __init__(
        self, spec: WorkerSpec, count: int, resources: Mapping[str, Any], ours: bool
    ) -> None:
        ray = _ray()
        self.count = count
        self._ray, self._ours, self._resources = ray, ours, dict(resources)
        self._spec = ray.put(spec)
        self._actors: dict[int, Any] = {}
        self._streams: dict[Any, int] = {}

    def start(self, number: int) -> None:
        """Request a worker from Ray."""
        actor = self._ray.remote(_Actor)
        # Two calls at once: `stop` comes in the middle of a work item.
        self._actors[number] = actor.options(
            max_restarts=MOST_RESTARTS, max_concurrency=2, **self._resources
        ).remote()
        self._load(number)

    def _load(self, number: int) -> None:
        ready = self._actors[number].ready
        ready = ready.options(num_returns="streaming", max_task_retries=_READY_TRIES)
        self._streams[ready.remote(self._spec)] = number

    def send(self, number: int, item: WorkItem) -> None:
        """Send a work item to a worker."""
        do = self._actors[number].do.options(num_returns="streaming")
        self._streams[do.remote(item)] = number

    def wait(self, seconds: float) -> list[tuple[int, Message]]:
        """Return messages from workers, waiting up to `seconds` for the first one."""
        streams = list(self._streams)
        done: list[Any] = []
        if streams:
            done, _ = self._ray.wait(streams, num_returns=1, timeout=seconds)
        else:
            time.sleep(seconds)
        messages: list[tuple[int, Message]] = []
        for stream in done:
            number = self._streams[stream]
            try:
                message: Message = self._ray.get(next(stream))
            except StopIteration:
                self._streams.pop(stream, None)
                continue
            except self._ray.exceptions.RayError as error:
                self._streams.pop(stream, None)
                is_dead = isinstance(error, self._ray.exceptions.ActorDiedError)
                why = f"is gone ({first_line(error).rstrip('.')})"
                message = WorkerDeath(why, restarted=not is_dead)
            # Ray has started it again
            if isinstance(message, WorkerDeath) and message.restarted:
                self._load(number)
            messages.append((number, message))
        return messages

    def end(self, number: int) -> None:
        """Terminate a worker's actor, which Ray restarts."""
        self._ray.kill(self._actors[number], no_restart=False)

    def stop(self) -> None:
        """Ask all workers to stop after their batch."""
        for actor in self._actors.values():
            actor.stop.remote()

    def close(self) -> None:
        """Terminate the actors, and the connection if this process opened it."""
        with contextlib.suppress(Exception):  # the cluster may be gone already
            for actor in self._actors.values():
                self._ray.kill(actor)
        if self._ours:
            self._ray.shutdown()
