"""The seed of nightly attempts: chosen once for all processes of pytest, and said at the end."""

from __future__ import annotations

import os
import secrets

import pytest

from tests.chaos.tries import SEED

os.environ.setdefault(SEED, str(secrets.randbits(32)))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say the seed, so that a failure can be repeated."""
    if "nightly" in config.option.markexpr:
        terminalreporter.write_line(f"{SEED}={os.environ[SEED]} repeats these attempts")
