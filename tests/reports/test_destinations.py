"""Results sent to trackers and to the hub, through their own libraries."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import t2ibench
from t2ibench.reports.destinations.payload import payload_of
from t2ibench.results import read_results
from tests import hand
from tests.conftest import Cli

pytestmark = pytest.mark.slow

TASK = "t2iat_science_arts"
FILES = {"report.html", "results.json", "results.md"}


@dataclass
class Hub:
    """The hub's repositories in memory, 'dataset OWNER/NAME' to path to content."""

    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    pull_requests: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def create_repo(
        self, repo: str, *, repo_type: str, private: bool, exist_ok: bool
    ) -> None:
        assert exist_ok
        self.repos.setdefault(f"{repo_type} {repo}", {})
        self.private[f"{repo_type} {repo}"] = private

    def file_exists(self, repo: str, name: str, *, repo_type: str) -> bool:
        return name in self.repos[f"{repo_type} {repo}"]

    def create_commit(
        self,
        repo: str,
        operations: list[Any],
        *,
        repo_type: str,
        create_pr: bool,
        **_: str,
    ) -> SimpleNamespace:
        files = self.pull_requests if create_pr else self.repos
        for one in operations:
            with one.as_file() as content:
                files.setdefault(f"{repo_type} {repo}", {})[one.path_in_repo] = (
                    content.read()
                )
        return SimpleNamespace(
            pr_url="the/pr" if create_pr else None, commit_url="the/commit"
        )


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub()
    monkeypatch.setattr("huggingface_hub.HfApi", lambda **_: hub)
    return hub


def test_destinations_get_the_numbers_of_the_tables(shared_run: Path) -> None:
    sent = payload_of(read_results(shared_run), shared_run)
    head = sent.results.tasks[TASK].headline
    assert sent.metrics[f"{TASK}/headline"] == head.value
    assert sent.metrics[f"{TASK}/ci_low"] == head.ci_low
    assert sent.metrics[f"{TASK}/p_holm"] == head.p_holm
    assert sent.metrics[f"{TASK}/n_images"] == sent.results.tasks[TASK].n_images
    rows = [dict(zip(sent.columns, row, strict=True)) for row in sent.rows]
    assert [row["task"] for row in rows] == sorted(sent.results.tasks)
    config = sent.config
    assert (
        config["model"]["name"] == "toyland"
        and config["measurement"]["images_per_prompt"] == 3
    )
    assert (
        config["versions"]["t2ibench"] == t2ibench.__version__
        and "toyland" in config["command"]
    )
    assert {path.name for path in sent.files()} == FILES


def test_a_test_that_decides_nothing_is_in_the_table_alone(tmp_path: Path) -> None:
    images = {"x": [1.0, 1.0, -1.0, 1.0], "y": [1.0, -1.0, 1.0, 1.0]}
    square = hand.record(hand.mean_square(images))
    undecided = hand.record(hand.mean_lean(images), inconclusive="its halves disagree")
    sent = payload_of(hand.results(square=square, undecided=undecided), tmp_path)
    assert {name.partition("/")[0] for name in sent.metrics} == {"square"}
    assert sent.metrics["square/headline"] == pytest.approx(
        max(0.0, square.headline.value or 0.0) ** 0.5
    )
    assert [row[0] for row in sent.rows] == ["square", "undecided"]


def test_wandb_keeps_a_run_offline_though_another_destination_fails(
    shared_run: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    args = f"mode=offline,folder={tmp_path},name=a-run"
    to = ("--to", "hf-dataset:a/b,wandb:bias", "--log-args", args)
    status, out, errors = cli("export", shared_run, *to)
    assert (status, out) == (1, ""), errors
    # offline in tests
    assert "hf-dataset:a/b: sending the results failed with" in errors
    import wandb

    wandb.teardown()  # its own process writes what it still holds
    (kept,) = tmp_path.glob("wandb/offline-run-*")
    (log,) = kept.glob("*.wandb")
    assert f"wandb sync {kept}" in errors
    for text in ("a-run", f"{TASK}/headline", *FILES):
        assert text.encode() in log.read_bytes()


def test_results_go_into_a_dataset_of_the_hub(
    shared_run: Path, cli: Cli, hub: Hub
) -> None:
    to = ("export", shared_run, "--to", "hf-dataset:org/results", "--log-args")
    for path in ("first", "second"):
        status, _, errors = cli(*to, f"path={path}")
        assert status == 0 and "the/commit" in errors, errors
    files = hub.repos["dataset org/results"]
    names = (*FILES, "headlines.jsonl")
    both = {f"{path}/{name}" for path in ("first", "second") for name in names}
    assert set(files) == {"README.md", *both}
    assert files["first/results.json"] == (shared_run / "results.json").read_bytes()
    _, front, _ = files["README.md"].decode().split("---\n", 2)
    assert yaml.safe_load(front)["configs"][0]["data_files"] == "*/headlines.jsonl"
    rows = [json.loads(line) for line in files["first/headlines.jsonl"].splitlines()]
    head = read_results(shared_run).tasks[TASK].headline
    assert {row["task"]: row["value"] for row in rows}[TASK] == head.value
    assert {row["model"] for row in rows} == {"toyland"} and hub.private[
        "dataset org/results"
    ]
    status, _, errors = cli(*to, "samples=true,pr=true,private=false")
    assert status == 0 and "the/pr" in errors and not hub.private["dataset org/results"]
    assert f"toyland/samples/{TASK}.jsonl" in hub.pull_requests["dataset org/results"]


def test_a_failing_destination_is_one_line_and_the_run_is_kept(
    cli: Cli, tmp_path: Path
) -> None:
    words = (
        *(
            "--model",
            "toyland",
            "--tasks",
            TASK,
            "--limit",
            "2",
            "--images-per-prompt",
            "1",
        ),
        *("--permutations", "100", "--bootstrap", "50", "--control-encoder", "none"),
        *(
            "--output-dir",
            tmp_path,
            "--log-to",
            "hf-dataset:a/b",
            "--log-args",
            "path=c",
        ),
    )
    status, _, errors = cli(*words)
    assert status == 0 and (tmp_path / "toyland" / "results.json").is_file()
    last = errors.splitlines()[-1]
    assert last.startswith("warning: hf-dataset:a/b: sending the results failed with")
    assert (
        f"t2ibench export {tmp_path / 'toyland'} --to hf-dataset:a/b --log-args path=c"
        in last
    )
    assert "--log-to" not in (tmp_path / "toyland" / "results.json").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--log-to", "wnadb"), "Unknown destination 'wnadb'. Did you mean 'wandb'?"),
        (("--log-to", "wandb", "--log-args", "projct=a"), "Did you mean 'project'?"),
        (
            ("--log-to", "wandb:a", "--log-args", "project=b"),
            "names the project, and so does",
        ),
        (("--log-to", "wandb", "--log-args", "mode=on"), "expected online or offline"),
        (("--log-to", "hf-dataset:name"), "Write OWNER/NAME"),
        (
            ("--log-to", "hf-dataset:a/b", "--log-args", "path=../c"),
            "no folder of a repository",
        ),
        (
            ("--log-to", "wandb", "--log-args", "entity=http://me:secret@h"),
            "arguments are stored",
        ),
        (("--log-args", "project=a"), "--log-args needs --log-to"),
        (("--log-to", "wandb", "--generate-only"), "leave --generate-only out"),
    ],
)
def test_invalid_destinations_are_refused_before_anything_is_generated(
    words: tuple[str, ...], message: str, cli: Cli, tmp_path: Path
) -> None:
    status, _, errors = cli(
        "--model", "toyland", "--tasks", TASK, "--output-dir", tmp_path / "runs", *words
    )
    assert status == 1 and message in errors and errors.count("\n") == 1, errors
    assert "secret" not in errors and not (tmp_path / "runs").exists()
