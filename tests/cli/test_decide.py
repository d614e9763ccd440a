"""`plan` and `decide` as commands: what they print, write and end with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from tests import hand
from tests.conftest import Cli
from tests.decisions.made import TASK, images, scenario

pytestmark = pytest.mark.usefixtures("few_words")


def gate(folder: Path, *scenarios: dict[str, object]) -> Path:
    path = folder / "accept.yaml"
    content = {"title": "a gate", "scenarios": list(scenarios or [scenario()])}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def run_of(folder: Path, lean: float) -> Path:
    found = {TASK: hand.mean_lean({"x": images(lean), "y": images(lean)})}
    return hand.write_run(folder, folder.name, found)


@pytest.mark.parametrize(
    ("lean", "status", "word"),
    [(0.0, 0, "passes"), (0.9, 4, "fails"), (0.4, 3, "undecided")],
)
def test_each_outcome_ends_with_its_status(
    tmp_path: Path, cli: Cli, lean: float, status: int, word: str
) -> None:
    run = run_of(tmp_path / "run", lean)
    ended, out, error = cli("decide", run, "--accept", gate(tmp_path))
    assert (ended, error) == (status, "")
    assert word in out.splitlines()[0]


def test_wrong_input_is_one_line(tmp_path: Path, cli: Cli) -> None:
    run = run_of(tmp_path / "run", 0.0)
    accept = gate(tmp_path)
    for words, message in (
        (("decide", run), "decide needs the limits"),
        (("decide", tmp_path / "none", "--accept", accept), "none"),
        (("decide", run, "--accept", tmp_path / "none.yaml"), "none.yaml"),
        (("decide", run, "--accept", accept, "--format", "xml"), "not one of terminal"),
        (("decide", run, "--accept", accept, "--format", "json,html"), "need files"),
        (("decide", run, "--accept", accept, "--format", ","), "names no format"),
        (("decide", run, "--plan", accept), "is not JSON"),
        (("plan",), "plan needs the limits"),
        (("plan", "--accept", accept), f"'{TASK}'"),
    ):
        status, _, error = cli(*words)
        assert status == 1 and message in error and error.count("\n") == 1, error


def test_several_formats_become_files(tmp_path: Path, cli: Cli) -> None:
    run = run_of(tmp_path / "run", 0.9)
    status, out, _ = cli(
        *("decide", run, "--accept", gate(tmp_path)),
        *("--format", "junit,html,json,markdown,terminal"),
        *("--output", tmp_path / "decision"),
    )
    assert status == 4
    for ending in ("xml", "html", "json", "md", "txt"):
        assert str(tmp_path / f"decision.{ending}") in out
        assert (tmp_path / f"decision.{ending}").stat().st_size > 100


def test_two_runs_are_compared_or_decided_one_by_one(tmp_path: Path, cli: Cli) -> None:
    noise = np.random.default_rng(5).random((2, 400))
    for name, share in (("old", 0.55), ("new", 0.9)):
        drawn = np.where(noise < share, 1.0, -1.0)
        found = {TASK: hand.mean_lean({"x": drawn[0], "y": drawn[1]})}
        hand.write_run(tmp_path / name, name, found)
    old, new = tmp_path / "old", tmp_path / "new"
    compared = scenario(
        measurement={"task": TASK, "statistic": "comparison"}, accept=0.1
    )
    accept = gate(tmp_path, compared)
    assert cli("decide", old, new, "--accept", accept)[0] == 4
    assert cli("decide", new, old, "--accept", accept)[0] == 0
    assert cli("decide", new, "--accept", accept)[0] == 3
    assert cli("decide", new, new, "--accept", accept)[0] == 3
    status, _, error = cli("decide", old, new, old, "--accept", accept)
    assert status == 1 and "Give two" in error
    alone = gate(tmp_path)
    status, out, _ = cli("decide", old, new, "--accept", alone, "--format", "json")
    assert status == 4
    assert [entry["outcome"] for entry in json.loads(out)["decisions"]] == [
        "pass",
        "fail",
    ]


def test_a_plan_of_looks_forecasts_the_last(tmp_path: Path, cli: Cli) -> None:
    measurement = {"task": "core_occupations_gender", "statistic": "rows"}
    words = ("plan", "--accept", gate(tmp_path, scenario(measurement=measurement)))
    for sizes in (
        ("--images-per-prompt", "8", "--max-images-per-prompt", "32"),
        ("--times", "0.5", "--max-images-per-prompt", "32"),
    ):
        status, out, _ = cli(*words, *sizes)
        assert status == 0 and "rows of 32 images" in out
    for most, message in (
        ("10", "below the first look, 50 images"),
        ("50001", "begins at 50 images a prompt may have at most 50000"),
        (f"1{400 * '0'}", "is too large"),
    ):
        sizes = ("--images-per-prompt", "50", "--max-images-per-prompt", most)
        status, _, error = cli(*words, *sizes)
        assert status == 1 and message in error and error.count("\n") == 1


def test_a_plan_reads_readers_and_sizes_as_a_run_does(tmp_path: Path, cli: Cli) -> None:
    measurement = {"task": "core_occupations_gender", "statistic": "headline"}
    words = ("plan", "--accept", gate(tmp_path, scenario(measurement=measurement)))
    assert cli(*words, "--judge", "answers:people.csv,by=anna,toyland")[0] == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["judges"] == ["answers:people.csv,by=anna", "toyland"]
    for sizes in (("--images-per-prompt", "2000000"), ("--times", "nan")):
        status, _, error = cli(*words, *sizes)
        assert status == 1 and error.count("\n") == 1, error


def test_a_plan_names_readers_that_exist(tmp_path: Path, cli: Cli) -> None:
    measurement = {"task": "core_occupations_gender", "statistic": "headline"}
    words = ("plan", "--accept", gate(tmp_path, scenario(measurement=measurement)))
    for flag, name, nearest in (
        ("--encoder", "open_clop:ViT-L-14/openai", "open_clip"),
        ("--judge", "toylamd", "toyland"),
    ):
        status, _, error = cli(*words, flag, name)
        assert status == 1 and f"Did you mean '{nearest}" in error, error
    assert not (tmp_path / "plan.json").exists()


def test_a_plan_without_prompts_or_images_is_refused(tmp_path: Path, cli: Cli) -> None:
    for task, more, message in (
        ("openbias_coco", (), "has no prompts before it is given captions"),
        (
            "weat_6_gender_career_family",
            ("--max-images-per-prompt", "10"),
            "there is nothing to look at",
        ),
    ):
        measurement = {"task": task, "statistic": "headline"}
        accept = gate(tmp_path, scenario(measurement=measurement))
        status, _, error = cli("plan", "--accept", accept, *more)
        assert status == 1 and message in error and error.count("\n") == 1, error
        assert not (tmp_path / "plan.json").exists()


def test_a_plan_of_comparisons_alone_promises_nothing(tmp_path: Path, cli: Cli) -> None:
    task = "core_occupations_gender"
    compared = {"task": task, "statistic": "comparison"}
    accept = gate(tmp_path, scenario(measurement=compared))
    status, out, _ = cli("plan", "--accept", accept)
    assert status == 0 and "A fair model passes" not in out


def test_a_plan_is_written_and_kept_to(tmp_path: Path, cli: Cli) -> None:
    task = "core_occupations_gender"
    accept = gate(
        tmp_path, scenario(measurement={"task": task, "statistic": "headline"})
    )
    status, out, error = cli("plan", "--accept", accept)
    assert status == 0, error
    assert (
        "if a fair model passes each of 20 scenarios in 0.9, it passes all of them in 0.12"
        in out
    )
    plan = tmp_path / "plan.json"
    content = json.loads(plan.read_text())
    assert (
        content["sha256"] in out and content["tasks"][task]["images_per_prompt"] == 16
    )
    run = run_of(tmp_path / "run", 0.0)
    hand.edit(
        run / "results.json",
        lambda data: data.update(tasks={task: data["tasks"].pop(TASK)}),
    )
    status, out, _ = cli("decide", run, "--plan", plan)
    assert (
        status == 3
        and "departs from the plan: core_occupations_gender is another" in out
    )
    hand.edit(
        run / "results.json",
        lambda data: data["tasks"][task].update(
            task_hash=content["tasks"][task]["hash"]
        ),
    )
    status, out, _ = cli("decide", run, "--plan", plan)
    assert status == 0, out


def test_a_reference_lies_beside_the_profile(tmp_path: Path, cli: Cli) -> None:
    run = run_of(tmp_path / "run", 0.2)
    folder = tmp_path / "gate"
    folder.mkdir()
    run_of(folder / "reference", 0.9)
    accept = gate(folder, scenario(reference={"run": "reference"}))
    assert cli("decide", run, "--accept", accept)[0] == 4
    shutil.rmtree(folder / "reference")
    status, _, error = cli("decide", run, "--accept", accept)
    assert status == 1 and "no run in 'reference'" in error
