"""Formats of other people: Every Eval Ever, the hub's model-index, Croissant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from huggingface_hub import ModelCard

from t2ibench.methods.core.estimate import MethodResult
from t2ibench.reports.writers import render
from t2ibench.results import read_results
from t2ibench.results.gates import magnitude
from t2ibench.results.run import RunFolder, open_run
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import load_file, read_library, task_files
from tests import hand
from tests.conftest import Cli

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE / "every_eval_ever" / "eval.schema.json").read_text(encoding="utf-8"))
TASK = "t2iat_science_arts"
IMAGES = {"x": [1.0, 1.0, -1.0, 1.0], "y": [1.0, -1.0, 1.0, 1.0]}


def record(text: str) -> dict[str, Any]:
    """A record that the schema allows, whose scores lie within their bounds."""
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft7Validator(SCHEMA).validate(found)
    assert found["schema_version"] == SCHEMA["version"]
    for row in found["evaluation_results"]:
        config, score = row["metric_config"], row["score_details"]["score"]
        assert config["min_score"] <= score <= config["max_score"]
    return found


def test_a_run_is_a_record_of_every_eval_ever(shared_run: Path, cli: Cli) -> None:
    status, out, _ = cli("report", shared_run, "--format", "every-eval-ever")
    assert status == 0
    found = record(out)
    results = read_results(shared_run)
    rows = {row["evaluation_name"][9:]: row for row in found["evaluation_results"]}
    row = rows[TASK]
    value, low, high = (min(x or 0.0, 1.0) for x in magnitude(results.tasks[TASK].headline))
    interval = row["score_details"]["uncertainty"]["confidence_interval"]
    found_ends = row["score_details"]["score"], interval["lower"], interval["upper"]
    assert found_ends == (value, low, high)
    assert row["metric_config"]["lower_is_better"] is True
    details = row["score_details"]["details"]
    assert float(details["headline"]) == results.tasks[TASK].headline.value
    assert found["model_info"]["name"] == "toyland" and found["eval_library"]["name"] == "t2ibench"
    # Tests of words alone are no result of the model.
    left = json.loads(found["source_metadata"]["additional_details"]["left_out"])
    assert "weat_6_gender_career_family" in left and TASK not in left
    again = record(render("every-eval-ever", results))
    assert again["evaluation_id"] == found["evaluation_id"]


def test_a_record_has_what_is_decided_and_a_stronger_lean_is_a_larger_score() -> None:
    """What sorts by `lower_is_better` must not put a lean of -1 before one of 0."""
    much, none = [-1.0] * 12, [1.0, -1.0] * 6
    results = hand.results(
        much=hand.record(hand.mean_lean({"a": much, "b": much})),
        none=hand.record(hand.mean_lean({"a": none, "b": none})),
        square=hand.record(hand.mean_square(IMAGES)),
        undecided=hand.record(hand.mean_lean(IMAGES), inconclusive="its halves disagree"),
        nothing=hand.record(MethodResult.undefined("there are no images")),
    )
    found = record(render("every-eval-ever", results))
    scores = {r["evaluation_name"][9:]: r["score_details"] for r in found["evaluation_results"]}
    assert set(scores) == {"much", "none", "square"}
    assert scores["none"]["score"] < 0.1 < 0.9 < scores["much"]["score"]
    assert float(scores["much"]["details"]["headline"]) == -1.0
    left = found["source_metadata"]["additional_details"]["left_out"]
    assert json.loads(left) == ["nothing", "undecided"]
    assert "evaluation_timestamp" not in found


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("sdxl", {"id": "stabilityai/stable-diffusion-xl-base-1.0", "developer": "stabilityai"}),
        ("openai:gpt-image-1", {"id": "gpt-image-1", "inference_platform": "openai"}),
        ("toy", {"id": "t2ibench/m", "developer": "t2ibench"}),
        ("./my/pipeline", {"id": "m", "developer": "unknown"}),
    ],
)
def test_the_model_is_named_as_the_hub_does(
    model: str, expected: dict[str, str], shared_run: Path, tmp_path: Path
) -> None:
    folder = hand.write_run(tmp_path / "m", "m", {"one": hand.mean_lean(IMAGES)})
    RunFolder(folder, open_run(shared_run).record).save()
    hand.edit_record(folder, lambda data: data["generator"].update(model=model))
    info = record(render("every-eval-ever", read_results(folder)))["model_info"]
    assert {key: info[key] for key in expected} == expected
    open_weights = "/" in expected["id"]
    assert (info["additional_details"]["model_availability"] == "open_weights") is open_weights


def test_model_index_is_what_the_hub_reads(shared_run: Path, cli: Cli) -> None:
    status, out, _ = cli("report", shared_run, "--format", "model-index")
    assert status == 0
    results = ModelCard(out).data.eval_results or []
    (result,) = (one for one in results if one.dataset_config == TASK)
    head = read_results(shared_run).tasks[TASK].headline
    assert result.metric_value == pytest.approx(head.value, abs=1e-4)
    assert result.task_type == "text-to-image" and "% CI [" in result.metric_name


@pytest.fixture(scope="module")
def taskset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from t2ibench.reports.taskset import write_taskset

    folder = tmp_path_factory.mktemp("tasks") / "set"
    write_taskset(load_tasks("*"), folder)
    return folder


# In a process of its own: absl, which it imports, takes over logging and closes pytest's streams.
_READ = """
import json, sys
import mlcroissant

def text(value):
    if isinstance(value, list):
        return [text(one) for one in value]
    return value.decode() if isinstance(value, bytes) else value

dataset = mlcroissant.Dataset(sys.argv[1])
issues = dataset.metadata.ctx.issues
records = {
    one.id: [
        {key.partition("/")[2]: text(value) for key, value in row.items()}
        for row in dataset.records(one.id)
    ]
    for one in dataset.metadata.record_sets
}
print(json.dumps({"issues": [*issues.errors, *issues.warnings], "records": records}))
"""


@pytest.mark.nightly
def test_croissant_is_valid_and_its_records_are_the_files(taskset: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(taskset / "croissant.json")],
        env={**os.environ, "HOME": str(tmp_path), "PYTHONWARNINGS": "ignore"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["issues"] == []
    assert set(found["records"]) == {"tasks", "prompts", "groups", "stimuli", "questions"}
    for name, rows in found["records"].items():  # mlcroissant has checked the hash of each file
        assert rows == [json.loads(x) for x in (taskset / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_exported_task_files_are_the_tasks_of_a_benchmark_of_the_hub(taskset: Path) -> None:
    tasks = {(task.id, task.hash, task.group) for task in load_tasks("*")}
    root = taskset / "tasks"
    nothing = read_library([])  # word lists are put in
    found = [load_file(path, root, nothing)[0] for path in task_files(root)]
    assert {(task.id, task.hash, task.group) for task in found if task} == tasks
    _, front, _ = (taskset / "README.md").read_text().split("---\n", 2)
    configs = {one["config_name"]: one["data_files"] for one in yaml.safe_load(front)["configs"]}
    listed = yaml.safe_load((taskset / "eval.yaml").read_text())["tasks"]
    assert {one["id"] for one in listed} == {name for name, *_ in tasks}
    for one in listed:
        ((split, path),) = [tuple(file.values()) for file in configs[one["config"]]]
        assert split == one["split"] and (taskset / path).is_file()


def test_export_tasks_from_the_command_line(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    written = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        status, out, _ = cli("export", "--tasks", "weat", "--output", folder)
        assert status == 0 and out.startswith("10 tasks, ")
        written.append({p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.*")})
    assert written[0] == written[1]
    status, _, errors = cli("export", "--tasks", "all", "--output", tmp_path / "one")
    assert status == 1 and "is there already. Name a new folder." in errors
    mine = tmp_path / "mine" / "mine.yaml"  # which has no licence of ours
    mine.parent.mkdir()
    (task,) = load_tasks(TASK)
    mine.write_text(task.path.read_text().replace(f"id: {TASK}", "id: mine"))
    words = ("--tasks", "mine", "--include-path", mine.parent)
    assert cli("export", *words, "--output", tmp_path / "set")[0] == 0
    assert "license" not in json.loads((tmp_path / "set" / "croissant.json").read_text())
