"""Results sent to trackers and to the hub, through their own libraries."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

import t2ibench
from t2ibench.reports.destinations.mlflow import Mlflow, MlflowArgs
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


@dataclass
class Tracker:
    """An MLflow server in memory, with the limits of a real one.

    Attributes:
        runs: Run id to what was logged there.
        statuses: Run id to how it ended.
        experiments: Name to id.
        broken: Whether it takes no files.
    """

    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    experiments: dict[str, str] = field(default_factory=dict)
    broken: bool = False

    def get_experiment_by_name(self, name: str) -> SimpleNamespace | None:
        known = self.experiments.get(name)
        return None if known is None else SimpleNamespace(experiment_id=known)

    def create_experiment(self, name: str) -> str:
        assert name not in self.experiments
        self.experiments[name] = str(len(self.experiments))
        return self.experiments[name]

    def create_run(self, experiment_id: str, run_name: str) -> SimpleNamespace:
        assert experiment_id in self.experiments.values()
        run_id = f"run-{len(self.runs)}"
        self.runs[run_id] = {"name": run_name, "params": {}, "metrics": {}, "files": []}
        return SimpleNamespace(info=SimpleNamespace(run_id=run_id))

    def log_batch(self, run_id: str, metrics: Any = (), params: Any = ()) -> None:
        assert len(params) <= 100 and len(metrics) <= 1000
        allowed = re.compile(r"[A-Za-z0-9_\-. :/]+")
        for kind, entries in (("params", params), ("metrics", metrics)):
            for entry in entries:
                assert allowed.fullmatch(entry.key), entry.key
                assert entry.key not in self.runs[run_id][kind]
                self.runs[run_id][kind][entry.key] = entry.value

    def log_table(self, run_id: str, data: Any, artifact_file: str) -> None:
        self.runs[run_id]["table"] = (artifact_file, data)

    def log_artifact(self, run_id: str, path: str) -> None:
        if self.broken:
            raise OSError("disk full")
        self.runs[run_id]["files"].append(Path(path).name)

    def set_terminated(self, run_id: str, status: str) -> None:
        self.statuses[run_id] = status


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Tracker:
    """MLflow's own client replaced, whether or not MLflow is installed."""
    tracker = Tracker()
    package = ModuleType("mlflow")
    package.__spec__ = ModuleSpec("mlflow", None, origin="here")
    entities = ModuleType("mlflow.entities")

    def entry(key: str, value: Any, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(key=key, value=value)

    for module, names in (
        (
            package,
            {
                "MlflowClient": lambda tracking_uri: tracker,
                "get_tracking_uri": lambda: "file:///here",
                "entities": entities,
            },
        ),
        (entities, {"Metric": entry, "Param": entry}),
    ):
        for name, value in names.items():
            setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "mlflow", package)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    return tracker


def test_mlflow_gets_what_wandb_gets(
    shared_run: Path, cli: Cli, tracker: Tracker
) -> None:
    for name in ("first", "second"):
        words = ("--to", "mlflow:bias", "--log-args", f"name={name}")
        status, _, errors = cli("export", shared_run, *words)
        assert status == 0 and "experiment 'bias' in file:///here" in errors, errors
    assert list(tracker.experiments) == ["bias"]
    assert tracker.statuses == {"run-0": "FINISHED", "run-1": "FINISHED"}
    run = tracker.runs["run-0"]
    sent = payload_of(read_results(shared_run), shared_run)
    assert run["name"] == "first" and set(run["files"]) == FILES
    assert run["metrics"] == sent.metrics
    assert run["params"]["model.name"] == "toyland"
    assert run["params"]["measurement.images_per_prompt"] == "3"
    file, table = run["table"]
    assert file == "tests.json" and table["task"] == [row[0] for row in sent.rows]


def test_mlflow_takes_names_that_it_spells_alike_and_half_surrogates(
    tmp_path: Path, tracker: Tracker
) -> None:
    names = ["a/b", "a:b", "a\ud800b", "x" * 1000]
    encoders = {name: f"{place}" * 64 for place, name in enumerate(names)}
    task = hand.task(settings=hand.settings(encoders=encoders), title="a\ud800b")
    sent = payload_of(hand.results("a\ud800b", t=task), tmp_path)
    Mlflow().send(sent, MlflowArgs())
    (run,) = tracker.runs.values()
    read = {key for key in run["params"] if key.startswith("encoders.")}
    assert {"encoders.a-b", "encoders.a-b.2"} < read and len(read) == len(names)
    assert max(map(len, run["params"])) <= 250
    assert json.dumps([run["params"], run["table"]], ensure_ascii=False).encode()


def test_a_run_that_mlflow_cannot_take_is_marked_as_failed(
    shared_run: Path, cli: Cli, tracker: Tracker
) -> None:
    tracker.broken = True
    words = ("--to", "mlflow", "--log-args", "uri=https://here")
    status, _, errors = cli("export", shared_run, *words)
    assert status == 1 and "mlflow: sending the results failed with" in errors
    assert f"t2ibench export {shared_run} --to mlflow --log-args uri=" in errors
    assert tracker.statuses == {"run-0": "FAILED"} and "Traceback" not in errors


def test_without_mlflow_one_line_says_how_to_install_it(
    shared_run: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.errors.find_spec", lambda _: None)
    status, _, errors = cli("export", shared_run, "--to", "mlflow")
    assert status == 1 and "pip install 't2ibench[mlflow]'" in errors
    assert errors.count("\n") == 1


def test_a_store_of_mlflow_holds_the_run(
    shared_run: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = (tmp_path / "mlruns").as_uri()
    words = ("--to", "mlflow:bias", "--log-args", f"uri={uri}")
    status, _, errors = cli("export", shared_run, *words)
    assert status == 0, errors
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("bias")
    (run,) = client.search_runs([experiment.experiment_id])
    sent = payload_of(read_results(shared_run), shared_run)
    assert run.data.metrics == pytest.approx(sent.metrics)
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert files == {*FILES, "tests.json"}
