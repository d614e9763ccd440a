"""A run that is sent, written and read in other tools' formats."""

from __future__ import annotations

from pathlib import Path

import pytest

import t2ibench


@pytest.fixture(scope="session")
def toyland_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of toyland, with a test of images and one of words."""
    results = t2ibench.evaluate(
        "toyland", ["t2iat_flowers_insects", "weat_6_gender_career_family"], limit=4,
        images_per_prompt=2, n_permutations=200, n_bootstrap=100, control_encoder="none",
        output_dir=tmp_path_factory.mktemp("runs"),
    )  # fmt: skip
    assert results.folder is not None
    return results.folder
