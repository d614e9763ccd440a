"""A worker in a process of its own: units come in on standard input, messages go out on output."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from typing import BinaryIO

from t2ibench.pipeline.executors.messages import Advanced, Failed, Message, Order, Unit

ENDED = 3  # exit status of a worker that was asked to stop


class _Stopped(BaseException):
    """The leader asked this worker to stop."""


class _Line:
    """The connection to the leader."""

    def __init__(self) -> None:
        # What libraries print must not come between messages: standard output becomes error.
        self._out: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._lock = threading.Lock()
        self.units: queue.Queue[Unit | None] = queue.Queue()
        self.stopping = threading.Event()

    def tell(self, message: Message) -> None:
        data = pickle.dumps(message)
        with self._lock:
            self._out.write(data)
            self._out.flush()

    def advance(self, count: int) -> None:
        self.tell(Advanced(count))
        if self.stopping.is_set():
            raise _Stopped

    def listen(self) -> None:
        """Take units in as they come, also in the middle of a batch."""
        while True:
            try:
                unit: Unit | None = pickle.load(sys.stdin.buffer)
            except Exception:  # the leader has died, perhaps in the middle of a message
                os._exit(1)
            if unit is None:
                self.stopping.set()
            self.units.put(unit)


def main() -> None:
    """Work until the leader says or goes."""
    # The terminal sends Ctrl-C to every process, and Slurm SIGTERM; the leader decides on both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    line = _Line()
    try:
        sys.path += pickle.load(sys.stdin.buffer)
        order: Order = pickle.load(sys.stdin.buffer)
        threading.Thread(target=line.listen, daemon=True).start()
        from t2ibench.pipeline.executors.worker import Worker

        worker = Worker(order, line.tell)
        line.tell(worker.ready())
        while (unit := line.units.get()) is not None:
            line.tell(worker.do(unit, line.advance))
    except _Stopped:
        line.tell(worker.taken())
    except BrokenPipeError:
        pass
    except BaseException as error:  # libraries written in Rust raise kinds of their own
        line.tell(Failed.because(error))
    # Not through the interpreter's own end: threads of libraries may hang in it.
    sys.stderr.flush()
    os._exit(ENDED)
