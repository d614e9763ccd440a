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
from functools import partial
from queue import SimpleQueue
from types import ModuleType
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

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
    last item. After a second, or `at_once`, the remaining items are shared with new processes,
    which begin with the first. If `work` or an item cannot be pickled, or a process dies (for lack
    of memory, say), this process does the work.

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
    with threadpool_limits(1, user_api="blas"), _frozen_objects():
        while left:
            if (
                several
                and len(left) > 1
                and time.process_time() - begun >= seconds_alone
            ):
                several = False  # If processes fail, this one does the remaining work.
                with suppress(BrokenProcessPool, OSError):
                    for number, result in _in_processes(
                        items, left, work, workers or cores(), part_of
                    ):
                        results[number] = result
                        on_done(items[number], result)
                left = [number for number in left if number not in results]
                continue
            number = left.pop()
            results[number] = work(items[number])
            on_done(items[number], results[number])
    return [results[number] for number in range(len(items))]


def may_start_processes() -> bool:
    """Return whether this process may start others; one of a pool of Python's may not."""
    return not multiprocessing.current_process().daemon


def _in_processes(
    items: Sequence[Item],
    numbers: Sequence[int],
    work: Callable[[Item], T],
    workers: int,
    part_of: Callable[[Item], Callable[[], T]] | None,
) -> Iterator[tuple[int, T]]:
    try:
        everything = None if part_of else (list(items), work)
        order = pickle.dumps(everything)
    except Exception:  # pickle raises many kinds for objects of a plug-in
        return
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    processes = min(workers, len(numbers)) - 1
    pool = ProcessPoolExecutor(processes, context, _begin, (order,))
    waiting = deque(numbers)
    done = SimpleQueue[tuple[int, Future[T]]]()

    def submit() -> None:
        number = waiting.popleft()
        if part_of is None:
            future = pool.submit(_run, number)
        else:
            try:
                part = pickle.dumps(part_of(items[number]))
            except Exception:  # this process does it then
                waiting.append(number)
                return
            future = pool.submit(_run_part, part)
        future.add_done_callback(partial(finish, number))

    def finish(number: int, future: Future[T]) -> None:
        # Each process gets one item at a time; others could not take items queued in the pool.
        # IndexError: no item is waiting. RuntimeError: the pool is broken, or shut down.
        with suppress(IndexError, RuntimeError):
            _raise_if_broken(future)
            submit()
        done.put((number, future))

    try:
        with new_processes(dict.fromkeys(THREADS, "1")):
            for _ in range(processes):
                submit()
        for _ in numbers:
            try:
                number = waiting.pop()
            except IndexError:
                number, future = done.get()
                yield number, future.result()
            else:
                yield number, work(items[number])
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _raise_if_broken(future: Future[Any]) -> None:
    """Raise the error of a future whose pool broke; that pool may not be asked for more.

    From Python 3.12.1 on it ends its futures under the lock with which it takes an item, so that
    asking it from a callback would wait forever.
    """
    error = None if future.cancelled() else future.exception()
    if isinstance(error, BrokenProcessPool):
        raise error


@contextmanager
def _frozen_objects() -> Iterator[None]:
    """Have garbage collection pass over the objects that exist already, such as records of images.

    Going through a million of them again and again takes time, and none of them is garbage.
    """
    frozen_by_others = gc.get_freeze_count() > 0
    if frozen_by_others:  # unfreezing would undo what the program around this has done
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


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
    with _frozen_objects():
        return call()
