"""What is recorded of a generator depends neither on workers nor on where a run was resumed."""

from __future__ import annotations

import shutil
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from t2ibench import generate
from t2ibench.pipeline.generator_record import record_generator
from t2ibench.pipeline.merging import merge
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.run import RunFolder, open_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    path = tmp_path_factory.mktemp("runs")
    settings: dict[str, Any] = {"limit": 1, "images_per_prompt": 1}
    generate("toyland", "t2iat_flowers_insects", output_dir=path, **settings)
    return open_run(path / "toyland")


def recorded(folder: RunFolder, *observed: dict[str, Any]) -> dict[str, Any]:
    """The effective settings after these were reported, by one process after the other."""
    generator = folder.record.generator
    assert generator is not None
    fresh = generator.model_copy(update={"effective_settings": {}})
    folder.update(generator=fresh)
    for settings in observed:
        record_generator(folder, settings, {}, True, 1)
    after = open_run(folder.path).record.generator
    assert after is not None
    return after.effective_settings


def test_what_became_of_settings_is_of_all_processes(folder: RunFolder) -> None:
    observed: list[dict[str, Any]] = [
        {"seed": "none", "became": {"size": ["512x512"]}},
        {"seed": "none", "became": {"size": ["256x256"], "quality": ["low"]}},
        {"seed": "none"},
    ]
    expected = {"quality": ["low"], "size": ["256x256", "512x512"]}
    for order in permutations(observed):
        settings = recorded(folder, *order)
        assert settings == {"seed": "none", "became": expected}


def test_a_sampler_that_ever_gave_another_image_stays_recorded(
    folder: RunFolder,
) -> None:
    same = {"equal_seeds": "sde: the same image (tried with two posts)"}
    other = {"equal_seeds": "sde: another image (tried with two posts)"}
    for order in permutations([same, other, {"seed": "one an image"}]):
        assert recorded(folder, *order)["equal_seeds"] == other["equal_seeds"]
    for order in permutations([same, {"seed": "one an image"}]):
        assert recorded(folder, *order)["equal_seeds"] == same["equal_seeds"]


def test_another_setting_is_that_of_the_last_process(folder: RunFolder) -> None:
    assert recorded(folder, {"seed": "one an image"}, {"seed": "none"}) == {
        "seed": "none"
    }


def test_merged_runs_have_what_became_of_settings_in_each(
    folder: RunFolder, tmp_path: Path
) -> None:
    parts = []
    for size in ("512x512", "256x256"):
        recorded(folder, {"became": {"size": [size]}})
        parts.append(tmp_path / size / "toyland")
        shutil.copytree(folder.path, parts[-1])
    merged = merge(parts, tmp_path / "merged", SilentReporter()).record.generator
    assert merged is not None
    assert merged.effective_settings["became"] == {"size": ["256x256", "512x512"]}
