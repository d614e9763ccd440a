"""Work on all cores: the same results from any number of processes, whatever becomes of them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import ClassVar, cast

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from t2ibench import worker_pool
from t2ibench.errors import T2IBenchError
from t2ibench.worker_pool import computing_libraries, cores, each_of

HERE = os.getpid()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started without waiting until that is worth it."""
    monkeypatch.setattr(worker_pool, "WORTH", 0.0)


def who(number: int) -> tuple[int, int, str | None]:
    time.sleep(0.1)
    return number, os.getpid(), os.environ.get("OPENBLAS_NUM_THREADS")


def dies(here: int, number: int) -> int:
    """Zero dies in any process but this one."""
    if number == 0 and os.getpid() != here:
        os._exit(9)
    return number * number


def fails(number: int) -> int:
    if number == 1:
        raise T2IBenchError("one is not two")
    return number


def product(seed: int) -> bytes:
    rows = np.random.default_rng(seed).normal(size=(300, 300))
    return (rows @ rows).sum(axis=0).tobytes()


def test_short_work_starts_no_process() -> None:
    assert {process for _, process, _ in each_of(range(20), who, 4)} == {HERE}


def blas_threads(_: int) -> set[int]:
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in libraries}


def test_work_in_this_process_computes_in_one_thread() -> None:
    """Also where the libraries were found by earlier work, which had found them limited."""
    for several in (2, 3):
        with ThreadpoolController().limit(limits=several, user_api="blas"):
            assert each_of([0], blas_threads) == [{1}]
            assert blas_threads(0) == {several}


def test_libraries_are_looked_for_again_after_an_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = computing_libraries()
    assert computing_libraries() is found
    monkeypatch.setitem(sys.modules, "with_a_library", ModuleType("with_a_library"))
    assert computing_libraries() is not found


@pytest.mark.slow
def test_long_work_is_shared_by_processes_of_one_thread(at_once: None) -> None:
    done: list[int] = []
    found = each_of(range(8), who, 2, lambda item, _: done.append(item))
    assert [number for number, _, _ in found] == list(range(8))
    assert sorted(done) == list(range(8))
    threads = {process: count for _, process, count in found}
    assert len(threads) == 2 and threads.pop(HERE) == os.environ.get(
        "OPENBLAS_NUM_THREADS"
    )
    assert set(threads.values()) == {"1"}


@pytest.mark.slow
def test_processes_compute_the_same_bits(at_once: None) -> None:
    assert each_of(range(40), product, 2) == each_of(range(40), product, 1)


@pytest.mark.slow
def test_a_process_that_dies_costs_nothing(at_once: None) -> None:
    done: list[int] = []
    found = each_of(range(6), partial(dies, HERE), 2, lambda item, _: done.append(item))
    assert found == [0, 1, 4, 9, 16, 25]
    assert sorted(done) == list(range(6))


class BreakingPool:
    """A pool that breaks as Python's does from 3.12.1 on: it calls back under its lock."""

    _processes: ClassVar[dict[int, object]] = {}

    def __init__(self, *_: object) -> None:
        self._lock = threading.Lock()
        self.asked_in_vain = False
        self.may_break, self.has_broken = threading.Event(), threading.Event()

    def submit(self, *_: object) -> Future[object]:
        if self._lock.locked():  # Python's waits forever here
            self.asked_in_vain = True
            raise BrokenProcessPool
        future = Future[object]()
        threading.Thread(target=self._break, args=(future,)).start()
        return future

    def _break(self, future: Future[object]) -> None:
        self.may_break.wait(10)
        with self._lock:
            future.set_exception(BrokenProcessPool())
        self.has_broken.set()

    def shutdown(self, **_: object) -> None:
        pass


def test_a_pool_that_breaks_is_asked_for_nothing(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = BreakingPool()
    monkeypatch.setattr(worker_pool, "ProcessPoolExecutor", lambda *_: pool)

    def work(number: int) -> int:
        pool.may_break.set()
        assert pool.has_broken.wait(10)
        return number * number

    def part_of(number: int) -> Callable[[], int]:
        return partial(int, number)

    assert each_of(range(5), work, 2, part_of=part_of) == [0, 1, 4, 9, 16]
    assert not pool.asked_in_vain


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_while_a_thread_starts_processes_can_start_some() -> None:
    entered, left = threading.Event(), threading.Event()

    def start_processes() -> None:
        with worker_pool.new_processes({}):
            entered.set()
            left.wait(10)

    other = threading.Thread(target=start_processes)
    other.start()
    assert entered.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if worker_pool._starting.acquire(timeout=5) else 1)
    _, status = os.waitpid(child, 0)
    left.set()
    other.join(10)
    assert status == 0


def test_unpicklable_work_runs_in_this_process(at_once: None) -> None:
    assert each_of(range(4), lambda number: -number, 2) == [0, -1, -2, -3]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_one_item_is_raised_here(at_once: None, workers: int) -> None:
    with pytest.raises(T2IBenchError, match="one is not two"):
        each_of([0, 1, 2], fails, workers)
    assert cores() >= 1 and each_of([], fails) == []


def work_and_process(number: int) -> tuple[int, int]:
    time.sleep(0.05)
    return number * number, os.getpid()


@pytest.mark.slow
def test_another_process_gets_the_part_of_its_items_alone(at_once: None) -> None:
    """What is shared cannot be pickled, so it would not arrive there as a whole."""
    shared = [lambda number=number: number for number in range(8)]

    def whole(number: int) -> tuple[int, int]:
        return work_and_process(shared[number]())

    parts: list[int] = []

    def part_of(number: int) -> Callable[[], tuple[int, int]]:
        parts.append(number)
        return partial(work_and_process, number)

    found = each_of(range(8), whole, 2, part_of=part_of)
    assert [square for square, _ in found] == [number * number for number in range(8)]
    elsewhere = [k for k, (_, process) in enumerate(found) if process != HERE]
    assert elsewhere and set(elsewhere) <= set(parts) and len(parts) < 8


class HoldingPool:
    """A pool whose work is done when the test says so."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Future[object]]] = []

    def submit(self, _: object, part: bytes) -> Future[object]:
        self.sent.append((pickle.loads(part)(), Future()))
        return self.sent[-1][1]


def test_a_process_finds_its_next_item_ready_but_for_the_last_ones() -> None:
    pool = HoldingPool()
    shared = worker_pool._SharedItems[int, int](
        cast(ProcessPoolExecutor, pool),
        processes=2,
        items=range(6),
        numbers=range(6),
        part_of=lambda number: partial(int, number),
        errors_of_parts=[],
    )
    shared.submit()
    assert [number for number, _ in pool.sent] == [0, 1, 2]  # one more than processes
    for done, still_waiting in ((1, [4, 5]), (0, [4, 5]), (2, [5]), (3, [])):
        pool.sent[done][1].set_result(None)
        assert list(shared.waiting) == still_waiting
    assert len(pool.sent) == 6


@pytest.mark.slow
def test_an_item_whose_part_cannot_be_sent_is_done_here(at_once: None) -> None:
    def part_of(number: int) -> Callable[[], tuple[int, int]]:
        return lambda: work_and_process(number)

    found = each_of(range(4), work_and_process, 2, part_of=part_of)
    assert found == [(number * number, HERE) for number in range(4)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "number_of_part"),
    [(T2IBenchError, 1), (OSError, 2), (RuntimeError, 2)],
)
def test_an_error_of_a_part_is_raised(
    at_once: None, error: type[Exception], number_of_part: int
) -> None:
    """If a process fails with an error of such a kind, this one does the work instead."""
    asked: list[int] = []
    has_failed = threading.Event()

    def part_of(number: int) -> Callable[[], tuple[int, int]]:
        asked.append(number)
        if len(asked) == number_of_part:
            has_failed.set()
            raise error("the records are gone")
        return partial(work_and_process, number)

    def work_here(number: int) -> tuple[int, int]:
        assert has_failed.wait(timeout=60)
        return work_and_process(number)

    with pytest.raises(error, match="the records are gone"):
        each_of(range(8), work_here, 2, part_of=part_of)
    assert len(asked) == number_of_part


@pytest.mark.slow
def test_processes_started_ahead_do_the_work(at_once: None) -> None:
    done_elsewhere = threading.Event()

    def work_here(number: int) -> tuple[int, int]:
        assert done_elsewhere.wait(timeout=60)
        return work_and_process(number)

    def on_part(number: int) -> Callable[[], tuple[int, int]]:
        if number > 0:  # asked for as soon as the first is done
            done_elsewhere.set()
        return partial(work_and_process, number)

    before = set(multiprocessing.active_children())
    with worker_pool.processes_ahead("json", 2):
        (started,) = set(multiprocessing.active_children()) - before
        found = each_of(range(4), work_here, 2, part_of=on_part)
    assert [square for square, _ in found] == [0, 1, 4, 9]
    assert found[0][1] == started.pid
    assert {process for _, process in found} == {HERE, started.pid}
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.slow
def test_processes_started_ahead_for_nothing_end() -> None:
    before = set(multiprocessing.active_children())
    with suppress(InterruptedError), worker_pool.processes_ahead("json", 2):
        (started,) = set(multiprocessing.active_children()) - before
        other = multiprocessing.get_context("spawn").Process(
            target=time.sleep, args=(600,)
        )
        with worker_pool.new_processes({}):
            other.start()
        raise InterruptedError
    # `join` may return before the pool's own thread, which waits for it, too, has noted its end.
    end = time.monotonic() + 60
    while started.is_alive():
        assert time.monotonic() < end
        time.sleep(0.01)
    # A process that the program around this has started meanwhile goes on.
    assert other.exitcode is None
    other.kill()
    other.join()
    assert other.exitcode == -signal.SIGKILL
    # Nor does a later call take them.
    assert each_of([1, 2], str, 2) == ["1", "2"]


PROGRAM = """
import sys, time
from t2ibench import worker_pool
print("started", flush=True)
worker_pool.WORTH = 0.0
worker_pool.each_of([600, 600, 600], time.sleep, 3)
"""


@pytest.mark.slow
def test_processes_end_with_one_that_is_killed_and_run_no_script(
    tmp_path: Path,
) -> None:
    """The script has no `if __name__ == "__main__"`: it runs once all the same."""
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", script],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    workers = 0
    for line in process.stderr:
        workers += line.rstrip().endswith("multiprocessing.spawn")
        if workers == 3:  # this one and both of its processes
            break
    process.kill()
    said, _ = process.communicate(timeout=60)  # its processes hold the streams open
    assert said == "started\n"


def test_threads_that_start_processes_restore_the_script_of_the_user() -> None:
    """Otherwise a new process would run a script that has no `if __name__ == "__main__"`."""
    main = sys.modules["__main__"]
    entered, left = threading.Event(), threading.Event()

    def start_processes() -> None:
        with worker_pool.new_processes({"T2IBENCH_TEST": "2"}):
            entered.set()
            left.wait(10)

    other = threading.Thread(target=start_processes)
    with worker_pool.new_processes({"T2IBENCH_TEST": "1"}):
        other.start()
        assert not entered.wait(0.1)
        assert os.environ["T2IBENCH_TEST"] == "1"
    assert entered.wait(10)
    assert sys.modules["__main__"] is not main
    left.set()
    other.join(10)
    assert sys.modules["__main__"] is main
    assert "T2IBENCH_TEST" not in os.environ
