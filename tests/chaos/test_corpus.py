"""What fuzzing finds is kept, and tried first the next time; what hangs is ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from tests.chaos.tries import CORPUS, Hang, Tries, in_time, queued


@pytest.mark.parametrize("error", [ValueError, Hang])
def test_a_failure_is_kept_and_tried_first(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CORPUS, str(tmp_path / "corpus"))
    drawn: list[int] = []

    def check(data: DataObject) -> None:
        number = data.draw(st.integers(0, 10**9))
        drawn.append(number)
        if number > 10**6:
            raise error

    def fails() -> int:
        """The first number that is tried."""
        drawn.clear()
        with pytest.raises((AssertionError, ValueError)):
            Tries(2000, 0).of(check)
        return drawn[0]

    fails()
    assert any(path.is_file() for path in (tmp_path / "corpus").rglob("*"))
    assert fails() > 10**6


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Two processes for each processor, which do nothing but use it."""
    count = 2 * (os.cpu_count() or 1)
    command = [sys.executable, "-S", "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def work_for(seconds: float) -> None:
    """Use the processor for that many of its seconds."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.slow
def test_a_busy_machine_is_no_hang(busy_machine: None) -> None:
    """The work takes longer by the clock than either limit, waiting for its turn."""
    start = time.monotonic()
    with in_time(work=0.4, wait=0.2, look=0.05):
        work_for(0.3)
    assert time.monotonic() - start > 0.4


def test_work_without_an_end_is_a_hang() -> None:
    with (
        pytest.raises(Hang, match="of the processor"),
        in_time(work=0.2, look=0.05),
    ):
        work_for(60.0)


def test_waiting_without_an_end_is_a_hang() -> None:
    with (
        pytest.raises(Hang, match="waited for more"),
        in_time(wait=0.2, look=0.05),
    ):
        time.sleep(60.0)


@pytest.mark.parametrize(
    ("statistics", "seconds"),
    [
        (b"100 2500000000 3\n", 2.5),
        (None, 0.0),
        (b"", 0.0),
        (b"100\n", 0.0),
        (b"running waiting\n", 0.0),
        (b"\xff \xfe\n", 0.0),
    ],
)
def test_statistics_of_the_processor_may_be_missing(
    statistics: bytes | None, seconds: float, tmp_path: Path
) -> None:
    file = tmp_path / "schedstat"
    if statistics is not None:
        file.write_bytes(statistics)
    assert queued(file) == seconds
