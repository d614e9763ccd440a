"""Submissions whose prompts were rewritten: what is stated of them is not shown as verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.apps.leaderboard.views import provenance
from t2ibench.methods import needs
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tests.apps.leaderboard.conftest import board_of
from tests.apps.leaderboard.forging import (
    Rows,
    edit,
    edit_attempts,
    refusal,
    set_in,
)

TASK = "t2iat_flowers_insects"
FEW: dict[str, Any] = {
    "images_per_prompt": 2,
    "guided_images_per_prompt": 1,
    "encoder": "toyland",
}


def words(file: Path) -> Path:
    """Two rewritings of each prompt."""
    (task,) = load_tasks([TASK], ())
    rows = (
        {
            "prompt": need.prompt,
            "rewritten": [f"{need.prompt} at {when}" for when in ("night", "dawn")],
        }
        for need in needs(task.spec, Settings()).prompts
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run behind a file of rewritings, some of which images draw, and the file."""
    root = tmp_path_factory.mktemp("rewritten")
    file = words(root / "words.jsonl")
    evaluate("toyland", TASK, rewriter=f"file:{file}", output_dir=root / "runs", **FEW)
    (run,) = (root / "runs").iterdir()
    return run


@pytest.fixture(scope="module")
def packed_rewriting(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(made, tmp_path_factory.mktemp("packed"), SilentReporter())


@pytest.fixture
def rewriting(packed_rewriting: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(packed_rewriting, tmp_path / packed_rewriting.name))


def test_rewritings_are_listed_as_stated_by_the_submitter(rewriting: Path) -> None:
    verdict = verify(rewriting, draw=5)
    assert (verdict.level, verdict.problems) == ("recomputed", [])
    assert "rewritings" in verdict.unconfirmed and set(verdict.parts) == {"texts"}
    assert "which is not asked again" in verdict.not_regenerated[0]
    (entry,) = board_of(rewriting.parent, "recomputed").entries
    checked, stated = provenance(entry)
    assert "rewriter" in dict(stated) and not checked


def test_the_command_names_the_rewriter(rewriting: Path) -> None:
    edit(rewriting, "results.json", set_in("model", "rewriter", value=None))
    assert "its command names another rewriter" in refusal(rewriting)


def invented(run: Path, to: Path, most: int | None = None) -> Path:
    """A submission that names revised prompts of images, which nobody revised."""
    copy = Path(shutil.copytree(run, to / "forged"))

    def invent(rows: Rows) -> None:
        for row in rows[:most]:
            row["revised_prompt"] = f"{row['text']}, diverse"

    edit_attempts(copy, invent)
    return pack(copy, to / "submissions", SilentReporter())


def test_an_invented_revised_prompt_is_found_out(run: Path, tmp_path: Path) -> None:
    submission = invented(run, tmp_path)
    verdict = verify(submission)
    assert verdict.level == "recomputed" and "rewritings" in verdict.unconfirmed
    assert "is said to be of the prompt '" in refusal(submission, 2)


def test_few_invented_revised_prompts_stay_stated(run: Path, tmp_path: Path) -> None:
    """What was not among the images made again is not called verified."""
    submission = invented(run, tmp_path, 1)
    verdict = verify(submission, 2, seed=0)
    assert verdict.problems == [] and "rewritings" in verdict.unconfirmed
