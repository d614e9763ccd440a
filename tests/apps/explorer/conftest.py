"""An explorer over a copy of the shared run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from t2ibench.apps.explorer.collection import Collection
from tests.apps.explorer.api import Client, explore, opened
from tests.conftest import copied


@pytest.fixture(scope="module")
def run(shared_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(shared_run, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def collection(run: Path) -> Collection:
    return opened(run, encoder=None)


@pytest.fixture
def client(collection: Collection, tmp_path: Path) -> Iterator[Client]:
    with explore(collection, tmp_path / "session.json") as found:
        yield found
