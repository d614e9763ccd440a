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
from t2ibench.models.generators import create_generator
from t2ibench.models.rewritten_generator import RewriterInfo, rewritten
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.settings import Settings
from t2ibench.store.schema import content_id
from t2ibench.tasks.index import load_tasks
from tests.apps.leaderboard.conftest import board_of
from tests.apps.leaderboard.forging import (
    Rows,
    edit,
    edit_attempts,
    edit_table,
    refusal,
    set_in,
)

TASK = "t2iat_flowers_insects"
FEW: dict[str, Any] = {"images_per_prompt": 2, "encoder": "toyland"}


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


def test_images_are_made_again_from_what_they_were_rewritten_to(rewriting: Path) -> None:
    verdict = verify(rewriting, draw=5)
    assert (verdict.level, verdict.problems) == ("partly reproduced", [])
    assert "rewritings" in verdict.stated and verdict.parts["images"] == 5
    assert "which is not asked again" in verdict.lacking[0]


def relabel(rewriting: Path, **claimed: Any) -> None:
    """Say of images behind a rewriter of one's own that another rewriter made their prompts."""
    results = json.loads((rewriting / "results.json").read_text())
    results.pop("checksum", None)
    model = results["model"]
    model["rewriter"] |= claimed
    info = RewriterInfo.model_validate(model["rewriter"])
    old, new = model["fingerprint"], rewritten(create_generator("toyland"), info).fingerprint
    command = results["command"]
    command[command.index("--rewriter") + 1] = info.name
    text = json.dumps(results).replace(old, new)
    (rewriting / "results.json").write_text(text)
    manifest = (rewriting / "submission.json").read_text()
    (rewriting / "submission.json").write_text(manifest.replace(old, new))
    was, now = (content_id("generator", "", one) for one in (old, new))

    def rename(rows: Rows) -> Rows:
        names = {old: new, was: now}
        return [{key: names.get(value, value) for key, value in row.items()} for row in rows]

    edit_table(rewriting, "models", rename)
    edit_table(rewriting, "attempts", rename)


def test_a_page_shows_a_rewriter_as_stated(rewriting: Path) -> None:
    relabel(rewriting, name="openai:gpt-4o", fingerprint="ab" * 32)
    (entry,) = board_of(rewriting.parent, "partly reproduced").entries
    entry.stated = ["rewritings"]
    checked, stated = provenance(entry)
    assert "rewriter" in dict(stated) and "model" in dict(checked)


def test_the_model_behind_a_rewriter_is_compared(rewriting: Path) -> None:
    relabel(rewriting, generator_name="dall-e-3")
    assert "another model behind its rewriter" in refusal(rewriting, 2)


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
    assert verdict.level == "recomputed" and "rewritings" in verdict.stated
    assert "is said to be of the prompt '" in refusal(submission, 2)


def test_few_invented_revised_prompts_stay_stated(run: Path, tmp_path: Path) -> None:
    """What was not among the images made again is not called verified."""
    submission = invented(run, tmp_path, 1)
    found = [verify(submission, 2, seed) for seed in range(3)]
    missed = [verdict for verdict in found if not verdict.problems]
    assert missed and all("rewritings" in verdict.stated for verdict in missed)
