"""The executor `ray`: workers are actors of a Ray cluster.

Core actors, not Ray Data: the shards and what is missing of them are known from the stores, which
also survive the cluster, so a dataset would only wrap a list of numbers, and `map_batches` hides
which actor died with which shard. An actor keeps its models for the whole run. Ray restarts one
that dies (`max_restarts`), on another node where its own is gone. Its shard goes to whoever is free
at once, because the restarted actor has to load models first: so only `ready` is tried again
(`max_task_retries`), and `do` is not. All actors are asked for at the start; those that do not fit
wait in Ray, which is what an autoscaler adds nodes for.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from t2ibench.arguments import Arguments, PositiveInt, read_args
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.pipeline.executors.crew import MOST_RESTARTS, Crew
from t2ibench.pipeline.executors.messages import (
    Advanced,
    Failed,
    Gone,
    Message,
    Order,
    Said,
    Unit,
)
from t2ibench.pipeline.executors.ordering import order_of
from t2ibench.pipeline.prepare import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.stopping import heard_again
from t2ibench.store.locks import FOLDER

_PATIENCE = 60.0  # seconds until it is said that there is no room for a worker
_READY_TRIES = 10  # of an actor to come up, each on whatever node is there


class Args(Arguments):
    """What --engine-args takes.

    Attributes:
        address: Of the cluster; by default RAY_ADDRESS, else Ray starts on this machine.
        num_gpus: Of each worker, also a part of one; by default 1 where the cluster has any.
        num_cpus: Of each worker; by default 1 beside a GPU, else its share of the cores.
    """

    address: str | None = None
    num_gpus: float | None = None
    num_cpus: PositiveInt | None = None


class RayExecutor:
    """Works on a Ray cluster (see pipeline.executors.Employs)."""

    description = "actors of a Ray cluster (pip install 't2ibench[ray]')"

    def check(self, workers: int | None, args: Mapping[str, str]) -> None:
        """Check arguments, and that Ray is installed (see pipeline.executors.TakesArguments)."""
        read_args(Args, args, "the engine ray", flag="--engine-args")
        if find_spec("ray") is None:
            raise T2IBenchError("--engine ray needs Ray.", "pip install 't2ibench[ray]'")

    def hire(self, prepared: Prepared, reporter: Reporter, observing: bool) -> Crew:
        """Start actors (see pipeline.executors.Employs)."""
        settings = prepared.settings
        args = read_args(Args, settings.engine_args, "the engine ray", flag="--engine-args")
        order_of(prepared, observing)  # what cannot be sent is said before anything starts
        ours = _connect(args.address)
        count, resources = _sizes(args, settings.workers, settings.device)
        gpus = f", {resources['num_gpus']:g} GPU" if resources["num_gpus"] else ""
        reporter.say(f"{count} workers on Ray, each {resources['num_cpus']} CPU{gpus}.")
        token = f"{FOLDER}/leader-{uuid.uuid4().hex[:8]}"
        hands = Actors(order_of(prepared, observing, token), count, resources, ours)
        generator = prepared.generator.fingerprint if prepared.generator else None
        return Crew(hands, generator, reporter)


def _ray() -> Any:
    """Ray, whose own types do not know what a decorated class has."""
    import ray

    return ray


def _connect(address: str | None) -> bool:
    """Connect to a cluster, or start one here; whether it is ours to end."""
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
    heard_again()  # Ray has taken SIGTERM
    return True


def _sizes(args: Args, workers: int | None, device: str | None) -> tuple[int, dict[str, Any]]:
    """How many workers, and what each asks for."""
    ray = _ray()
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    total_gpus = 0.0 if device == "cpu" else sum(node.get("GPU", 0.0) for node in nodes)
    num_gpus = args.num_gpus if args.num_gpus is not None else float(min(total_gpus, 1.0))
    cpus = [int(node["CPU"]) for node in nodes if node.get("CPU", 0.0) >= 1] or [1]
    if num_gpus:
        count = workers or max(1, int(total_gpus / num_gpus + 1e-9))
        num_cpus = args.num_cpus or 1
    else:
        count = workers or len(cpus)
        num_cpus = args.num_cpus or max(1, min(*cpus, sum(cpus) // count))
    return count, {"num_gpus": num_gpus, "num_cpus": num_cpus}


class _Stopped(BaseException):
    """The leader asked the workers to stop."""


class _Mailbox:
    """An actor that keeps what workers tell in the middle of a unit."""

    def __init__(self) -> None:
        self._messages: list[tuple[int, Message]] = []
        self._stopping = False

    def put(self, hand: int, message: Message) -> bool:
        self._messages.append((hand, message))
        return self._stopping

    def take(self) -> list[tuple[int, Message]]:
        found, self._messages = self._messages, []
        return found

    def stop(self) -> None:
        self._stopping = True


class _Actor:
    """A worker as an actor. Its models come with `ready`, which Ray may call again elsewhere."""

    def __init__(self) -> None:
        self._hand = 0
        self._mailbox: Any = None
        self._worker: Any = None

    def _tell(self, message: Message) -> None:
        self._mailbox.put.remote(self._hand, message)

    def _advance(self, count: int) -> None:
        ray = _ray()
        try:
            stopping = ray.get(self._mailbox.put.remote(self._hand, Advanced(count)))
        except ray.exceptions.RayError:  # its node is gone: only the bar is late
            return
        if stopping:
            raise _Stopped

    def ready(self, order: Order, hand: int, mailbox: Any) -> Message:
        from t2ibench.pipeline.executors.worker import Worker

        self._hand, self._mailbox = hand, mailbox
        try:
            if self._worker is None:
                self._worker = Worker(order, self._tell)
            return self._worker.ready()  # type: ignore[no-any-return]
        except Exception as error:
            return Failed.because(error)

    def do(self, unit: Unit) -> Message:
        if self._worker is None:
            return Gone("was started again", back=True)
        try:
            return self._worker.do(unit, self._advance)  # type: ignore[no-any-return]
        except _Stopped:
            return self._worker.taken()  # type: ignore[no-any-return]
        except Exception as error:
            return Failed.because(error)


class Actors:
    """Workers that are actors (see `Hands`).

    Args:
        order: The run.
        count: How many.
        resources: What each asks for: num_cpus and num_gpus.
        ours: Whether the connection to Ray is ours to end.
    """

    elsewhere = True

    def __init__(self, order: Order, count: int, resources: Mapping[str, Any], ours: bool) -> None:
        ray = _ray()
        self.count = count
        self._placed = False
        self._asked = time.monotonic()
        self._ray, self._ours, self._resources = ray, ours, dict(resources)
        self._token = Path(order.folder) / order.token
        self._token.parent.mkdir(parents=True, exist_ok=True)
        self._token.touch()
        self._order = ray.put(order)
        self._mailbox = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(
            _Mailbox
        ).remote()
        self._letters = self._mailbox.take.remote()
        self._actors: dict[int, Any] = {}
        self._calls: dict[Any, int] = {}

    def start(self, hand: int) -> None:
        """Ask for a worker."""
        actor = self._ray.remote(_Actor)
        self._actors[hand] = actor.options(
            max_restarts=MOST_RESTARTS,
            **self._resources,
        ).remote()
        self._call(hand)

    def _call(self, hand: int) -> None:
        ready = self._actors[hand].ready.options(max_task_retries=_READY_TRIES)
        self._calls[ready.remote(self._order, hand, self._mailbox)] = hand

    def send(self, hand: int, unit: Unit) -> None:
        """Give a worker something to do."""
        self._calls[self._actors[hand].do.remote(unit)] = hand

    def wait(self, seconds: float) -> list[tuple[int, Message]]:
        """What workers have said (see `Hands`)."""
        done, _ = self._ray.wait(list(self._calls), timeout=seconds) if self._calls else ([], [])
        found = self._post()
        self._placed |= bool(done)
        if not self._placed and time.monotonic() - self._asked > _PATIENCE:
            self._placed = True
            found.append((0, Said("No node of the Ray cluster has room for a worker yet.")))
        for call in done:
            hand = self._calls.pop(call)
            try:
                message: Message = self._ray.get(call)
            except self._ray.exceptions.RayError as error:
                back = not isinstance(error, self._ray.exceptions.ActorDiedError)
                message = Gone(f"is gone ({first_line(error).rstrip('.')})", back=back)
            if isinstance(message, Gone) and message.back:  # Ray has started it again
                self._call(hand)
            found.append((hand, message))
        return found

    def _post(self) -> list[tuple[int, Message]]:
        """What was told between two units."""
        ready, _ = self._ray.wait([self._letters], timeout=0)
        if not ready:
            return []
        try:
            found: list[tuple[int, Message]] = self._ray.get(self._letters)
        except self._ray.exceptions.RayError:  # the mailbox was on a node that is gone
            found = []
        self._letters = self._mailbox.take.remote()
        return found

    def stop(self) -> None:
        """Have all workers end after their batch."""
        self._mailbox.stop.remote()

    def close(self) -> None:
        """End the actors, and the connection where it is ours."""
        with contextlib.suppress(Exception):  # the cluster may be gone already
            for actor in (*self._actors.values(), self._mailbox):
                self._ray.kill(actor)
        with contextlib.suppress(OSError):
            self._token.unlink(missing_ok=True)
        if self._ours:
            self._ray.shutdown()


EXECUTOR = RayExecutor()
