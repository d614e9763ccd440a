"""Workers as processes of this machine (`--workers N`), each with a GPU or some cores.

torch takes all cores in every process, and two such processes on two cores wait for each other most
of the time.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import sys
import threading
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import Protocol

from t2ibench.errors import T2IBenchError, signal_name
from t2ibench.machine import may_have_gpu
from t2ibench.pipeline.executors.fork_server import (
    ForkServer,
    can_fork,
    leave_terminal,
)
from t2ibench.pipeline.executors.pool import (
    Message,
    WorkerDeath,
    WorkerModels,
    sendable,
)
from t2ibench.pipeline.work_items import WorkItem
from t2ibench.pipeline.worker import WorkerSpec
from t2ibench.worker_pool import (
    THREADS,
    end_with_parent,
    may_start_processes,
    new_processes,
)

# Of each worker, that wait to be read.
_MESSAGES_OF_WORKER = 4


def visible_gpus() -> list[str]:
    """Return the names of the GPUs that this process may use, as in CUDA_VISIBLE_DEVICES."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [
            name for name in map(str.strip, named.split(",")) if name and name != "-1"
        ]
    if sys.platform == "darwin" or not may_have_gpu():
        return []
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


class _Process(Protocol):
    """A worker's process, spawned by this one or forked by a fork server."""

    @property
    def exitcode(self) -> int | None: ...

    def kill(self) -> None: ...

    def join(self) -> None: ...


class Processes:
    """Runs workers as processes of this machine (see `Workers`)."""

    elsewhere = False

    def __init__(
        self,
        spec: WorkerSpec,
        count: int,
        gpus: list[str],
        threads: int,
        *,
        shared_imports: Sequence[str] = (),
    ) -> None:
        """Prepare workers; none is started.

        Args:
            spec: What each is made from.
            count: How many there are.
            gpus: Names of the GPUs that they share.
            threads: The number of threads of each.
            shared_imports: Modules that a fork server imports for all of them, where the system
                has one; without, each worker is spawned.
        """
        if not may_start_processes():
            raise T2IBenchError(
                "A daemonic process, such as one of multiprocessing.Pool, cannot start workers.",
                "Use workers=1, or call from another process.",
            )
        self.count = count
        self._gpus = gpus
        self._threads = threads
        self._work = partial(_main, spec=pickle.dumps(spec))
        may_fork = can_fork() and not gpus
        self._shared_imports = tuple(shared_imports) if may_fork else ()
        self._fork_server: ForkServer | None = None
        # Bounded: where the disk is slow, workers wait, and their images do not pile up here.
        self._heard: queue.Queue[tuple[int, Connection, Message]] = queue.Queue(
            _MESSAGES_OF_WORKER * count
        )
        self._is_closed = False
        self._lines: dict[int, Connection] = {}
        self._processes: dict[int, _Process] = {}

    def start(self, number: int) -> None:
        """Start a worker as a process."""
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        process = self._forked(number, theirs) or self._spawned(number, theirs)
        theirs.close()
        self._lines[number], self._processes[number] = ours, process
        listening = (number, ours, process)
        threading.Thread(target=self._listen, args=listening, daemon=True).start()

    def _forked(self, number: int, line: Connection) -> _Process | None:
        """Return a worker of the fork server; None where there is none, or it has died."""
        if not self._shared_imports:
            return None
        if self._fork_server is None:
            environment = self._environment(number)
            self._fork_server = ForkServer(
                self._shared_imports, self._work, environment
            )
        try:
            return self._fork_server.start(line)
        except OSError:
            return None

    def _spawned(self, number: int, line: Connection) -> _Process:
        """Return a worker that imports everything itself."""
        process = multiprocessing.get_context("spawn").Process(
            target=self._work, args=(line,)
        )
        with new_processes(self._environment(number)):
            process.start()
        return process

    def _environment(self, number: int) -> dict[str, str]:
        # Semaphores of libraries die with a worker that is ended; Python would warn of each.
        quiet = os.environ.get("PYTHONWARNINGS", "ignore")
        variables = {"TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": quiet}
        for name in THREADS:
            # A smaller number is the user's own.
            given = os.environ.get(name, "")
            threads = int(given) if given.isdecimal() and int(given) else self._threads
            variables[name] = str(min(threads, self._threads))
        if self._gpus:
            variables["CUDA_VISIBLE_DEVICES"] = self._gpus[number % len(self._gpus)]
        return variables

    def _listen(self, number: int, line: Connection, process: _Process) -> None:
        """Receive a worker's messages in a thread until the worker ends."""
        while True:
            try:
                message: Message = line.recv()
            except Exception:  # half a message may raise anything when it is read
                break
            self._heard.put((number, line, message))
            if self._is_closed:  # nobody reads the other messages
                return
        process.join()
        self._heard.put((number, line, WorkerDeath(_ending(process.exitcode or 0))))

    def send(self, number: int, item: WorkItem) -> None:
        """Send a work item to a worker."""
        with contextlib.suppress(OSError):  # it has just died, which `wait` reports
            self._lines[number].send(item)

    def wait(self, seconds: float) -> list[tuple[int, Message]]:
        """Return messages from workers, waiting up to `seconds` for the first one."""
        messages = []
        with contextlib.suppress(queue.Empty):
            messages.append(self._heard.get(timeout=seconds))
            while True:
                messages.append(self._heard.get_nowait())
        # A message of a worker that has been restarted since belongs to no current worker.
        return [
            (number, message)
            for number, line, message in messages
            if self._lines[number] is line
        ]

    def end(self, number: int) -> None:
        """Terminate a worker's process, even a suspended one."""
        self._processes[number].kill()

    def stop(self) -> None:
        """Ask all workers to stop after their batch."""
        for line in self._lines.values():
            with contextlib.suppress(OSError):
                line.send(None)

    def close(self) -> None:
        """Terminate all workers."""
        if self._fork_server is not None:
            self._fork_server.close()
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.join()
        # A listener that waits to hand over a message would hold it until the end.
        self._is_closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._heard.get_nowait()


def _ending(status: int) -> str:
    """Return in words how a worker's process ended."""
    if status >= 0:
        return f"ended with status {status} (T2IBENCH_TRACEBACK=1 shows what it said)"
    name = signal_name(-status)
    memory = ", perhaps because memory ran out" if name == "SIGKILL" else ""
    return f"was ended by {name}{memory}"


def _main(line: Connection, spec: bytes) -> None:
    """Work in a subprocess until the main process ends it or disappears."""
    leave_terminal()
    end_with_parent()
    lock = threading.Lock()

    def tell(message: Message) -> None:
        with lock:  # a model that waits for a server says so in a thread of its own
            line.send(message)

    try:
        worker = pickle.loads(spec).worker_elsewhere(tell, line.poll)
        tell(WorkerModels.of(worker))
        while (item := line.recv()) is not None:
            for result in worker.do(item):
                tell(result)
            tell(None)
    except (EOFError, BrokenPipeError):
        pass
    except BaseException as error:  # libraries written in Rust raise kinds of their own
        with contextlib.suppress(OSError):
            tell(sendable(error))
    # Not through the interpreter's own end: threads of libraries may hang in it.
    os._exit(0)
