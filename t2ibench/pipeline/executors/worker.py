"""A worker: its own models, and the units of the run that it is given."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.models.rewritten import rewritten
from t2ibench.pipeline.executors.messages import Model, Order, Ready, Report, Said, Unit
from t2ibench.pipeline.job import Job
from t2ibench.pipeline.opening import Observers, load_observers, open_job
from t2ibench.pipeline.prepare import Prepared, create_model
from t2ibench.pipeline.progress import Ticker
from t2ibench.pipeline.stages import STAGES, again_piece, text_piece
from t2ibench.results.run import RunFolder, open_run
from t2ibench.store.images import ImageStore

_SEEN = 15.0  # seconds until a file that was just written must be seen on every machine


class _Remote:
    """A reporter whose lines go to the leader, which counts what is done itself."""

    def __init__(self, tell: Callable[[Said], None]) -> None:
        self._tell = tell

    @contextlib.contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        raise NotImplementedError(f"{name}: a worker shows no progress of its own")
        yield

    def say(self, text: str) -> None:
        self._tell(Said(text))

    def warn(self, text: str) -> None:
        self._tell(Said(text, warning=True))


class Worker:
    """Does units of a run.

    Args:
        order: The run.
        tell: Takes lines for the user.

    Raises:
        T2IBenchError: the run folder is not seen here, or a model cannot be loaded.
    """

    def __init__(self, order: Order, tell: Callable[[Said], None]) -> None:
        _settle(order)
        self._order = order
        self._reporter = _Remote(tell)
        generator = create_model(order.settings, order.objects)
        if generator is not None and order.rewriter is not None:
            generator = rewritten(generator, order.rewriter)
        self._prepared = Prepared(
            order.settings,
            order.plan,
            generator,
            RunFolder(Path(order.folder)),
            None,
            {},
            {},
            [],
            order.objects,
        )
        self._observers = (
            load_observers(self._prepared, self._reporter) if order.observing else Observers()
        )
        self._job: Job | None = None
        self._last = ""

    def ready(self) -> Ready:
        """What the leader has to know of the models."""
        generator, observers = self._prepared.generator, self._observers
        return Ready(
            f"process {os.getpid()} on {socket.gethostname()}",
            generator.fingerprint if generator else None,
            tuple(map(Model.of, observers.encoders)),
            {name: Model.of(control) for name, control in observers.controls.items()},
            tuple(map(Model.of, observers.judges)),
        )

    def do(self, unit: Unit, advance: Callable[[int], None]) -> Report:
        """Do a unit; it is idempotent."""
        job = self._opened()
        job.stopped |= unit.stopped
        if unit.kind != self._last:
            if self._last in {"generate", "again"}:
                job.release()
            job.refresh()
            self._last = unit.kind
        if unit.kind == "again":
            job.sharing.do(again_piece(job, unit.damaged), advance)
            job.sharing.finish(advance, "images")
            job.release()
        elif unit.kind == "texts":
            job.sharing.do(text_piece(job, *job.texts()[unit.number]), advance)
            job.sharing.finish(advance, "texts")
        elif unit.finish:
            job.sharing.finish(advance, STAGES[unit.kind][1])
        else:
            before = len(job.sharing.held)
            job.run(unit.kind, unit.number, advance)
            report = Report.taken(job)
            report.held = len(job.sharing.held) > before
            return report
        return Report.taken(job)

    def taken(self) -> Report:
        """What was done of a unit that was broken off."""
        return Report.taken(self._opened())

    def _opened(self) -> Job:
        """The job; its stores are opened when the leader has mended them and written run.json."""
        if self._job is None:
            prepared = self._prepared
            prepared.folder = open_run(Path(self._order.folder))
            prepared.folder.notices = self._reporter
            if prepared.generator is not None:
                prepared.images = ImageStore(prepared.folder.images, prepared.generator.fingerprint)
            self._job = open_job(prepared, self._observers, self._reporter)
        return self._job


def _settle(order: Order) -> None:
    """Work where the leader works: its folder, its modules and its run folder."""
    with contextlib.suppress(OSError):
        os.chdir(order.cwd)
    sys.path += [item for item in order.path if item not in sys.path]
    end = time.monotonic() + _SEEN
    while order.token and not (Path(order.folder) / order.token).is_file():
        if time.monotonic() > end:
            raise T2IBenchError(
                f"The worker on {socket.gethostname()} does not see {order.folder}.",
                "Give an --output-dir on a file system that all machines share, under one path.",
            )
        time.sleep(0.2)
