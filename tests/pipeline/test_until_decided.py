"""`run --until-decided`: looks are fixed before the first image, and stop at a decision."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from t2ibench.decisions.plan import read_plan, write_plan
from t2ibench.decisions.runs import read_run
from t2ibench.results.files import read_results
from t2ibench.results.fixed_before import RegisteredPlan
from t2ibench.results.run import open_run
from tests import hand
from tests.conftest import Cli
from tests.decisions.made import scenario

TASK = "core_occupations_gender"
QUICK = ("--permutations", "200", "--bootstrap", "50", "--control-encoder", "none")


def gate(folder: Path, accept: float, **changes: object) -> Path:
    path = folder / "accept.yaml"
    measurement = {"task": TASK, "statistic": "headline"}
    part = scenario(measurement=measurement, accept=accept, **changes)
    content = {"title": "a gate", "scenarios": [part]}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def words(folder: Path, *more: str | Path) -> tuple[str | Path, ...]:
    start = ("run", "--model", "toyland", "--tasks", TASK, *QUICK)
    return (*start, "--images-per-prompt", "2", "--output-dir", folder, *more)


def test_it_looks_until_it_is_decided(cli: Cli, tmp_path: Path) -> None:
    accept = gate(tmp_path, 0.3)
    command = words(tmp_path, "--until-decided", accept, "--max-images-per-prompt", "8")
    status, out, err = cli(*command)
    assert status == 4, err
    assert "look 1 of 3" in err and "fails" in out
    record = open_run(tmp_path / "toyland").record
    assert record.looks is not None
    assert record.looks.images_per_prompt == [2, 4, 8]
    taken = record.looks.taken
    counts = {row["index"] for row in hand.stored(tmp_path / "toyland", "attempts")}
    assert len(counts) == record.looks.images_per_prompt[taken - 1]
    # Deciding again is by the level of that look, and the same command has nothing to do.
    status, out, _ = cli("decide", tmp_path / "toyland", "--accept", accept)
    assert status == 4 and "may be looked at 3 times" in out
    # So is a copy of the results alone, away from the record of the run.
    copied = tmp_path / "copied"
    copied.mkdir()
    shutil.copy(tmp_path / "toyland" / "results.json", copied)
    assert read_run(copied).looks == record.looks.fixed
    status, alone, _ = cli("decide", copied, "--accept", accept)
    assert status == 4 and "may be looked at 3 times" in alone
    assert cli(*command)[0] == 4
    # Another design in the same folder would be a look that nobody planned.
    status, _, err = cli(
        *words(tmp_path, "--until-decided", accept, "--max-images-per-prompt", "16")
    )
    assert status == 1 and "begun with looks at 2, 4, 8" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--max-images-per-prompt", "12", "--until-precise", "0.2"), "two rules"),
        ((), "needs the largest number of images"),
        (("--max-images-per-prompt", "1"), "below the first look"),
        (("--max-images-per-prompt", f"1{400 * '0'}"), "is too large"),
        (("--max-images-per-prompt", "12", "--generate-only"), "has to score"),
    ],
)
def test_what_would_make_it_wrong_is_refused(
    cli: Cli, tmp_path: Path, flags: tuple[str, ...], message: str
) -> None:
    accept = gate(tmp_path, 0.3)
    status, _, err = cli(*words(tmp_path, "--until-decided", accept, *flags))
    assert status == 1 and message in err
    assert not (tmp_path / "toyland" / "images").exists()


def test_looks_of_a_model_with_its_own_number_of_images(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "t2ibench.pipeline.preparation.default_images", lambda _: (2, None)
    )
    accept = gate(tmp_path, 0.6)
    start = ("run", "--model", "toyland", "--tasks", TASK, *QUICK)
    looks = ("--until-decided", accept, "--max-images-per-prompt", "4")
    status, _, err = cli(*start, "--output-dir", tmp_path, *looks)
    assert "look 1 of 2, 2 images a prompt" in err
    run = tmp_path / "toyland"
    again, out, _ = cli("decide", run, "--accept", accept)
    assert again == status and "departs from the plan" not in out


def test_results_say_when_the_plan_was_fixed(cli: Cli, tmp_path: Path) -> None:
    accept = gate(tmp_path, 0.9)
    plans = []
    for number in ("2", "3"):
        plan = tmp_path / f"plan-{number}.json"
        sizes = ("--images-per-prompt", number, "--output", plan, *QUICK[-2:])
        assert cli("plan", "--accept", accept, *sizes)[0] == 0
        plans.append(plan)
    start = ("run", "--model", "toyland", "--output-dir", tmp_path, *QUICK[-2:])
    run = tmp_path / "toyland"
    images_before = 0
    for plan in plans:
        assert cli(*start, "--plan", plan)[0] == 0
        registered = read_results(run).registered_plan
        assert registered == RegisteredPlan(
            sha256=read_plan(plan).sha256, images_before=images_before
        )
        # Going on by the same plan changes nothing of it.
        assert cli(*start, "--plan", plan)[0] == 0
        assert read_results(run).registered_plan == registered
        before_last = images_before
        images_before = len(list(hand.stored(run, "attempts")))
    _, out, _ = cli("decide", run, "--plan", plans[1])
    assert f"had {before_last} images before it was first run by the plan" in out
    status, out, _ = cli("decide", run, "--plan", plans[0])
    assert status == 3 and "the run was made by another plan" in out


def test_a_plan_of_looks_needs_a_run_that_looks(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    most = ("--images-per-prompt", "3", "--max-images-per-prompt", "12")
    accept = gate(tmp_path, 0.3)
    assert cli("plan", "--accept", accept, *most, "--output", plan)[0] == 0
    status, _, err = cli("run", "--model", "toyland", "--plan", plan)
    assert status == 1 and "fixes several interim looks, with at most 12 images" in err


def test_a_run_that_could_not_keep_to_its_plan_makes_no_image(
    cli: Cli, tmp_path: Path
) -> None:
    """Its departure would be said after thousands of images."""
    path = tmp_path / "plan.json"
    sizes = ("--times", "0.5", "--output", path)
    assert cli("plan", "--accept", gate(tmp_path, 0.3), *sizes)[0] == 0
    start = ("run", "--model", "toyland", "--output-dir", tmp_path, "--plan", path)
    for setting in ("--images-per-prompt", "--limit"):
        status, _, err = cli(*start, setting, "2")
        assert status == 1 and f"{setting} contradicts {path}, which leaves it" in err
    status, _, err = cli(*start, "--until-precise", "0.3")
    assert status == 1 and f"more images than {path} fixes" in err
    plan = read_plan(path)
    older = plan.tasks[TASK].model_copy(update={"version": 1, "hash": "0" * 64})
    write_plan(plan.model_copy(update={"tasks": {TASK: older}}), path)
    status, _, err = cli(*start)
    assert status == 1 and f"fixes another version of {TASK} (version 1" in err
    assert not (tmp_path / "toyland" / "images").exists()


def test_a_profile_that_compares_is_refused(cli: Cli, tmp_path: Path) -> None:
    accept = gate(tmp_path, 0.3, holds={"agreement": -0.01})
    more = ("--until-decided", accept, "--max-images-per-prompt", "12")
    status, _, err = cli(*words(tmp_path, *more))
    assert status == 1 and "cannot grow with this" in err


def test_looks_that_contradict_the_plan_are_refused(cli: Cli, tmp_path: Path) -> None:
    accept = gate(tmp_path, 0.3)
    plan = tmp_path / "plan.json"
    sizes = ("--images-per-prompt", "3", "--max-images-per-prompt", "12", *QUICK[-2:])
    assert cli("plan", "--accept", accept, *sizes, "--output", plan)[0] == 0
    milder = tmp_path / "milder"
    milder.mkdir()
    start = ("run", "--model", "toyland", "--plan", plan, "--output-dir", tmp_path)
    for profile, most, message in (
        (gate(milder, 0.9), "12", "is not the profile of"),
        (accept, "24", "which fixes at most 12 images per prompt"),
    ):
        looks = ("--until-decided", profile, "--max-images-per-prompt", most)
        status, _, err = cli(*start, *QUICK[-2:], *looks)
        assert status == 1 and message in err
    assert not (tmp_path / "toyland" / "images").exists()
