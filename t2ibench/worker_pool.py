"""Run work on all cores: in this process, and in new ones if starting them pays off.

New processes are spawned on every system (never forked), and end with the process that started
them. The work must be pure: it may run anywhere, and twice.
"""

from __future__ import annotations

import gc
import importlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from types import ModuleType
from typing import Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

from t2ibench.garbage import frozen_objects
from t2ibench.machine import cores

Item = TypeVar("Item")
T = TypeVar("T")

# Seconds of work in this process before others are started, which takes about as long.
WORTH = 1.0
# Variables from which libraries take their number of threads.
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

# Two runs in threads of one program must not restore what the other has set.
_starting = threading.RLock()


def _renew_lock() -> None:
    """Replace the lock in a process that a program has forked: no thread there would release it."""
    global _starting  # noqa: PLW0603
    _starting = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)

# The work of a process of the pool, by number of an item.
_work: Callable[[int], Any]


def load_average() -> float:
    """Return the system's load average of the last minute; 0 where it is unknown."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def busy_line() -> str | None:
    """Return a message if more processes are running than there are cores; None otherwise."""
    load = round(load_average())
    available = cores()
    if load <= available:
        return None
    plural = "" if available == 1 else "s"
    return f"The machine is busy: load {load} on {available} core{plural}; times will be longer."


def _ignore(item: object, result: object) -> None:
    """Do nothing with an item that is done."""


def each_of(
    items: Sequence[Item],
    work: Callable[[Item], T],
    workers: int | None = None,
    on_done: Callable[[Item, T], object] = _ignore,
    *,
    part_of: Callable[[Item], Callable[[], T]] | None = None,
    at_once: bool = False,
) -> list[T]:
    """Call `work` with every item, several at a time, and return the results in order.

    Items should be in descending order of their duration. Work begins in this process, with the
    last item. After a second, or `at_once`, the remaining items are shared with new processes, and
    all begin with the first. If `work` or an item cannot be pickled, or a process dies (for lack
    of memory, say), this process does the work. An error of `part_of` is raised like one of `work`.

    Args:
        items: What to work on.
        work: A pure function of an item.
        workers: The number of processes; None for one per core.
        on_done: Called in this process with each item and its result.
        part_of: Returns a call that does the same as `work` with an item and holds what that needs
            alone. If given, another process gets this call for each of its items, not `work` and
            all items at once. It may be called in another thread.
        at_once: Whether the work is known to take long, so that other processes start before it.
    """
    results: dict[int, T] = {}
    left = list(range(len(items)))
    several = may_start_processes() and (cores() if workers is None else workers) > 1
    begun = time.process_time()
    seconds_alone = 0.0 if at_once else WORTH
    # scipy has a BLAS of its own, and only what is loaded can be limited.
    importlib.import_module("scipy.linalg")
    # Sums over several threads may differ in their last bits from machine to machine.
    one_thread = computing_libraries().limit(limits=1, user_api="blas")
    with one_thread, frozen_objects():
        while left:
            if (
                several
                and len(left) > 1
                and time.process_time() - begun >= seconds_alone
            ):
                several = False  # If processes fail, this one does the remaining work.
                errors_of_parts: list[Exception] = []
                with suppress(BrokenProcessPool, OSError):
                    for number, result in _in_processes(
                        items, left, work, workers or cores(), part_of, errors_of_parts
                    ):
                        results[number] = result
                        on_done(items[number], result)
                if errors_of_parts:
                    raise errors_of_parts[0]
                left = [number for number in left if number not in results]
                continue
            number = left.pop()
            results[number] = work(items[number])
            on_done(items[number], results[number])
    return [results[number] for number in range(len(items))]


def computing_libraries() -> ThreadpoolController:
    """Return the loaded libraries that compute in several threads, so that these can be limited.

    To find them takes milliseconds, ten times in a small run. A library is loaded with a module, so
    they are looked for again only after an import.
    """
    return _libraries_with(len(sys.modules))


@lru_cache(maxsize=1)
def _libraries_with(n_modules: int) -> ThreadpoolController:
    """Return the libraries that are loaded while so many modules are."""
    return ThreadpoolController()


def may_start_processes() -> bool:
    """Return whether this process may start others; one of a pool of Python's may not."""
    return not multiprocessing.current_process().daemon


def _in_processes(
    items: Sequence[Item],
    numbers: Sequence[int],
    work: Callable[[Item], T],
    workers: int,
    part_of: Callable[[Item], Callable[[], T]] | None,
    errors_of_parts: list[Exception],
) -> Iterator[tuple[int, T]]:
    """Yield the number of each item with its result, as they are done here or elsewhere.

    An error of `part_of` is raised, and is in `errors_of_parts`, which tells it from an error of
    the other processes.
    """
    try:
        everything = None if part_of else (list(items), work)
        order = pickle.dumps(everything)
    except Exception:  # pickle raises many kinds for objects of a plug-in
        return
    processes = min(workers, len(numbers)) - 1
    pool = None if part_of is None else _Pool.started_ahead()
    if pool is None:
        pool = _Pool.of(processes, order)
    shared = _SharedItems(
        pool.executor, processes, items, numbers, part_of, errors_of_parts
    )
    try:
        with new_processes(dict.fromkeys(THREADS, "1")):
            shared.submit()
        for _ in numbers:
            if errors_of_parts:
                raise errors_of_parts[0]
            try:
                # The longest that is left, as elsewhere: short ones at the end keep all cores busy.
                number = shared.waiting.popleft()
            except IndexError:
                number, future = shared.done.get()
                yield number, future.result()
            else:
                yield number, work(items[number])
    except BaseException:
        pool.terminate()
        raise
    finally:
        pool.executor.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Processes that wait for work.

    Attributes:
        executor: Gives them work.
    """

    executor: ProcessPoolExecutor

    @classmethod
    def of(cls, processes: int, order: bytes) -> _Pool:
        """Return a pool of so many processes, each of which starts when there is work for it."""
        context = multiprocessing.get_context("spawn")
        return cls(ProcessPoolExecutor(processes, context, _begin, (order,)))

    @classmethod
    def started_ahead(cls) -> _Pool | None:
        """Return the pool of `processes_ahead`, which belongs to the caller then; None without."""
        global _ahead
        pool, _ahead = _ahead, None
        return pool

    def terminate(self) -> None:
        """End the processes at once, whatever they do."""
        # Not `active_children`: the program around this may have started others meanwhile.
        processes: list[BaseProcess] = list((self.executor._processes or {}).values())
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


# What `processes_ahead` has started and `each_of` has not taken yet.
_ahead: _Pool | None = None


@contextmanager
def processes_ahead(module: str, workers: int | None = None) -> Iterator[None]:
    """Start the processes for an `each_of` inside this context now, so that it need not wait.

    The first `each_of` with `part_of` takes them. They end with this context if none does.

    Args:
        module: What they import meanwhile.
        workers: The number of processes, this one included; None for one per core.
    """
    global _ahead  # noqa: PLW0603
    processes = (cores() if workers is None else workers) - 1
    if processes < 1 or not may_start_processes() or _ahead is not None:
        yield
        return
    pool = _Pool.of(processes, pickle.dumps(None))
    # Without them, `each_of` does the work in this process.
    with (
        suppress(BrokenProcessPool, OSError),
        new_processes(dict.fromkeys(THREADS, "1")),
    ):
        for _ in range(processes):
            pool.executor.submit(_import, module)
    _ahead = pool
    try:
        yield
    finally:
        if _ahead is pool:
            _Pool.started_ahead()
            pool.terminate()


def _import(module: str) -> None:
    importlib.import_module(module)


class _SharedItems(Generic[Item, T]):
    """Items that this process shares with others, each of which works on one at a time.

    Attributes:
        waiting: Numbers of the items that nobody works on yet.
        done: Numbers of the items that another process is done with, each with its outcome.
    """

    def __init__(
        self,
        pool: ProcessPoolExecutor,
        processes: int,
        items: Sequence[Item],
        numbers: Sequence[int],
        part_of: Callable[[Item], Callable[[], T]] | None,
        errors_of_parts: list[Exception],
    ) -> None:
        self.waiting = deque(numbers)
        self.done = SimpleQueue[tuple[int, Future[T]]]()
        self._pool = pool
        self._processes = processes
        self._n_sent = 0  # items that were sent and are not done
        # A future that is done already calls back in the thread that sends.
        self._sending = threading.RLock()
        self._items = items
        self._part_of = part_of
        self._errors_of_parts = errors_of_parts

    def submit(self) -> None:
        """Give waiting items to other processes: one for each, and one for the first that is done.

        A process would wait while its next item is prepared and sent. Of the last items none is
        sent before its time, since this process could not take it then.
        """
        with self._sending, suppress(IndexError):
            for _ in range(self._processes + 1 - self._n_sent):
                is_ahead = self._n_sent >= self._processes
                if self._errors_of_parts or (
                    is_ahead and len(self.waiting) <= self._processes
                ):
                    return
                self._submit_next()

    def _submit_next(self) -> None:
        """Give the first waiting item to another process; raise IndexError if none is waiting."""
        number = self.waiting.popleft()
        if self._part_of is None:
            self._send(number, _run, number)
            return
        try:
            call = self._part_of(self._items[number])
        except Exception as error:
            self._errors_of_parts.append(error)
            failed = Future[T]()
            failed.set_exception(error)
            self.done.put((number, failed))
            return
        try:
            part = pickle.dumps(call)
        except Exception:  # this process does it then
            self.waiting.append(number)
            return
        self._send(number, _run_part, part)

    def _send(self, number: int, run: Callable[..., T], argument: object) -> None:
        future = self._pool.submit(run, argument)
        self._n_sent += 1
        future.add_done_callback(partial(self._finish, number))

    def _finish(self, number: int, future: Future[T]) -> None:
        # RuntimeError: the pool is broken, or shut down.
        with suppress(RuntimeError):
            _raise_if_broken(future)
            with self._sending:
                self._n_sent -= 1
                self.submit()
        self.done.put((number, future))


def _raise_if_broken(future: Future[Any]) -> None:
    """Raise the error of a future whose pool broke; that pool may not be asked for more.

    From Python 3.12.1 on it ends its futures under the lock with which it takes an item, so that
    asking it from a callback would wait forever.
    """
    error = None if future.cancelled() else future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error


@contextmanager
def new_processes(environment: Mapping[str, str]) -> Iterator[None]:
    """Set what processes started inside this context inherit: an environment, and no Ctrl-C.

    They also do not import the user's script, which may have no `if __name__ == "__main__"`. One
    thread at a time is inside.
    """
    with _starting:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        handler = None
        with suppress(ValueError):  # not the main thread
            handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            if handler is not None:
                signal.signal(signal.SIGINT, handler)
            sys.modules["__main__"] = main
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def end_with_parent() -> None:
    """Have this process end as soon as the one that started it does."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _begin(order: bytes) -> None:
    """Prepare a process of the pool, which ignores Ctrl-C and ends with the one that started it."""
    global _work  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # as in the command line
    gc.disable()  # none of the many objects that are read is garbage
    try:
        everything = pickle.loads(order)
    except Exception:  # the process that started this one then does the work
        os._exit(1)
    gc.freeze()
    gc.enable()
    if everything is not None:
        items, work = everything
        _work = lambda number: work(items[number])  # noqa: E731


def _end_with(parent: int) -> None:
    multiprocessing.connection.wait([parent])
    os._exit(1)


def _run(number: int) -> Any:
    return _work(number)


def _run_part(part: bytes) -> Any:
    gc.disable()  # none of the many objects that are read is garbage
    try:
        call = pickle.loads(part)
    finally:
        gc.enable()
    with frozen_objects():
        return call()
