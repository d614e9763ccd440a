"""What may be changed between a plan and its decision: nothing that helps a run to pass."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from t2ibench.cli.parser import build_parser
from t2ibench.cli.run import settings_of
from t2ibench.decisions.plan import Plan, make_plan, read_plan, write_plan
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.results.files import read_results
from t2ibench.results.fixed_before import LooksRecord
from t2ibench.results.further_settings import FurtherSettings
from t2ibench.results.run import open_run
from t2ibench.settings import Measurement, RunSettings, Settings, flag_name
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask
from tests import hand
from tests.conftest import Cli
from tests.decisions.made import lean_task, profile, results, scenario

TASK = "core_occupations_gender"
GATE = profile(scenario(measurement={"task": TASK, "statistic": "headline"}))
DOCS = Path(__file__).parents[2] / "docs" / "decisions.md"


@pytest.fixture(scope="module")
def task() -> LoadedTask:
    (loaded,) = load_tasks([TASK])
    return loaded


def planned(task: LoadedTask, **changes: Any) -> Plan:
    fixed: dict[str, Any] = {
        "encoders": ("toyland",),
        "judges": ("answers:people.csv",),
        "fingerprints": {
            f"encoder {name}": weights for name, weights in hand.ENCODERS.items()
        },
        "further_settings": FurtherSettings(columns={"image": "Bild"}),
    }
    return make_plan(GATE, {TASK: task}, Measurement(), **(fixed | changes))


# --- Every setting is fixed, or left open with its reason -----------------------------------------


def _rows(table: int) -> set[str]:
    """The flags in a table of the section of the docs on what a plan fixes."""
    _, _, section = DOCS.read_text(encoding="utf-8").partition("## What a plan fixes\n")
    tables = section.partition("\n## ")[0].split("| --- | --- |")[1:]
    lines = [line for line in tables[table].splitlines() if line.startswith("| ")]
    assert all(len(line.split(" | ")[1]) > 4 for line in lines), "a reason is missing"
    names = [line.split(" | ")[0] for line in lines]
    return {flag for name in names for flag in re.findall(r"--[a-z-]+", name)}


def _flags_of(verb: str) -> Iterator[str]:
    (commands,) = (
        action
        for action in build_parser([verb])._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    for action in commands.choices[verb]._actions:
        yield from (name for name in action.option_strings if name.startswith("--"))


# Flags that say how results are shown, or that name the plan itself.
ABOUT_OUTPUT = {"--help", "--format", "--output", "--plan"}


def test_every_flag_is_fixed_or_left_open_with_its_reason() -> None:
    """A new flag of `run`, `score`, `merge` or `decide` has to be put into one of the tables."""
    fixed, left_open = _rows(0), _rows(1)
    verbs = ("run", "score", "merge", "decide")
    flags = {flag for verb in verbs for flag in _flags_of(verb)} - ABOUT_OUTPUT
    assert fixed | left_open == flags
    assert not fixed & left_open


def test_every_setting_has_a_flag_or_cannot_be_given() -> None:
    with_flags = {*_flags_of("run")}
    without = {
        name
        for name in {*RunSettings.model_fields, *Settings.model_fields}
        if flag_name(name) not in with_flags
    }
    # By then the seed is a number; and no user can set the size of exact tests.
    assert without == {"seed_is_derived", "max_exact"}


def test_a_run_by_a_plan_gets_what_the_docs_call_fixed(task: LoadedTask) -> None:
    """What the docs call fixed is in the settings of the run, or compared by its content."""
    given = {flag_name(name) for name in planned(task).settings}
    by_content = {
        "--accept", "--include-path", "--captions", "--judge-check", "--until-decided",
        "--max-images-per-prompt", "--until-precise",
    }  # fmt: skip
    assert given | by_content == _rows(0)
    assert FurtherSettings.model_fields.keys() - {"judge_checks"} <= {
        *planned(task).settings
    }


# --- Flags of `run --plan` that contradict the plan -----------------------------------------------

CONTRADICTIONS = {
    "--tasks": "core_occupations_skin",
    "--images-per-prompt": "3",
    "--guided-images-per-prompt": "3",
    "--times": "0.5",
    "--limit": "2",
    "--seed": "7",
    "--permutations": "99",
    "--bootstrap": "50",
    "--level": "0.5",
    "--encoder": "toyland-2",
    "--judge": "toyland",
    "--control-encoder": "none",
    "--judge-args": "by=anna",
    "--columns": "image=Nummer",
    "--sources": "folder:chosen",
    "--sources-args": "steps=3",
}


def settings_by(path: Path, *words: str) -> RunSettings:
    parser = build_parser(["run"])
    arguments = parser.parse_args(
        ["run", "--model", "toyland", "--plan", str(path), *words]
    )
    return settings_of(arguments, read_plan(path))


@pytest.mark.parametrize("flag", [*CONTRADICTIONS])
@pytest.mark.parametrize("place", ["flag", "config"])
def test_a_flag_that_contradicts_the_plan_is_refused(
    task: LoadedTask, flag: str, place: str, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    write_plan(planned(task), path)
    value = CONTRADICTIONS[flag]
    words = (flag, value)
    if place == "config":
        config = tmp_path / "run.yaml"
        config.write_text(yaml.safe_dump({flag[2:]: yaml.safe_load(value)}))
        words = ("--config", str(config))
    with pytest.raises(T2IBenchError, match=f"{flag} contradicts"):
        settings_by(path, *words)


def test_every_fixed_setting_is_tried(task: LoadedTask) -> None:
    assert CONTRADICTIONS.keys() == {flag_name(name) for name in planned(task).settings}


def test_a_flag_that_says_the_same_as_the_plan_is_accepted(
    task: LoadedTask, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    write_plan(planned(task), path)
    words = ("--control-encoder", "random", "--columns", "image=Bild", "--seed", "0")
    assert settings_by(path, *words) == settings_by(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--judge-args", "margin=1"), "the plan fixes no judges"),
        (("--columns", "image=Nr"), "the plan fixes no such judge"),
        (("--columns", "image=Nr", "--judge", "toyland"), "the plan fixes no such"),
    ],
)
def test_what_a_plan_would_not_fix_is_not_taken(
    words: tuple[str, ...], message: str, tmp_path: Path, cli: Cli
) -> None:
    accept = tmp_path / "accept.yaml"
    accept.write_text(GATE.model_dump_json(exclude_none=True))
    status, _, said = cli("plan", "--accept", accept, *words)
    assert status == 1 and message in said
    assert not (tmp_path / "plan.json").exists()


# --- Results that were changed after planning -----------------------------------------------------

Change = Callable[[dict[str, Any]], object]


def of_task(**changes: Any) -> Change:
    return lambda data: data["tasks"][TASK].update(changes)


def of_settings(**changes: Any) -> Change:
    return lambda data: data["tasks"][TASK]["settings"].update(changes)


def of_further(**changes: Any) -> Change:
    return lambda data: data["further_settings"].update(changes)


def of_run(**changes: Any) -> Change:
    return lambda data: data.update(changes)


LOOKS = LooksRecord(
    profile_sha256=GATE.sha256,
    images_per_prompt=[4, 16],
    levels=[0.05, 0.05],
    measurements=[Measurement(), Measurement(times=2.0)],
).fixed.model_dump(mode="json")

CHANGED_RESULTS: dict[str, tuple[Change, str]] = {
    "another seed": (of_settings(seed=7), "--seed 7, not 0"),
    "a derived seed": (of_settings(seed=123456), "--seed 123456, not 0"),
    "fewer images": (of_settings(images_per_prompt=2), "--images-per-prompt 2"),
    "fewer guided images": (
        of_settings(guided_images_per_prompt=1),
        "--guided-images-per-prompt 1",
    ),
    "more images, as of --until-precise": (of_settings(times=3.0), "--times 3"),
    "a part of the stimuli": (of_settings(limit=2), "--limit 2, not unset"),
    "fewer draws of a test": (of_settings(n_permutations=99), "--permutations 99"),
    "fewer draws of an interval": (of_settings(n_bootstrap=10), "--bootstrap 10"),
    "narrower intervals": (of_settings(level=0.5), "--level 0.5, not 0.95"),
    "another encoder": (
        of_settings(encoders={"toy-clip": "f" * 64}),
        "has the encoder toy-clip; the plan fixes the encoder toyland",
    ),
    "a further encoder": (
        of_settings(encoders={"toyland": "f" * 64, "toy-clip": "e" * 64}),
        "has the encoders toy-clip, toyland",
    ),
    "other weights of the encoder": (
        of_settings(encoders={"toyland": "0" * 64}),
        "the encoder toyland of core_occupations_gender has other weights",
    ),
    "a judge where none was planned": (
        of_settings(judges={"vlm:a": "e" * 64}),
        "has the judge vlm:a; the plan fixes",
    ),
    "other prompts, by --include-path": (
        of_task(task_hash="0" * 64),
        "is another version of the task",
    ),
    "no control": (of_further(control_encoder="none"), "--control-encoder none"),
    "arguments of judges": (of_further(judge_args={"by": "anna"}), "--judge-args by="),
    "a check of a judge": (
        of_further(judge_checks=["c" * 64]),
        "corrected by the check cccccccc",
    ),
    "other columns": (of_further(columns={"image": "Nr"}), "--columns image=Nr"),
    "chosen source images": (of_further(sources="folder:x"), "--sources folder:x"),
    "arguments of the model of source images": (
        of_further(sources_args={"steps": "1"}),
        "--sources-args steps=1",
    ),
    "settings that are not stated": (
        of_run(further_settings=None),
        "an older t2ibench wrote them",
    ),
    "looks that were not planned": (of_run(looks=LOOKS), "the plan has one look"),
    "a run by another plan": (
        of_run(registered_plan={"sha256": "0" * 64, "images_before": 0}),
        "the run was made by another plan",
    ),
    "the task among those of an earlier command": (
        lambda data: data.update(earlier=data.pop("tasks"), tasks={}),
        "is not in the run",
    ),
    "prompts without images": (
        of_task(missing_prompts=["a nurse"]),
        "a prompt of core_occupations_gender has no image",
    ),
    "failed images": (of_task(excluded={"failed": 3}), "3 images of"),
    "missing images": (of_task(excluded={"missing": 1}), "1 images of"),
    "a missing part": (of_run(missing_parts=["2 of 4"]), "part 2 of 4"),
    "an inconclusive test": (of_task(inconclusive="its control"), "is inconclusive"),
}


@pytest.fixture(scope="module")
def kept_to(task: LoadedTask, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, and a run that keeps to it and passes."""
    folder = tmp_path_factory.mktemp("kept")
    plan = planned(task)
    write_plan(plan, folder / "plan.json")
    record = lean_task(0.0, task_hash=task.hash)
    whole = results(**{TASK: record}).model_copy(
        update={"further_settings": plan.further_settings}
    )
    (folder / "run").mkdir()
    (folder / "run" / "results.json").write_text(whole.to_json())
    return folder


@pytest.fixture
def changed(kept_to: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept_to, tmp_path / "changed"))


def decide(cli: Cli, folder: Path, *more: str | Path) -> tuple[int, str]:
    plan = ("--plan", folder / "plan.json", "--format", "json")
    words = ("decide", folder / "run", *plan, *more)
    status, out, err = cli(*words)
    return status, " ".join((out + err).split())


def test_a_run_that_keeps_to_its_plan_passes(kept_to: Path, cli: Cli) -> None:
    status, said = decide(cli, kept_to)
    assert status == 0, said
    assert "departs" not in said


@pytest.mark.parametrize("change", [*CHANGED_RESULTS])
def test_what_was_changed_after_planning_is_no_pass(
    change: str, changed: Path, cli: Cli
) -> None:
    edit, message = CHANGED_RESULTS[change]
    _edit(changed, edit)
    status, said = decide(cli, changed)
    assert status == 3, said
    assert message in said


def _edit(folder: Path, edit: Change) -> None:
    path = folder / "run" / "results.json"
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(json.dumps(data))


def test_milder_limits_beside_the_plan_are_no_pass(changed: Path, cli: Cli) -> None:
    accept = changed / "accept.yaml"
    milder = profile(
        scenario(measurement={"task": TASK, "statistic": "headline"}, accept=0.9)
    )
    accept.write_text(milder.model_dump_json(exclude_none=True))
    status, said = decide(cli, changed, "--accept", accept)
    assert status == 3
    assert "the profile is another one than that of the plan" in said


def test_times_of_files_and_clocks_decide_nothing(changed: Path, cli: Cli) -> None:
    """A plan that is younger than its run by the clock: only what was recorded counts."""
    before = decide(cli, changed)
    for name, seconds in (("plan.json", 2**31 - 1), ("run/results.json", 1)):
        os.utime(changed / name, (seconds, seconds))
    assert decide(cli, changed) == before


def test_a_reference_that_was_changed_after_planning_is_no_pass(
    task: LoadedTask, tmp_path: Path, cli: Cli
) -> None:
    """The lean of the other run is the aim: whoever may change it may choose the aim."""
    referring = scenario(
        measurement={"task": TASK, "statistic": "headline"},
        reference={"run": "before"},
    )
    (tmp_path / "accept.yaml").write_text(
        yaml.safe_dump({"title": "t", "scenarios": [referring]})
    )
    for name, lean in (("before", 0.02), ("run", 0.0)):
        record = lean_task(lean, task_hash=task.hash)
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(
            results(**{TASK: record}).to_json()
        )
    assert cli("plan", "--accept", tmp_path / "accept.yaml")[0] == 0
    assert [*read_plan(tmp_path / "plan.json").references] == ["before"]
    status, said = decide(cli, tmp_path)
    assert "has other results" not in said, said
    other = lean_task(0.04, task_hash=task.hash)
    (tmp_path / "before" / "results.json").write_text(
        results(**{TASK: other}).to_json()
    )
    status, said = decide(cli, tmp_path)
    assert status != 0
    assert "the run before, to which a limit refers, has other results than" in said


# --- Commands after planning, on a real run -------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run by a plan of two images of a prompt, without a control."""
    from t2ibench.cli import main

    folder = tmp_path_factory.mktemp("real")
    gate = profile(
        scenario(measurement={"task": TASK, "statistic": "headline"}, accept=0.95)
    )
    (folder / "accept.yaml").write_text(gate.model_dump_json(exclude_none=True))
    sizes = ["--images-per-prompt", "2", "--control-encoder", "none"]
    plan = ["plan", "--accept", str(folder / "accept.yaml"), *sizes]
    assert main(plan) == 0
    run = ["run", "--model", "toyland", "--plan", str(folder / "plan.json")]
    assert main([*run, "--output-dir", str(folder), "--name", "run"]) == 0
    return folder


@pytest.fixture
def real_copy(real: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(real, tmp_path / "real"))


def test_what_a_real_run_was_made_with_is_in_its_results(real: Path, cli: Cli) -> None:
    stated = read_results(real / "run").further_settings
    assert stated == FurtherSettings(control_encoder="none")
    _, said = decide(cli, real)
    assert "departs" not in said


def test_a_later_command_in_the_folder_departs(real_copy: Path, cli: Cli) -> None:
    """The same command with its control, and then scored again: only the last counts."""
    words = ("run", "--model", "toyland", "--tasks", TASK, "--images-per-prompt", "2")
    again = (*words, "--output-dir", real_copy, "--name", "run")
    assert cli(*again, "--permutations", "500", "--bootstrap", "50")[0] == 0
    for _ in range(2):
        status, said = decide(cli, real_copy)
        assert status in {3, 4}, said
        assert "--control-encoder random, not none" in said
        assert "--permutations 500" in said
        assert cli("score", real_copy / "run")[0] == 0


def test_a_record_that_is_edited_and_scored_again_departs(
    real_copy: Path, cli: Cli
) -> None:
    folder = open_run(real_copy / "run")
    checked = JudgeCheck(judge="a", fingerprint="b", images=1, source=(), attributes=())
    settings = folder.record.settings.model_copy(
        update={"judge_args": {"margin": "1"}, "control_encoder": "random"}
    )
    folder.record = folder.record.model_copy(
        update={"settings": settings, "judge_checks": [checked]}
    )
    folder.save()
    assert cli("score", real_copy / "run")[0] == 0
    _, said = decide(cli, real_copy)
    assert "--control-encoder random, not none" in said
    assert "corrected by the check" in said
    # The plan leaves judges open, and with them their arguments.
    assert "--judge-args" not in said
