"""A small run and its submission, made once; a test that changes something copies it first."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.leaderboard.submission import pack
from t2ibench.pipeline.progress import SilentReporter

# One task for each kind of evidence: images, answers and texts.
TASKS = "occupations_t2iat,openbias_examples,weat_8_science_arts"


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    evaluate("toyland", TASKS, images_per_prompt=3, output_dir=folder)
    return folder / "toyland"


@pytest.fixture(scope="session")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(run, tmp_path_factory.mktemp("submissions"), SilentReporter())
