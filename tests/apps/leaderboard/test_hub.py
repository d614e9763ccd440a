"""What goes to the hub."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from t2ibench.apps.leaderboard.hub import metadata, push
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import MethodResult
from tests import hand


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
    (folder / "evidence.db").write_text("")
    hub = Hub()
    with pytest.raises(T2IBenchError, match=r"would be refused: evidence\.db has changed"):
        push(folder, "org/board", hub)
    assert not hub.sent


def test_metadata(tmp_path: Path) -> None:
    images = {"x": [1.0, 1.0, -1.0, 1.0], "y": [1.0, -1.0, 1.0, 1.0]}
    undecided = hand.record(hand.mean_lean(images), inconclusive="its halves disagree")
    results = hand.results(
        one=hand.record(hand.mean_lean(images)), many=hand.record(hand.mean_square(images)),
        undecided=undecided, nothing=hand.record(MethodResult.undefined("there are no images")),
    )  # fmt: skip
    head = results.tasks["one"].headline
    told = head.model_copy(update={"direction": "Science is drawn more like men than arts is."})
    results.tasks["one"] = results.tasks["one"].model_copy(update={"headline": told})
    (tmp_path / "results.json").write_text(results.to_json())
    rows = yaml.safe_load(metadata(tmp_path, "org/t2ibench", "https://example.org/toy"))
    by_task = {row["dataset"]["task_id"]: row for row in rows}
    assert sorted(by_task) == ["many", "one"]
    row = by_task["one"]
    assert row["value"] == pytest.approx(head.value) and row["dataset"]["id"] == "org/t2ibench"
    notes = row["notes"]
    assert notes.startswith("lean from -1 to 1, 0 is balanced; 95 % CI [")
    assert "about these prompts; a fair model: [-" in notes and "; 8 images; Science is" in notes
    square = results.tasks["many"].headline.value
    assert by_task["many"]["value"] == pytest.approx(max(0, square or 0) ** 0.5, abs=1e-4)
    assert "root mean square lean" in by_task["many"]["notes"]
