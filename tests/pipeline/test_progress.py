"""What is said while a run goes on."""

from __future__ import annotations

import io
import re
import threading
from typing import Any

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


def lines_of(reporter: Any) -> list[str]:
    return reporter.console.file.getvalue().splitlines()


def log(**how: Any) -> ConsoleReporter:
    return ConsoleReporter(Console(file=io.StringIO(), width=80, **how))


def advanced(
    clock: list[float], total: int, *steps: tuple[float, int], **how: Any
) -> list[str]:
    """What is said of steps of so many seconds and images."""
    reporter = log(**how)
    with reporter.stage("Generating images", total, "images") as ticker:
        for seconds, count in steps:
            clock[0] += seconds
            ticker.advance(count)
    return lines_of(reporter)


def test_the_time_left_is_that_of_the_last_seconds(clock: list[float]) -> None:
    # first, the model is loaded
    lines = advanced(clock, 1000, (100, 10), *[(1, 10)] * 40)
    assert lines[0] == "Generating images: 10 of 1,000"
    # 10 of 1000 in 100 s would be 9,900 s.
    assert lines[1] == "Generating images: 350 of 1,000, 10.0 images/s, 65 seconds left"

    slow = advanced(clock, 10, *[(120, 1)] * 4)  # that has a pace, too
    assert slow[-1].endswith("4 of 10, 0.0 images/s, 12 minutes left")
    assert 100 < len(advanced(clock, 108_000, *[(10, 10)] * 10_800)) < 250


def test_a_bar_fits_a_narrow_terminal_and_says_what_is_left(clock: list[float]) -> None:
    lines = advanced(
        clock, 12168, *[(10, 100)] * 5, force_terminal=True, color_system=None
    )
    (last,) = [line for line in lines if "500/12168" in line]
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
