"""A forger who stays within the tolerance of every embedding, and tilts all of them to one side."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard import reembed
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.tolerance import largest_distance
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.stores import Stores, open_stores
from t2ibench.results.run import open_run
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import Attempt, ImageStore
from tests.apps.leaderboard.forging import (
    Rows,
    edit_attempts,
    edit_embeddings,
    record,
    refusal,
    rename_model,
)

TASK = "t2iat_flowers_insects"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tilted")
    evaluate(
        "toyland",
        TASK,
        encoder="toy-clip",
        images_per_prompt=2,
        guided_images_per_prompt=1,
        output_dir=folder,
        control_encoder="none",
    )
    return folder / "toyland"


Change = Callable[[list[str], Any], Any]


def tilt_of(run: Path, angle: float) -> Change:
    """A change that tilts the images of both concepts along the axis of the test, against its lean.

    The axis is the mean of the images of pleasant words less that of unpleasant ones.
    """
    plan, stores, attempts = evidence(run)
    (store,) = stores.encoders.values()
    spec = plan.tasks[0].spec
    sides: dict[bool, list[Any]] = {True: [], False: []}
    signs: dict[str, float] = {}
    for attempt in attempts:
        key = attempt.sha256 or ""
        neutral, _, word = attempt.prompt.rpartition(", ")
        if neutral:
            sides[word in spec.attributes.A.words].append(store.get("images", key))
            continue
        is_x = any(stimulus in word for stimulus in spec.concepts.X.stimuli)
        signs[key] = -1.0 if is_x else 1.0
    axis = np.mean(sides[True], axis=0) - np.mean(sides[False], axis=0)
    axis /= np.linalg.norm(axis)

    def change(keys: list[str], rows: Any) -> Any:
        rows = rows.astype(float)
        across = axis - (rows @ axis)[:, None] * rows
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        sign = np.array([signs.get(key, 0.0) for key in keys])[:, None]
        return np.cos(angle * sign) * rows + np.sin(angle * sign) * across

    return change


def evidence(run: Path) -> tuple[Plan, Stores, list[Attempt]]:
    """The plan, the stores and the images of a run."""
    folder = open_run(run)
    generator = folder.record.generator
    assert generator is not None
    images = ImageStore(folder.database, generator.fingerprint)
    stores = open_stores(folder.database, folder.record.encoders, {})
    stores = replace(stores, images=DistinctImages(images))
    return stored_plan(folder), stores, list(images.all_attempts())


def invent_hashes(run: Path) -> None:
    """Give every image a SHA-256 that no file has, so that none counts as the same file."""
    other = {}

    def rename(rows: Rows) -> None:
        for row in rows:
            if row["sha256"]:
                other[row["sha256"]] = hashlib.sha256(
                    row["sha256"].encode()
                ).hexdigest()
                row["sha256"] = other[row["sha256"]]

    edit_attempts(run, rename)
    database = Database(run)
    for name, fingerprint in database.read(
        "SELECT name, fingerprint FROM models WHERE role = 'encoder'"
    ):
        store = EvidenceStore(database, name, fingerprint)
        keys = store.keys("images")
        if keys:
            rows = store.rows("images", keys).astype(np.float32)
            store.add("images", [other.get(key, key) for key in keys], rows)
    database.close()


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "forged"))


def packed_of(run: Path) -> Path:
    return pack(run, run.parent / "submissions", SilentReporter())


def test_an_honest_submission_says_what_was_made_again(
    run: Path, tmp_path: Path
) -> None:
    verdict = verify(pack(run, tmp_path, SilentReporter()), draw=32)
    assert (verdict.level, verdict.problems) == ("reproduced", [])
    total = verdict.totals["images"]
    assert verdict.regenerated_parts()[0] == f"32 images of {total} (32 byte for byte)"
    assert any("9 % of its images forged" in note for note in verdict.notes)


@pytest.mark.parametrize("cosine", [0.9992, 0.99995, 1 - 3e-6])
def test_a_tilt_beyond_what_processors_do_is_refused(cosine: float, copy: Path) -> None:
    """With invented hashes and without: the forger does not choose the tolerance."""
    if cosine < 0.9999:
        invent_hashes(copy)
    tilt = tilt_of(copy, float(np.arccos(cosine)))
    edit_embeddings(copy, "images", tilt, "toy-clip")
    folder = packed_of(copy)
    assert verify(folder).level == "recomputed"
    assert "does not look to toy-clip as the submission says" in refusal(folder, 32)


def test_a_tilt_within_the_tolerance_of_half_precision_is_refused(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bfloat16 rounding hides a tilt of one embedding, but not that all go to one side."""
    largest = largest_distance("bfloat16")
    monkeypatch.setattr(reembed, "largest_distance", lambda _: largest)
    edit_embeddings(copy, "images", tilt_of(copy, 0.018), "toy-clip")
    said = refusal(packed_of(copy), 32)
    assert "its headline" in said and "those that were sent are tilted" in said


def test_rounding_in_half_precision_is_reproduced(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest = largest_distance("bfloat16")
    monkeypatch.setattr(reembed, "largest_distance", lambda _: largest)
    rng = np.random.default_rng(0)

    def noise(_: list[str], rows: Any) -> Any:
        rows = rows + 0.009 / np.sqrt(rows.shape[1]) * rng.normal(size=rows.shape)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    edit_embeddings(copy, "images", noise, "toy-clip")
    verdict = verify(packed_of(copy), draw=32)
    assert (verdict.level, verdict.problems) == ("reproduced", [])


def test_invented_hashes_are_said(copy: Path) -> None:
    invent_hashes(copy)
    verdict = verify(packed_of(copy), draw=32)
    assert "(0 byte for byte)" in verdict.notes[0]
    assert any("the hashes are invented" in note for note in verdict.notes)


def test_an_encoder_that_is_not_here_leaves_it_recomputed(copy: Path) -> None:
    name = "open_clip:ViT-L-14/openai"
    rename_model(copy, "encoder", name, "a" * 64)
    entry = {name: {"fingerprint": "a" * 64, "embeds_images": True}}
    record(copy, "encoders", value=entry)
    record(copy, "settings", "encoder", value=[name])
    verdict = verify(packed_of(copy), draw=8)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert verdict.parts["images"] == 8
    assert any(
        f"not more than recomputed, because this was not asked again: encoder {name}"
        in note
        for note in verdict.notes
    )
