"""Pure work on all cores: in this process, and in new ones where that is worth their start.

Processes are started anew on every system (never forked), and end with the one that started them.
"""

from __future__ import annotations

import gc
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

Item = TypeVar("Item")
T = TypeVar("T")

# seconds of work here before processes are started, which costs about as much
WORTH = 1.0
# What libraries take their number of threads from.
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

_work: Callable[[int], Any]  # what a process of the pool was started for


def cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_average() -> float:
    """How many processes wanted a core during the last minute; 0 where the system does not say."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def busy_line() -> str | None:
    """What to say where other processes want more cores than there are; None where they do not."""
    load, available = round(load_average()), cores()
    if load <= available:
        return None
    plural = "" if available == 1 else "s"
    return f"The machine is busy: load {load} on {available} core{plural}; times will be longer."


def each_of(
    items: Sequence[Item],
    work: Callable[[Item], T],
    workers: int | None = None,
    on_done: Callable[[Item, T], object] = lambda item, result: None,
) -> list[T]:
    """Work on every item, several at a time.

    Work begins here, with the quickest items. What is left after a second is shared with processes,
    which begin with the longest.
    Where `work` or an item cannot be pickled, or a process dies (of memory, say), it is done here.
    """
    found: dict[int, T] = {}
    left = list(range(len(items)))
    several = (cores() if workers is None else workers) > 1
    begun = time.process_time()
    # Sums over several threads may differ in their last bits from machine to machine.
    with threadpool_limits(1, user_api="blas"):
        while left:
            if several and len(left) > 1 and time.process_time() - begun >= WORTH:
                several = False  # what they leave is done here
                with suppress(BrokenProcessPool, OSError):
                    for number, result in _in_processes(
                        items, left, work, workers or cores()
                    ):
                        found[number] = result
                        on_done(items[number], result)
                left = [number for number in left if number not in found]
                continue
            number = left.pop()
            found[number] = work(items[number])
            on_done(items[number], found[number])
    return [found[number] for number in range(len(items))]


def _in_processes(
    items: Sequence[Item],
    numbers: Sequence[int],
    work: Callable[[Item], T],
    workers: int,
) -> Iterator[tuple[int, T]]:
    try:
        order = pickle.dumps((list(items), work))
    except Exception:  # a plug-in's own objects; pickle raises many kinds
        return
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    processes = min(workers, len(numbers)) - 1
    pool = ProcessPoolExecutor(processes, context, _begin, (order,))
    waiting, done = deque(numbers), SimpleQueue[tuple[int, Future[T]]]()

    def submit() -> None:
        number = waiting.popleft()
        pool.submit(_run, number).add_done_callback(partial(finish, number))

    def finish(number: int, future: Future[T]) -> None:
        # A process gets its next item now: what a pool holds in advance nobody else can take.
        with suppress(IndexError, RuntimeError):  # nothing waits, or the pool is broken
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


@contextmanager
def new_processes(environment: Mapping[str, str]) -> Iterator[None]:
    """What processes that start meanwhile inherit: an environment, no Ctrl-C, no script to run.

    A new process would import the user's script, which may have no `if __name__ == "__main__"`.
    """
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
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
    """In a new process: end with the one that has started it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _begin(order: bytes) -> None:
    """In each process: whoever started it decides when it ends, and it never outlives that one."""
    global _work  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # as in the command line
    gc.disable()  # of a million objects that come, none is garbage
    try:
        items, work = pickle.loads(order)
    except Exception:  # then it is done where it came from
        os._exit(1)
    gc.freeze()
    gc.enable()
    _work = lambda number: work(items[number])  # noqa: E731


def _end_with(parent: int) -> None:
    multiprocessing.connection.wait([parent])
    os._exit(1)


def _run(number: int) -> Any:
    return _work(number)
