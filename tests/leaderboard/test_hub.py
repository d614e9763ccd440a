"""What goes to the hub."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from t2ibench.errors import T2IBenchError
from t2ibench.leaderboard.hub import metadata, push
from t2ibench.results.schema import read_results

SUBMISSIONS = Path(__file__).parents[2] / "leaderboard" / "submissions"
(TOY,) = SUBMISSIONS.glob("toy-????????")


class Hub:
    """Remembers what it was sent."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent: dict[str, Any] = {}
        self.error = error

    def upload_folder(self, **what: Any) -> Any:
        if self.error:
            raise self.error
        self.sent = what
        return SimpleNamespace(pr_url="https://hub/pr/1", commit_url="https://hub/c/1")


def test_a_submission_is_sent_as_a_pull_request(packed: Path) -> None:
    hub = Hub()
    assert push(packed, "org/board", hub) == "https://hub/pr/1"
    assert hub.sent["repo_type"] == "dataset" and hub.sent["create_pr"] is True
    assert hub.sent["path_in_repo"] == f"submissions/{packed.name}"


def test_what_the_hub_declines_is_one_line(packed: Path) -> None:
    with pytest.raises(T2IBenchError, match="The hub declined: 401"):
        push(packed, "org/board", Hub(RuntimeError("401 Unauthorized\nmore")))


def test_a_refused_submission_is_not_sent(packed: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(packed, tmp_path / packed.name))
    (folder / "attempts.jsonl").write_text("")
    hub = Hub()
    with pytest.raises(T2IBenchError, match=r"would be refused: attempts\.jsonl has changed"):
        push(folder, "org/board", hub)
    assert not hub.sent


def test_metadata() -> None:
    rows = yaml.safe_load(metadata(TOY, "org/t2ibench", "https://example.org/toy"))
    results = read_results(TOY)
    by_task = {row["dataset"]["task_id"]: row for row in rows}
    known = [name for name, task in results.tasks.items() if task.headline.value is not None]
    assert sorted(by_task) == sorted(known)
    row = by_task["t2iat_flowers_insects"]
    value = results.tasks["t2iat_flowers_insects"].headline.value
    assert row["value"] == pytest.approx(value, abs=1e-4)
    assert row["dataset"]["id"] == "org/t2ibench" and "95 % CI" in json.dumps(row)
