"""A process that imports what workers need once, and makes each worker by forking.

Importing diffusers takes about seven seconds of a core, and longer where sixteen workers do it at
once. When the fork server forks, it has loaded no model, started no thread and used no GPU: a
worker begins with its modules alone. The server ends, with all its workers, when the process that
leads the run asks for it or ends, whatever they do at that moment.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NamedTuple

from t2ibench.garbage import uncollected
from t2ibench.worker_pool import new_processes

# What a worker does, given its line to the leader.
Work = Callable[[Connection], None]
_PATIENCE = 5.0  # seconds that a server has to end its workers
_REMINDED = 1.0  # seconds of silence after which a server may have been suspended
_PR_SET_PDEATHSIG = 1  # of Linux' prctl


def can_fork() -> bool:
    """Return whether processes of this system may be forked; macOS' own libraries forbid it."""
    return sys.platform == "linux" and hasattr(os, "fork")


class ForkServer:
    """The leader's side of a fork server, whose workers have all imported the same modules."""

    def __init__(
        self, modules: Sequence[str], work: Work, environment: Mapping[str, str]
    ) -> None:
        """Start the server, which imports the modules while this process goes on.

        Args:
            modules: What to import, before the first worker.
            work: What each worker does; picklable.
            environment: Variables that the server and its workers have besides this process's own.
        """
        context = multiprocessing.get_context("spawn")
        self._orders, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, modules, work))
        with new_processes(environment):
            self._process.start()
        theirs.close()
        self._workers: list[ForkedWorker] = []
        self._has_imported = False
        threading.Thread(target=self._listen, daemon=True).start()

    def start(self, line: Connection) -> ForkedWorker:
        """Order a worker that works on a line of its own.

        Raises:
            OSError: the server has died.
        """
        worker = ForkedWorker(self, len(self._workers))
        self._workers.append(worker)
        self.order(_Order("start", worker.number))
        send_handle(self._orders, line.fileno(), self._process.pid)
        return worker

    def order(self, order: _Order) -> None:
        """Send an order to the server."""
        self._orders.send(order)

    def close(self) -> None:
        """End the server with all its workers."""
        with suppress(OSError):  # it has died
            self.order(_Order("end"))
        if self._has_imported:  # before, it has no workers to end and reads no order
            self._process.join(_PATIENCE)
        self._process.kill()
        self._process.join()

    def _listen(self) -> None:
        """Note in a thread how each worker ended, until the server itself ends."""
        with suppress(EOFError, OSError):
            self._next_message()
            self._has_imported = True
            while True:
                number, exitcode = self._next_message()
                self._workers[number].note_end(exitcode)
        self._process.join()
        for worker in self._workers:
            worker.note_end(self._process.exitcode or 0)

    def _next_message(self) -> Any:
        """Return what the server says next; have it go on if somebody has suspended it."""
        while not self._orders.poll(_REMINDED):
            if self._process.is_alive() and self._process.pid is not None:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(self._process.pid, signal.SIGCONT)
        return self._orders.recv()


class ForkedWorker:
    """A worker of a fork server, with the members of a process that the leader uses."""

    def __init__(self, server: ForkServer, number: int) -> None:
        self.number = number
        self.exitcode: int | None = None
        self._server = server
        self._has_ended = threading.Event()

    def kill(self) -> None:
        """End the worker, even a suspended one."""
        with suppress(OSError):  # the server has died, and its workers with it
            self._server.order(_Order("kill", self.number))

    def join(self) -> None:
        """Wait for the worker's end."""
        self._has_ended.wait()

    def note_end(self, exitcode: int) -> None:
        """Record how the worker ended; the first record counts."""
        if not self._has_ended.is_set():
            self.exitcode = exitcode
            self._has_ended.set()


class _Order(NamedTuple):
    """What the leader wants of its fork server: 'start' or 'kill' a worker, or 'end'.

    After 'start' comes the worker's line.
    """

    what: str
    number: int = 0


def leave_terminal() -> None:
    """Have a process that works for a run ignore signals of the terminal, and write nothing to it.

    T2IBENCH_TRACEBACK=1 shows what it writes.
    """
    # The terminal sends Ctrl-C to every process, and Slurm SIGTERM; the leader decides on both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not os.environ.get("T2IBENCH_TRACEBACK"):
        file = os.open(os.devnull, os.O_WRONLY)
        os.dup2(file, sys.stdout.fileno())
        os.dup2(file, sys.stderr.fileno())


def killed_with_parent() -> None:
    """Have the system kill this process when the one that started it ends.

    Linux takes the end of the thread that started it for that: a run starts and ends its workers in
    one thread. A thread here that waits for the end would not do: processes that are forked later
    should start from one thread alone, and a suspended process runs none. Where the system refuses
    (in a sandbox, say), this process notices the end when it next hears nothing from the other.
    """
    with suppress(Exception):  # ctypes finds no C library, or not this function
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    parent = multiprocessing.parent_process()
    if parent is not None and os.getppid() != parent.pid:  # it ended before
        os._exit(1)


def _serve(orders: Connection, modules: Sequence[str], work: Work) -> None:
    """Follow the leader's orders until it closes their line or disappears."""
    killed_with_parent()
    leave_terminal()
    with uncollected():
        for module in modules:
            with suppress(Exception):  # the worker that needs it says what is wrong
                importlib.import_module(module)
    gc.freeze()  # or workers would copy the memory of every object to see whether it is in use
    workers: dict[int, BaseProcess] = {}
    # The leader is gone, or was interrupted between an order and the line that belongs to it.
    with suppress(Exception):
        orders.send("imported")
        while _obeys(orders, workers, work):
            for number, worker in list(workers.items()):
                if worker.exitcode is not None:
                    del workers[number]
                    orders.send((number, worker.exitcode))
    for worker in workers.values():
        worker.kill()
    for worker in workers.values():
        worker.join()
    os._exit(0)


def _obeys(orders: Connection, workers: dict[int, BaseProcess], work: Work) -> bool:
    """Wait for an order or a worker's end, and do what is ordered; return False for 'end'."""
    ends = [worker.sentinel for worker in workers.values()]
    if orders not in wait([orders, *ends]):
        return True
    order: _Order = orders.recv()
    if order.what == "start":
        line = Connection(recv_handle(orders))
        worker = _forked(orders, line, work)
        line.close()  # or its end would not be seen while this process lives
        if worker is None:
            orders.send((order.number, 1))
        else:
            workers[order.number] = worker
    elif order.what == "kill" and order.number in workers:
        workers[order.number].kill()
    return order.what != "end"


def _forked(orders: Connection, line: Connection, work: Work) -> BaseProcess | None:
    """Return a new worker; None where the system has no room for another process."""
    worker = multiprocessing.get_context("fork").Process(
        target=_work, args=(orders, line, work)
    )
    try:
        worker.start()
    except OSError:
        return None
    return worker


def _work(orders: Connection, line: Connection, work: Work) -> None:
    """Begin as a worker that was forked a moment ago."""
    killed_with_parent()
    orders.close()
    numpy = sys.modules.get("numpy")
    if numpy is not None:  # what is drawn without a seed differs between workers
        numpy.random.seed()
    work(line)
