"""Runs in processes, of tests of engines and clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.engines import Runs


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    found = Runs(tmp_path / "several")
    yield found
    found.kill()


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What one process gives."""
    one = Runs(tmp_path_factory.mktemp("one"))
    one.end(one.start())
    return one
