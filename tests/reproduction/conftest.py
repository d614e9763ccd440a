"""One small run of a paper, for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.cli import main
from t2ibench.reproduction.build import Exhibit

SMALL = ["--model", "toyland", "--limit", "4", "--bootstrap", "200", "--control-encoder", "none"]


def arguments(output: Path, *further: str) -> list[str]:
    """The command line of the run."""
    return ["reproduce", "t2iat", *SMALL, "--scale", ".1", "--output-dir", str(output), *further]


def measured(paper: str, folder: Path, *settings: str) -> Path:
    """A run of a paper's preset on toyland, with few draws.

    Args:
        paper: Its name.
        folder: Where the run goes.
        settings: Further flags.

    Returns:
        The run folder.
    """
    few = ["--bootstrap", "50", "--permutations", "50", "--control-encoder", "none"]
    line = ["reproduce", paper, "--model", "toyland", *few, *settings]
    assert main([*line, "--output-dir", str(folder)]) == 0
    return next(path.parent for path in folder.glob("toyland*/results.json"))


def value(one: Exhibit, row: str, score: str) -> float | str | None:
    """Our number of a line."""
    return next(line.ours for line in one.built.lines if (line.row, line.score) == (row, score))


def write(path: Path, head: str, *lines: str) -> Path:
    """A CSV of people's answers."""
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


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
