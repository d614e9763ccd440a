"""What is said while a run goes on."""

from __future__ import annotations

import io
import re
import threading

import pytest
from rich.console import Console

from t2ibench.pipeline import progress
from t2ibench.pipeline.progress import ConsoleReporter


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def lines_of(reporter: ConsoleReporter) -> list[str]:
    file = reporter.console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


def log() -> ConsoleReporter:
    return ConsoleReporter(Console(file=io.StringIO(), width=80))


def test_the_time_left_is_that_of_the_last_seconds(clock: list[float]) -> None:
    reporter = log()
    with reporter.stage("Generating images", 1000, "images") as ticker:
        clock[0] = 100.0  # the model is loaded
        ticker.advance(10)
        for _ in range(40):
            clock[0] += 1
            ticker.advance(10)
    lines = lines_of(reporter)
    assert lines[0] == "Generating images: 10 of 1,000"
    # 10 of 1000 in 100 s would be 9,900 s.
    assert lines[1] == "Generating images: 350 of 1,000, 10.0 images/s, 65 seconds left"


def test_slow_items_have_a_pace_too(clock: list[float]) -> None:
    reporter = log()
    with reporter.stage("Generating images", 10, "images") as ticker:
        for _ in range(4):
            clock[0] += 120
            ticker.advance(1)
    assert lines_of(reporter)[-1].endswith("4 of 10, 0.0 images/s, 12 minutes left")


def test_a_long_run_does_not_fill_its_log(clock: list[float]) -> None:
    reporter = log()
    with reporter.stage("Generating images", 108_000, "images") as ticker:
        for _ in range(108_000):
            clock[0] += 1
            ticker.advance(1)
    assert 100 < len(lines_of(reporter)) < 250


def test_a_bar_fits_a_narrow_terminal_and_says_what_is_left(clock: list[float]) -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    reporter = ConsoleReporter(console)
    with reporter.stage("Generating images", 12168, "images") as ticker:
        for _ in range(5):
            clock[0] += 10
            ticker.advance(100)
    (last,) = [line for line in lines_of(reporter) if "500/12168" in line]
    assert "10.0 images/s, 19 minutes left" in last
    assert len(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", last)) <= 80


def test_silence_is_broken_and_only_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SILENCE", 0.0)
    reporter = log()
    said = threading.Event()
    monkeypatch.setattr(reporter, "say", lambda text: said.set())
    with reporter.stage("Generating images", 5, "images"):
        assert said.wait(10)
    monkeypatch.setattr(progress, "_SILENCE", 60.0)
    reporter = log()
    with reporter.opening("Reading …"):
        timer = reporter._silence
        reporter.warn("first")
        assert timer.finished.is_set()
    assert lines_of(reporter) == ["warning: first"]
