"""Several workers: pieces go out, parts come back, and the death of a worker costs time alone.

How workers are started and spoken to is the business of `Workers`: processes of this machine, or
actors of a Ray cluster. They store nothing. What a dead one had not given yet is cut anew from what
is missing, and goes to whoever is free.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Generator
from t2ibench.models.rewritten_generator import FoundRewritings, Rewritten
from t2ibench.pipeline import stop_request
from t2ibench.pipeline.executors import Cut
from t2ibench.pipeline.executors.messages import (
    Message,
    PieceEnd,
    UserLine,
    WorkerDeath,
    WorkerError,
    WorkerModels,
)
from t2ibench.pipeline.pieces import ImagesToEmbed, ImagesToGenerate, Part, Piece, QuestionsToAsk
from t2ibench.pipeline.progress import Reporter
from t2ibench.store.images import StoredImage

MOST_RESTARTS = 3  # of one worker, without a piece done in between
LAST_BATCH = 60.0  # seconds that workers have for their batch when the run is asked to stop
# A worker that says nothing for so long, while others wait for it, is ended: at least this many
# seconds, and this many times the longest silence that a part came after.
LEAST_PATIENCE, FIRST_PATIENCE, SILENCES = 120.0, 600.0, 10


class Workers(Protocol):
    """Workers, by number, and how to speak to them.

    Attributes:
        count: How many.
        elsewhere: Whether they may be on other machines, where image files are not seen.
    """

    count: int
    elsewhere: bool

    def start(self, number: int) -> None:
        """Start a worker, for the first time or again; nothing where it comes back by itself."""
        ...

    def send(self, number: int, piece: Piece) -> None:
        """Give a worker something to do."""
        ...

    def wait(self, seconds: float) -> list[tuple[int, Message]]:
        """What workers have said; waits for the first, so long at most."""
        ...

    def stop(self) -> None:
        """Have all workers end after their batch."""
        ...

    def end(self, number: int) -> None:
        """End a worker at once; it is `WorkerDeath` then."""
        ...

    def close(self) -> None:
        """End them all at once."""
        ...


@dataclass(slots=True)
class _State:
    """What is known of one worker."""

    started: bool = False
    ready: WorkerModels | None = None
    piece: int | None = None  # its number
    heard: float = 0.0
    deaths: int = 0
    lost: bool = False


class WorkerPool:
    """Does pieces with several workers (see `Executor`).

    Args:
        workers: The workers.
        generator: The leader's generator, which loads no weights; a worker's has to be the same.
        reporter: Told what workers say, and that one has died.
    """

    def __init__(self, workers: Workers, generator: Generator | None, reporter: Reporter) -> None:
        self._workers = workers
        self._generator = generator
        self._reporter = reporter
        self._states = [_State() for _ in range(workers.count)]
        self._models: WorkerModels | None = None
        self._said: set[str] = set()
        self._todo: deque[int] = deque()
        self._longest = 0.0
        self._start(1)
        while self._models is None:
            for _ in self._hear():
                pass
        self.observers = self._models.observers

    def run(self, numbers: Iterable[int], cut: Cut) -> Iterator[Part]:
        """Do pieces, in any order; on a request to stop, what workers have in hand still comes."""
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
            self._hand_out(cut)
            busy = any(state.piece is not None for state in self._states)
            if not (busy or self._todo) or (end is not None and time.monotonic() > end):
                return
            yield from self._hear(stopped=end is not None)
            self._end_silent()

    def close(self) -> None:
        """End the workers."""
        self._workers.close()

    def _start(self, pieces: int) -> None:
        """Start as many workers as there is work for; those that wait for nothing cost memory."""
        for number, state in enumerate(self._states[:pieces]):
            if not state.started:
                state.started = True
                self._workers.start(number)

    def _hand_out(self, cut: Cut) -> None:
        for number, state in enumerate(self._states):
            while self._todo and state.ready is not None and state.piece is None:
                which = self._todo.popleft()
                piece = cut(which)
                if piece is not None:
                    state.piece, state.heard = which, time.monotonic()
                    self._workers.send(number, self._complete(piece))

    def _complete(self, piece: Piece) -> Piece:
        """A piece with what its worker cannot look up: rewritings, and images from elsewhere."""
        generator = self._generator
        if isinstance(piece, ImagesToGenerate) and isinstance(generator, Rewritten):
            places = [(one.prompt, one.index) for one in piece.requests]
            found = {place: row for place in places if (row := generator.rewriting(*place))}
            return replace(piece, rewritings=FoundRewritings(found))
        if self._workers.elsewhere and isinstance(piece, ImagesToEmbed):
            return replace(piece, images=tuple((_read(one), who) for one, who in piece.images))
        if self._workers.elsewhere and isinstance(piece, QuestionsToAsk):
            asked = tuple((_read(one), questions) for one, questions in piece.questions)
            return replace(piece, questions=asked)
        return piece

    def _hear(self, *, stopped: bool = False) -> Iterator[Part]:
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
                case UserLine(text, warning):
                    if not warning or text not in self._said:  # each of them says the same
                        self._said.add(text)
                        (self._reporter.warn if warning else self._reporter.say)(text)
                case WorkerModels():
                    self._agree(message)
                    state.ready = message
                case PieceEnd():
                    state.piece, state.deaths = None, 0
                case WorkerError():
                    message.reraise()
                case WorkerDeath():
                    self._bury(number, state, message, stopped)
                case _:
                    self._longest = max(self._longest, now - state.heard)
                    yield message
            state.heard = now

    def _agree(self, ready: WorkerModels) -> None:
        """All workers must make and see the same as the leader, or results would mix models."""
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

    def _end_silent(self) -> None:
        """End workers that say nothing while others have nothing left to do."""
        if self._todo or not any(state.ready and state.piece is None for state in self._states):
            return
        patience = max(LEAST_PATIENCE, SILENCES * self._longest) if self._longest else None
        now = time.monotonic()
        for number, state in enumerate(self._states):
            silent = now - state.heard
            if state.piece is not None and silent > (patience or FIRST_PATIENCE):
                self._reporter.warn(
                    f"Worker {number + 1} has said nothing for {silent:.0f} s: it is ended."
                )
                state.heard = now
                self._workers.end(number)

    def _bury(self, number: int, state: _State, message: WorkerDeath, stopped: bool) -> None:
        """Give a dead worker's piece to others, and start it again if that has not failed often."""
        where = state.ready.where if state.ready else "while it started"
        if state.piece is not None and not stopped:
            self._todo.append(state.piece)
        state.piece, state.ready = None, None
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
            state.lost = True
        self._reporter.warn(f"{death}; others do its work, and {then}.")
        if all(other.lost for other in self._states if other.started):
            raise T2IBenchError(
                f"No worker is left: {death}.",
                "Everything done so far is kept: run the same command again, with fewer --workers "
                "if memory ran out.",
            )


def _read(image: StoredImage) -> StoredImage:
    """An image with its bytes; one without a file is found damaged by whoever gets it."""
    try:
        return replace(image, content=image.path.read_bytes())
    except OSError:
        return image
