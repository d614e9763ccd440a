"""One small run of a paper, for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.cli import main

SMALL = ["--model", "toyland", "--limit", "4", "--bootstrap", "200", "--control-encoder", "none"]


def arguments(output: Path, *further: str) -> list[str]:
    """The command line of the run."""
    return ["reproduce", "t2iat", *SMALL, "--scale", ".1", "--output-dir", str(output), *further]


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of runs, with one in it."""
    folder = tmp_path_factory.mktemp("reproduced")
    assert main(arguments(folder)) == 0
    return folder


@pytest.fixture(scope="session")
def run(output: Path) -> Path:
    """The run folder."""
    return output / "toyland"
