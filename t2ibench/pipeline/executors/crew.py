"""The leader of a run's workers: hands out units, counts what is done, survives their deaths.

A worker does one unit at a time. That of a worker that dies goes to whoever is free; it is
idempotent, so what the dead one stored stays. How workers are started and spoken to is the
business of `Hands`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Encoder, Judge
from t2ibench.pipeline.executors.messages import (
    Advanced,
    Failed,
    Gone,
    Kind,
    Message,
    Ready,
    Report,
    Said,
    Unit,
)
from t2ibench.pipeline.job import Job, Stage
from t2ibench.pipeline.opening import Observers
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.stopping import check
from t2ibench.store.images import StoredImage

MOST_RESTARTS = 3  # of one worker, without a unit done in between
_LATE = 90.0  # seconds that NFS may take to show a new file to another machine
_LAST_BATCH = 60.0  # seconds that workers have for their batch when the run is asked to stop


class Hands(Protocol):
    """Workers, by number, and how to speak to them.

    Attributes:
        count: How many.
        elsewhere: Whether they write on other machines, and what they write is seen late.
    """

    count: int
    elsewhere: bool

    def start(self, hand: int) -> None:
        """Start a worker, for the first time or again; nothing where it comes back by itself."""
        ...

    def send(self, hand: int, unit: Unit) -> None:
        """Give a worker something to do."""
        ...

    def wait(self, seconds: float) -> list[tuple[int, Message]]:
        """What workers have said; waits for the first, so long at most."""
        ...

    def stop(self) -> None:
        """Have all workers end after their batch; each is `Gone` then."""
        ...

    def close(self) -> None:
        """End them all at once; nothing of what is stored is lost."""
        ...


@dataclass(slots=True)
class _Hand:
    """What is known of one worker."""

    started: bool = False
    ready: Ready | None = None
    unit: Unit | None = None
    waiting: list[Unit] = field(default_factory=list)  # units that other runs were at
    deaths: int = 0
    lost: bool = False

    @property
    def idle(self) -> bool:
        return self.ready is not None and self.unit is None


class Crew:
    """Does the stages of a run with workers (see `Executor` and `DoesAll`).

    Args:
        hands: The workers.
        generator: Fingerprint of the leader's generator; a worker's has to be the same.
        reporter: Told what workers say, and that one has died.
    """

    def __init__(self, hands: Hands, generator: str | None, reporter: Reporter) -> None:
        self._hands = hands
        self._generator = generator
        self._reporter = reporter
        self._crew = [_Hand() for _ in range(hands.count)]
        self._models: Ready | None = None
        self._said: set[str] = set()
        self._todo: deque[Unit] = deque()
        self._job: Job | None = None
        self._advance: Callable[[int], None] = lambda _: None
        self._left: dict[tuple[Kind, int], int] = {}
        self._last_death = ""

    def observers(self) -> Observers:
        """The encoders and judges that the workers have, once the first is there."""
        self._start(1)
        while self._models is None:
            self._listen()
        models = self._models
        return Observers(
            [cast(Encoder, model) for model in models.encoders],
            {name: cast(Encoder, model) for name, model in models.controls.items()},
            [cast(Judge, model) for model in models.judges],
        )

    def run(self, job: Job, stage: Stage, advance: Callable[[int], None]) -> None:
        """Do all shards of a stage (see `Executor`)."""
        left = {number: piece.known for number, piece in enumerate(job.pieces[stage])}
        units = [Unit(stage, number) for number in job.order() if left[number]]
        self._do(job, units, left, advance)
        end = time.monotonic() + _LATE
        while self._hands.elsewhere and job.pending(stage) > _unmade(job, stage):
            if job.stopped or time.monotonic() > end:
                break
            time.sleep(1.0)

    def texts(self, job: Job, number: int, left: int, advance: Callable[[int], None]) -> None:
        """Have an encoder embed texts (see `DoesAll`)."""
        self._do(job, [Unit("texts", number)], {number: left}, advance)

    def again(
        self, job: Job, damaged: Sequence[StoredImage], left: int, advance: Callable[[int], None]
    ) -> None:
        """Have damaged images generated again (see `DoesAll`)."""
        self._do(job, [Unit("again", damaged=tuple(damaged))], {0: left}, advance)

    def close(self) -> None:
        """End the workers."""
        self._hands.close()

    def stop(self) -> None:
        """End the workers after their batch, or after a minute."""
        self._hands.stop()
        busy = {number for number, hand in enumerate(self._crew) if hand.unit is not None}
        end = time.monotonic() + _LAST_BATCH
        while busy and time.monotonic() < end:
            for number, message in self._hands.wait(0.5):
                if isinstance(message, Report | Failed | Gone):
                    busy.discard(number)
        self.close()

    def _do(
        self,
        job: Job,
        units: Sequence[Unit],
        left: dict[int, int],
        advance: Callable[[int], None],
    ) -> None:
        self._job, self._advance, self._todo = job, advance, deque(units)
        self._left = {(unit.kind, unit.number): left[unit.number] for unit in units}
        self._start(len(units))
        while True:
            for number, hand in enumerate(self._crew):
                if hand.idle and self._todo:
                    self._give(number, self._todo.popleft())
                elif hand.idle and hand.waiting:
                    self._give(number, replace(hand.waiting[0], finish=True))
            if not self._todo and not any(hand.unit or hand.waiting for hand in self._crew):
                return
            self._listen()
            check()

    def _start(self, units: int) -> None:
        """Start as many workers as there is work for; those that wait for nothing cost memory."""
        for number, hand in enumerate(self._crew[:units]):
            if not hand.started:
                hand.started = True
                self._hands.start(number)

    def _give(self, number: int, unit: Unit) -> None:
        stopped = dict(self._job.stopped) if self._job else {}
        given = replace(unit, stopped=stopped)
        self._crew[number].unit = given
        self._hands.send(number, given)

    def _listen(self) -> None:
        stopped = False
        for number, message in self._hands.wait(0.5):
            try:
                self._hear(number, self._crew[number], message)
            except KeyboardInterrupt:  # what else was said is heard first
                stopped = True
        if stopped:
            raise KeyboardInterrupt

    def _hear(self, number: int, hand: _Hand, message: Message) -> None:
        match message:
            case Advanced(count):
                self._count(hand, count)
            case Said(text, warning):
                if not warning or text not in self._said:  # each of them says the same
                    self._said.add(text)
                    (self._reporter.warn if warning else self._reporter.say)(text)
            case Ready():
                self._agree(message)
                hand.ready = message
            case Report():
                self._done(hand, message)
            case Failed():
                message.reraise()
            case Gone():
                self._bury(number, hand, message)

    def _agree(self, ready: Ready) -> None:
        """All workers must make and see the same as the leader, or results would mix models."""
        theirs = [(model.name, model.fingerprint) for model in (*ready.encoders, *ready.judges)]
        if self._models is None:
            self._models = ready
        first = self._models
        mine = [(model.name, model.fingerprint) for model in (*first.encoders, *first.judges)]
        other = "generator" if ready.generator != self._generator else ""
        other = other or ("encoder or judge" if theirs != mine else "")
        if other:
            raise T2IBenchError(
                f"The {other} of the worker ({ready.where}) is not the one asked for: its "
                "fingerprint is another.",
                "All machines need the same model files and versions; give --dtype where some "
                "have a GPU and others have none.",
            )

    def _count(self, hand: _Hand, count: int) -> None:
        """Count items, never more of a unit than it lacked: a second try may do some again."""
        if hand.unit is None:
            return
        key = (hand.unit.kind, hand.unit.number)
        if hand.unit.finish:  # of several units together
            self._advance(count)
            return
        counted = min(count, self._left.get(key, 0))
        self._left[key] = self._left.get(key, 0) - counted
        self._advance(counted)

    def _done(self, hand: _Hand, report: Report) -> None:
        unit, hand.unit = hand.unit, None
        hand.deaths = 0
        if self._job is not None:
            report.given_to(self._job)
        if unit is None:
            return
        if unit.finish:
            hand.waiting.clear()
        elif report.held:
            hand.waiting.append(unit)
        else:
            self._advance(self._left.pop((unit.kind, unit.number), 0))

    def _bury(self, number: int, hand: _Hand, gone: Gone) -> None:
        """Give a dead worker's units to others, and start it again if that has not failed often."""
        where = hand.ready.where if hand.ready else "while it started"
        if hand.unit is not None and not hand.unit.finish:
            self._todo.append(replace(hand.unit, stopped={}))
        self._todo += hand.waiting
        hand.unit, hand.ready = None, None
        hand.waiting.clear()
        hand.deaths += 1
        self._last_death = f"worker {number + 1} ({where}) {gone.why}"
        again = hand.deaths <= MOST_RESTARTS
        if again:
            then = f"it starts again ({hand.deaths} of {MOST_RESTARTS})"
            if not gone.back:
                self._hands.start(number)
        else:
            then = "it is not started again"
            hand.lost = True
        self._reporter.warn(f"{self._last_death}; others do its work, and {then}.")
        if all(other.lost for other in self._crew if other.started):
            raise T2IBenchError(
                f"No worker is left: {self._last_death}.",
                "Everything done so far is kept: run the same command again, with fewer --workers "
                "if memory ran out.",
            )


def _unmade(job: Job, stage: Stage) -> int:
    """What workers have tried in vain, and will not be seen."""
    if stage == "embed":
        return len(job.damaged)
    return sum(report.failed for report in job.reports.values()) if stage == "ask" else 0
