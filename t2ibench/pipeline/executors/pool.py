"""A pool of workers that distributes work items and survives the death of a worker.

How workers are started and spoken to is the business of `Workers`: processes of this machine, or
actors of a Ray cluster. They store nothing. What a dead worker had not returned is
divided again with what is missing, and goes to any free worker.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing.pool import ExceptionWithTraceback  # type: ignore[attr-defined]
from typing import Any, NamedTuple, Protocol, TypeVar

from t2ibench.errors import T2IBenchError
from t2ibench.models.library_messages import LibraryMessage, journal
from t2ibench.models.protocols import Generator, ImageRequest
from t2ibench.models.rewritten_generator import FoundRewritings, Rewritten
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.executors import GetWorkItem
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.work_items import (
    ImagesToEmbed,
    ImagesToGenerate,
    QuestionsToAsk,
    WorkItem,
    WorkResult,
)
from t2ibench.pipeline.worker import Observers, UserLine, Worker
from t2ibench.store.files import read_ordinary
from t2ibench.store.images import ImageFile

_File = TypeVar("_File", bound=ImageFile)

MOST_RESTARTS = 3  # of one worker, without a work item done in between
# seconds that workers have for their batch when the run is asked to stop
LAST_BATCH = 60.0
# A worker that says nothing for so long, while others wait for it, is ended: at least this many
# seconds, and this many times the longest silence that a result came after.
LEAST_PATIENCE, FIRST_PATIENCE, SILENCES = 120.0, 600.0, 10


class ModelInfo(NamedTuple):
    """Properties of an encoder or judge in a worker that the stores need."""

    name: str
    fingerprint: str
    embeds_images: bool = False
    network: Mapping[str, Any] = {}

    @classmethod
    def of(cls, model: Any) -> Any:
        """Return the properties of an encoder or judge that the stores need."""
        return cls(
            model.name,
            model.fingerprint,
            bool(getattr(model, "embeds_images", False)),
            dict(getattr(model, "network", {})),
        )


@dataclass(frozen=True, slots=True)
class WorkerModels:
    """A message that a worker has loaded its models."""

    where: str
    generator: str | None
    observers: Observers

    @classmethod
    def of(cls, worker: Worker) -> WorkerModels:
        """Return the properties of a worker's models."""
        loaded = worker.observers
        controls = {
            name: ModelInfo.of(control) for name, control in loaded.controls.items()
        }
        observers = Observers(
            encoders=[ModelInfo.of(encoder) for encoder in loaded.encoders],
            controls=controls,
            judges=[ModelInfo.of(judge) for judge in loaded.judges],
        )
        return cls(
            where=f"process {os.getpid()} on {socket.gethostname()}",
            generator=worker.generator.fingerprint if worker.generator else None,
            observers=observers,
        )


@dataclass(frozen=True, slots=True)
class WorkerDeath:
    """A message that a worker has died."""

    why: str
    restarted: bool = False  # whether it restarts by itself


# An exception: no worker can go on. None: the work item is done.
Message = WorkerModels | UserLine | WorkResult | BaseException | WorkerDeath | None


def sendable(error: BaseException) -> Any:
    """Return an error in a form that can be sent between processes, with its traceback."""
    try:
        pickle.loads(pickle.dumps(error))
        sent = error
    except (
        Exception
    ):  # exceptions of other libraries may raise anything when they are pickled
        sent = RuntimeError(f"{type(error).__name__}: {error}")
    return ExceptionWithTraceback(sent, error.__traceback__)


class Workers(Protocol):
    """A set of numbered workers, and the messages to and from them."""

    count: int
    elsewhere: bool  # whether on machines that may not see the image files

    def start(self, number: int) -> None:
        """Start or restart a worker, unless it restarts by itself."""
        ...

    def send(self, number: int, item: WorkItem) -> None:
        """Send a work item to a worker."""
        ...

    def wait(self, seconds: float) -> list[tuple[int, Message]]:
        """Return messages from workers, waiting up to `seconds` for the first one."""
        ...

    def end(self, number: int) -> None:
        """Terminate a worker at once, which then counts as dead."""
        ...

    def stop(self) -> None:
        """Ask all workers to stop after their batch."""
        ...

    def close(self) -> None:
        """Terminate all workers at once."""
        ...


@dataclass(slots=True)
class _State:
    """The state of one worker."""

    started: bool = False
    ready: WorkerModels | None = None
    item: int | None = None  # number of the work item that it is at
    heard: float = 0.0  # time of its last message
    deaths: int = 0
    abandoned: bool = False


class WorkerPool:
    """Performs work items with several workers (see `Executor`)."""

    def __init__(
        self,
        workers: Workers,
        generator: Generator | None,
        reporter: Reporter,
        *,
        at_once: int = 1,
    ) -> None:
        """Start workers, and wait until one of them has loaded its models.

        Args:
            workers: Whom to start; the others start when there is work for them.
            generator: The run's own, which the workers' have to equal.
            reporter: Is told what the workers say.
            at_once: How many workers are sure to have work.
        """
        self._workers = workers
        self._generator = generator
        self._reporter = reporter
        self._states = [_State() for _ in range(workers.count)]
        self._models: WorkerModels | None = None
        self._said: set[str] = set()
        self._todo: deque[int] = deque()
        self._longest = 0.0
        self._start(max(1, at_once))
        while self._models is None:
            for _ in self._hear():
                pass
        self.observers = self._models.observers

    def run(
        self, numbers: Iterable[int], get_item: GetWorkItem
    ) -> Iterator[WorkResult]:
        """Perform work items in any order and yield results; after a stop, started ones finish."""
        self._todo = deque(numbers)
        self._longest = 0.0
        self._start(len(self._todo))
        end: float | None = None
        while True:
            if stop_request.asked() and end is None:
                self._reporter.say("Stopping: the workers finish their batches.")
                self._todo.clear()
                self._workers.stop()
                end = time.monotonic() + LAST_BATCH
            self._hand_out(get_item)
            self._end_silent()
            busy = any(state.item is not None for state in self._states)
            if not (busy or self._todo) or (end is not None and time.monotonic() > end):
                return
            yield from self._hear(stopped=end is not None)

    def close(self) -> None:
        """Terminate the workers."""
        self._workers.close()

    def _start(self, count: int) -> None:
        """Start at most `count` workers, one for each work item, since idle workers need memory."""
        for number, state in enumerate(self._states[:count]):
            if not state.started:
                state.started = True
                self._workers.start(number)

    def _hand_out(self, get_item: GetWorkItem) -> None:
        for number, state in enumerate(self._states):
            while self._todo and state.ready is not None and state.item is None:
                which = self._todo.popleft()
                item = get_item(which)
                if item is not None:
                    state.item, state.heard = which, time.monotonic()
                    self._workers.send(number, self._complete(item))

    def _complete(self, item: WorkItem) -> WorkItem:
        """Return a work item with the rewritings and image files that its worker cannot read."""
        generator = self._generator
        if isinstance(item, ImagesToGenerate) and isinstance(generator, Rewritten):
            rewritings = {}
            for request in item.requests:
                rewriting = generator.rewriting(request.key)
                if rewriting:
                    rewritings[request.key] = rewriting
            return replace(item, rewritings=FoundRewritings(rewritings))
        if self._workers.elsewhere and isinstance(item, ImagesToGenerate):
            return replace(item, requests=tuple(map(_with_source, item.requests)))
        if self._workers.elsewhere and isinstance(item, ImagesToEmbed):
            return replace(
                item, images=tuple((_read(image), who) for image, who in item.images)
            )
        if self._workers.elsewhere and isinstance(item, QuestionsToAsk):
            asked = tuple(
                (_read(image), questions) for image, questions in item.questions
            )
            return replace(item, questions=asked)
        return item

    def _hear(self, *, stopped: bool = False) -> Iterator[WorkResult]:
        try:
            messages = self._workers.wait(0.5)
        except KeyboardInterrupt:
            if stopped:
                raise
            stop_request.ask()
            return
        for number, message in messages:
            state, now = self._states[number], time.monotonic()
            match message:
                case UserLine(message=LibraryMessage() as warning):
                    journal().add(warning)
                case UserLine(text, is_warning):
                    # each of them says the same
                    if not is_warning or text not in self._said:
                        self._said.add(text)
                        (self._reporter.warn if is_warning else self._reporter.say)(
                            text
                        )
                case WorkerModels():
                    self._agree(message)
                    state.ready = message
                case None:
                    state.item, state.deaths = None, 0
                case BaseException():
                    raise message
                case WorkerDeath():
                    self._bury(number, state, message, stopped)
                case _:
                    self._longest = max(self._longest, now - state.heard)
                    yield message
            state.heard = now

    def _end_silent(self) -> None:
        """Terminate workers that were silent for too long, once all other work is done."""
        if self._todo or not any(
            state.ready and state.item is None for state in self._states
        ):
            return
        patience = (
            max(LEAST_PATIENCE, SILENCES * self._longest) if self._longest else None
        )
        now = time.monotonic()
        for number, state in enumerate(self._states):
            silent = now - state.heard
            if state.item is not None and silent > (patience or FIRST_PATIENCE):
                self._reporter.warn(
                    f"Worker {number + 1} has said nothing for {silent:.0f} s: it is ended."
                )
                state.heard = now
                self._workers.end(number)

    def _agree(self, ready: WorkerModels) -> None:
        """Raise an error if a worker's models differ from those of the run or of other workers."""
        if self._models is None:
            self._models = ready
        expected = self._generator.fingerprint if self._generator else None
        other = "generator" if ready.generator != expected else "encoder or judge"
        if ready.generator != expected or ready.observers != self._models.observers:
            raise T2IBenchError(
                f"The {other} of the worker ({ready.where}) is not the one asked for: its "
                "fingerprint is another.",
                "All machines need the same model files and versions; give --dtype where some "
                "have a GPU and others have none.",
            )

    def _bury(
        self, number: int, state: _State, message: WorkerDeath, stopped: bool
    ) -> None:
        """Reassign the work item of a dead worker, and restart the worker unless it fails often."""
        where = state.ready.where if state.ready else "while it started"
        if state.item is not None and not stopped:
            self._todo.append(state.item)
        state.item, state.ready = None, None
        if stopped:
            return
        state.deaths += 1
        death = f"worker {number + 1} ({where}) {message.why}"
        if state.deaths <= MOST_RESTARTS:
            then = f"it starts again ({state.deaths} of {MOST_RESTARTS})"
            if not message.restarted:
                self._workers.start(number)
        else:
            then = "it is not started again"
            state.abandoned = True
        self._reporter.warn(f"{death}; others do its work, and {then}.")
        if all(other.abandoned for other in self._states if other.started):
            raise T2IBenchError(
                f"No worker is left: {death}.",
                "Everything done so far is kept: run the same command again, with fewer --workers "
                "if memory ran out.",
            )


def _with_source(request: ImageRequest) -> ImageRequest:
    """Return a request together with the bytes of its source image, if it has one."""
    if request.source is None:
        return request
    return replace(request, source=_read(request.source))


def _read(image: _File) -> _File:
    """Return an image together with the bytes of its file; without them if it is missing."""
    try:
        return replace(image, content=read_ordinary(image.path))
    except OSError:
        return image
