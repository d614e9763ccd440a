"""The command line as a person meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from t2ibench.pipeline.plan import make_plan
from t2ibench.settings import Settings
from t2ibench.tasks import load_tasks
from tests.conftest import Cli


def test_every_problem_of_every_file_is_printed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("id: a\nid: b\n")
    (tmp_path / "b.yaml").write_text("id: a\ntags: [\n")
    status, out, err = cli("validate", tmp_path)
    assert status == 1 and "2 task files" in err
    assert "a.yaml:2: duplicate key 'id'" in out
    assert "b.yaml:" in out and "malformed YAML" in out
    status, _, err = cli(
        "--model", "toyland", "--tasks", "a", "--include-path", tmp_path
    )
    assert status == 1 and "a.yaml:2" in err and err.endswith("\n2 problems found.\n")


def test_ls(cli: Cli) -> None:
    rows = json.loads(cli("ls", "--json")[1])
    methods = {row["task"]: row["method"] for row in rows}
    assert len(methods) == len(rows) >= 25
    assert methods["weat_1_flowers_insects"] == "weat"
    assert "t2iat_straight_gay" in cli("ls", "tasks")[1]
    groups = {
        row["group"]: row["tasks"]
        for row in json.loads(cli("ls", "groups", "--json")[1])
    }
    assert (
        len(groups["t2iat"]) == 8
        and len(groups["weat"]) == 10
        and len(groups["mcas"]) == 5
    )
    for kind, name in (("models", "toyland"), ("encoders", "open_clip:")):
        assert name in cli("ls", kind)[1]


def test_dry_run_draws_nothing(cli: Cli, tmp_path: Path) -> None:
    tasks = "t2iat_flowers_insects,occupations_t2iat"
    words = (
        "--model",
        "toyland",
        "--tasks",
        tasks,
        "--output-dir",
        tmp_path,
        "--dry-run",
    )
    status, out, _ = cli(*words)
    assert status == 0 and not list(tmp_path.iterdir())
    assert "A photo of a female chef" not in out and len(out.splitlines()) < 50
    images = len(make_plan(load_tasks(tasks), Settings()).requests)
    said = (
        f"{images:,} images, of which 0 are stored and {images:,} have to be generated"
    )
    assert images > 1000 and said in " ".join(out.split())
    assert "A photo of a female chef" in cli(*words, "--verbose")[1]


@pytest.mark.slow
def test_a_plan_of_any_size_is_a_screen_with_its_totals_last(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    flags = ("--model", "sdxl", "--dry-run")
    for tasks in ("all", "extended"):
        status, out, _ = cli(*flags, "--tasks", tasks)
        lines = out.splitlines()
        assert status == 0 and len(lines) <= 50 and max(map(len, lines)) <= 80
        assert "All tasks together" in "".join(lines[-14:])
        assert "1,213 images fit into 2 hours: --tasks " in " ".join(out.split())
    # What it proposes does fit: the same command with it takes less than two hours.
    out = " ".join(cli(*flags, "--tasks", "core")[1].split())
    smaller, hours = re.search(
        r"fit into 2 hours: (--times [\d.]+) \((.*?)\)", out
    ).groups()
    again = " ".join(cli(*flags, "--tasks", "core", *smaller.split())[1].split())
    assert f"Time: about {hours}" in again and "fit into" not in again


def test_dry_run_estimates_time_from_a_published_speed(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    flags = (
        "--tasks",
        "t2iat_judaism_christianity",
        "--output-dir",
        tmp_path,
        "--dry-run",
    )
    status, out, _ = cli("--model", "sdxl", "--model-args", "steps=25", *flags)
    time = "Time: about 15 minutes, at 3.0 seconds an image of 25 steps, published for one A100"
    assert status == 0 and time in " ".join(out.split())
    status, out, _ = cli("--model", "sd3-medium", *flags)
    unknown = "Time: unknown, because no run of this model has measured it."
    assert status == 0 and unknown in " ".join(out.split())


def test_the_stored_command_repeats_a_run(cli: Cli, tmp_path: Path) -> None:
    flags = (
        "--tasks",
        "occupations_t2iat",
        "--limit",
        "1",
        "--output-dir",
        tmp_path / "runs",
    )
    flags += ("--images-per-prompt", "1", "--permutations", "99", "--bootstrap", "50")
    flags += ("--model-args", "nurse.gender.female=0.5")
    status, out, err = cli("--model", "toyland", *flags)
    assert status == 0, err
    assert "made with --limit" in out.lower()
    command = json.loads(next((tmp_path / "runs").glob("*/results.json")).read_text())[
        "command"
    ]
    assert command[:4] == ["t2ibench", "run", "--model", "toyland"]
    assert "nurse.gender.female=0.5" in command
    status, again, err = cli(*command[1:], "--output-dir", tmp_path / "runs")
    assert status == 0 and again == out and "Nothing to do" in err


def test_a_config_file(cli: Cli, tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        "model: toyland\ntasks: [occupations_t2iat]\nmodel_args: {nurse.gender.female: 0.5}\n"
        f"output-dir: {tmp_path / 'runs'}\nlimit: 1\npermutations: 98\n"
    )
    sizes = ("--images-per-prompt", "1", "--permutations", "99", "--bootstrap", "50")
    status, _, err = cli("--config", config, *sizes)
    assert status == 0, err
    command = json.loads(next((tmp_path / "runs").glob("*/results.json")).read_text())[
        "command"
    ]
    assert {"nurse.gender.female=0.5", "99"} < set(
        command
    ) and "--config" not in command
    for text, message in (
        ("modle: toyland", "run.yaml: unknown setting 'modle'. Did you mean 'model'?"),
        ("limit: 0", "run.yaml: limit: expected"),
        ("- a", "expected a mapping"),
        ("a: 1\na: 2", "run.yaml:2"),
    ):
        config.write_text(text)
        status, _, err = cli("--config", config)
        assert status == 1 and message in err, err


def test_a_missing_device_is_reported_before_a_run(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers may have it, so that a plan is made all the same."""
    import torch

    words = (
        "--model",
        "toyland",
        "--tasks",
        "t2iat_science_arts",
        "--output-dir",
        tmp_path,
    )
    for count, device, said in (
        (0, "cuda:99", "Device: --device cuda:99: this machine has no cuda device"),
        (2, "cuda:99", "this machine has no cuda:99; it has 2, from cuda:0"),
        (2, "cuda:1", ""),
    ):
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        status, out, _ = cli(*words, "--device", device, "--dry-run")
        assert status == 0 and said in out and ("Device:" in out) == bool(said)
    status, _, error = cli(
        "--model", "toy", *words[2:], "--device", "cuda:2", "--limit", "1"
    )
    assert status == 1 and "this machine has no cuda:2" in error
