"""Odd variables of the environment: a command prints what it has to say, and ends as it should."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests import hand
from tests.conftest import Cli

ODD = [
    ("COLUMNS", "1"),
    ("COLUMNS", "5"),
    ("COLUMNS", "100000000"),
    ("COLUMNS", "-3"),
    ("COLUMNS", "wide"),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("TZ", "Nowhere/Odd"),
    ("TZ", "XXX99"),
    ("HOME", "/dev/null"),
    ("TMPDIR", "/nowhere"),
]

COMMANDS = [("ls", "runs"), ("compare",), ("compare", "--format", "csv")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    leans = {"t2iat_one": hand.mean_lean({"ä nurse": np.repeat([1.0, -1.0], [30, 10])})}
    return hand.write_run(folder / "a", "ä", leans), hand.write_run(
        folder / "b", "日本", leans
    )


@pytest.fixture
def time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the time zone of this process, which is read from the environment once."""
    yield
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.mark.parametrize(("name", "value"), ODD)
@pytest.mark.usefixtures("time_zone")
def test_a_command_works_under_odd_variables(
    name: str,
    value: str,
    runs: tuple[Path, Path],
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = {command: cli(*command, *runs) for command in COMMANDS}
    monkeypatch.setenv(name, value)
    if name == "TZ" and hasattr(time, "tzset"):
        time.tzset()
    for command, printed in expected.items():
        found = cli(*command, *runs)
        assert found[0] == 0 and found[2] == ""
        # Only a table that is printed for a terminal may depend on its width.
        assert name == "COLUMNS" or found == printed
