"""Fixtures shared by all rooms."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.system import chromium

# Other work on the machine makes an example slow; that is no failure.
settings.register_profile("t2ibench", deadline=None)
settings.load_profile("t2ibench")

# Nothing may reach for a network at run time.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
# The tests' models are tiny: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test in Chromium; leave out nightly ones unless -m names them."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
            if "smoke" not in item.keywords:
                item.add_marker("nightly")
    # In `addopts`, the -m of any command line would replace it, and they would run.
    if "nightly" not in config.option.markexpr:
        left_out = [item for item in items if "nightly" in item.keywords]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped, in a line a reason."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} skipped: {reason}")


# Of a module: while it runs, no other test of the process may start a loop of asyncio.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A running Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture(autouse=True)
def not_hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine: what a command says only because it is slow is not said."""
    monkeypatch.setattr("t2ibench.pipeline.progress._SILENCE", 3600.0)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in this process: (exit status, standard output, standard error)."""
    from t2ibench.cli import main

    def call(*argv: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main([str(word) for word in argv])
        except SystemExit as stop:
            status = int(stop.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call
