"""Pure work on all cores: copies of this process, each with one thread."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_NAMES = ("scipy_openblas", "openblas")  # numpy's and scipy's wheels, and a system's library
_ENDINGS = ("64_", "")  # with integers of 64 bits, or of 32
_PR_SET_PDEATHSIG = 1  # prctl: a signal to this process when its parent ends

# What a copy works on: it is there when it is forked, so that nothing has to be sent to it.
_given: dict[str, Callable[[int], Any]] = {}


def cores() -> int:
    """The processor cores that this process may use.

    Returns:
        At least 1; fewer than the machine has where a scheduler or `taskset` says so.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Have numpy's and scipy's OpenBLAS compute in one thread meanwhile.

    Two processes with a thread for each core wait for each other most of the time; and sums over
    several threads may differ in their last bits from machine to machine. Where another library
    computes (Accelerate, MKL), nothing changes.
    """
    before = [(put, get()) for get, put in _openblas()]
    for put, _ in before:
        put(1)
    try:
        yield
    finally:
        for put, count in before:
            put(count)


@cache
def _openblas() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """How each OpenBLAS of this process says and takes its number of threads."""
    import numpy as np
    import scipy.linalg  # loads scipy's own

    assert np.__name__ and scipy.linalg.__name__
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return []
    found = []
    for file in sorted(set(re.findall(r"(/\S*openblas\S*\.so\S*)", maps))):
        with suppress(OSError):
            library = ctypes.CDLL(file)
            for name in (f"{name}_%s_num_threads{end}" for name in _NAMES for end in _ENDINGS):
                if hasattr(library, name % "set"):
                    found.append((getattr(library, name % "get"), getattr(library, name % "set")))
                    break
    return found


def each_of(
    items: Sequence[Any],
    work: Callable[[Any], T],
    workers: int | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> list[T]:
    """Work on every item, several at a time.

    The processes are forked, so they share what is in memory; `work` must be pure. Where forking is
    not safe (macOS, Windows), and where a process dies (of memory, say), items are worked on here.

    Args:
        items: The items; those that take longest should come first.
        work: What is done to each; what it returns is pickled.
        workers: Processes; None for one a core.
        on_done: Called here after each item.

    Returns:
        What `work` returned, in the order of the items.

    Raises:
        Exception: whatever `work` raised first.
    """
    found: dict[int, T] = {}
    workers = min(cores() if workers is None else workers, len(items))
    if workers > 1 and sys.platform == "linux":
        with suppress(BrokenProcessPool, OSError):
            for number, result in _forked(items, work, workers):
                found[number] = result
                on_done()
    with one_thread():
        for number, item in enumerate(items):
            if number not in found:
                found[number] = work(item)
                on_done()
    return [found[number] for number in range(len(items))]


def _forked(
    items: Sequence[Any], work: Callable[[Any], T], workers: int
) -> Iterator[tuple[int, T]]:
    import scipy.stats  # which each copy would load for itself

    assert scipy.stats.__name__
    _openblas()  # looked up once, before the copies are made
    _given["work"] = lambda number: work(items[number])
    context = multiprocessing.get_context("fork")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _begin, (os.getpid(),))
    try:
        with warnings.catch_warnings():
            # The copies run nothing of the threads (a progress bar's, torch's) that are not copied.
            warnings.simplefilter("ignore", DeprecationWarning)
            futures: dict[Future[T], int] = {
                pool.submit(_run, number): number for number in range(len(items))
            }
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        _given.clear()
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """In each copy: the process that was copied decides when to stop.

    Where that is killed, the copies end too. They would wait for work for ever, and hold its memory
    and its output open.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for _, put in _openblas():
        put(1)


def _run(number: int) -> Any:
    return _given["work"](number)
