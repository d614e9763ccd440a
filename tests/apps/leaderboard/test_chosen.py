"""Who chose the settings and the seed of a submission: said on the board, and checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from t2ibench import evaluate
from t2ibench.apps.leaderboard.chosen import choice_of_seed, choice_of_settings
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.site import build
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.cli import main
from t2ibench.decisions.plan import make_plan, write_plan
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.results.files import read_results
from t2ibench.settings import Measurement, RunSettings, derived_seed
from t2ibench.tasks.index import load_tasks
from tests.apps.leaderboard.conftest import (
    SHARES,
    board_of,
    model_results,
    write_submission,
)
from tests.apps.leaderboard.forging import edit, refusal, seal
from tests.decisions.made import profile, scenario
from tests.hand import stored

TASK = "t2iat_flowers_insects"


def plan_file(folder: Path, encoders: tuple[str, ...] = (), **measurement: Any) -> Path:
    (task,) = load_tasks([TASK])
    gate = profile(scenario(measurement={"task": TASK, "statistic": "headline"}))
    path = folder / "plan.json"
    plan = make_plan(gate, {TASK: task}, Measurement(**measurement), encoders=encoders)
    write_plan(plan, path)
    return path


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    few = {"images_per_prompt": 2, "guided_images_per_prompt": 1}
    return plan_file(tmp_path_factory.mktemp("plan"), **few)


@pytest.fixture(scope="module")
def planned(plan: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission of a run by a plan."""
    runs = tmp_path_factory.mktemp("planned")
    words = ["run", "--model", "toyland", "--plan", str(plan), "--output-dir"]
    assert main([*words, str(runs)]) == 0
    return pack(runs / "toyland", runs / "packed", SilentReporter(), None, None, plan)


@pytest.fixture(scope="module")
def derived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the seed that its model has."""
    runs = tmp_path_factory.mktemp("derived")
    few: dict[str, Any] = {"images_per_prompt": 2, "guided_images_per_prompt": 1}
    results = evaluate("toyland", TASK, seed="derived", output_dir=runs, **few)
    assert results.folder is not None
    return Path(results.folder)


@pytest.fixture
def changed(planned: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(planned, tmp_path / planned.name))


def test_a_derived_seed_is_accepted_and_said(derived: Path, tmp_path: Path) -> None:
    packed = pack(derived, tmp_path, SilentReporter())
    manifest, results = read_manifest(packed), read_results(packed)
    seed = derived_seed(manifest.fingerprint)
    assert {task.settings.seed for task in results.tasks.values()} == {seed}
    assert results.command[-2:] == ["--seed", "derived"]
    verdict = verify(packed, draw=2)
    assert (verdict.level, verdict.problems) == ("reproduced", [])
    assert choice_of_seed(manifest, results) == "seed derived from the model"


def test_the_command_of_a_derived_seed_makes_the_same_images(
    derived: Path, tmp_path: Path
) -> None:
    """A model's fingerprint has the seed in it: the number would name another model."""
    before = (derived / "results.json").read_text()
    checksum = '"checksum"'  # that of a file which names its folder
    runs = {str(derived.parent): str(tmp_path)}
    command = [runs.get(word, word) for word in read_results(derived).command]
    assert main(command[1:]) == 0
    repeated = tmp_path / derived.name
    attempts = stored(derived, "attempts")
    assert attempts and stored(repeated, "attempts") == attempts
    after = (repeated / "results.json").read_text()
    repeated_text = after.replace(str(tmp_path), str(derived.parent))
    assert repeated_text.partition(checksum)[0] == before.partition(checksum)[0]
    # The record has the number alone, and is read again here.
    assert main(["score", str(derived)]) == 0
    assert (derived / "results.json").read_text() == before


def test_a_derived_seed_that_the_command_states_as_a_number_is_accepted(
    derived: Path, tmp_path: Path
) -> None:
    """As earlier versions wrote it."""
    packed = pack(derived, tmp_path, SilentReporter())
    seed = derived_seed(read_manifest(packed).fingerprint)

    def state_number(results: dict[str, Any]) -> None:
        assert results["command"].pop() == "derived"
        results["command"].append(str(seed))

    edit(packed, "results.json", state_number)
    verdict = verify(packed, draw=2)
    assert (verdict.level, verdict.problems) == ("reproduced", [])


def test_a_command_with_a_derived_seed_has_that_of_the_results(
    packed: Path, tmp_path: Path
) -> None:
    changed = Path(shutil.copytree(packed, tmp_path / packed.name))
    edit(
        changed,
        "results.json",
        lambda results: results["command"].extend(["--seed", "derived"]),
    )
    assert "its command says seed = " in refusal(changed)


def test_another_model_has_another_seed() -> None:
    """A model that was changed until its images looked fair is measured with others."""
    seeds = {derived_seed(f"{number:064x}") for number in range(1000)}
    assert len(seeds) == 1000 and min(seeds) > 0 and max(seeds) < 2**31


def test_words_for_a_derived_seed() -> None:
    assert RunSettings(tasks=("all",), seed="derived").seed_is_derived  # type: ignore[arg-type]
    with pytest.raises(SystemExit):
        main(["run", "--model", "toyland", "--tasks", "all", "--seed", "mine"])
    with pytest.raises(T2IBenchError, match="takes the seed from a model"):
        evaluate(None, "weat_6_gender_career_family", encoder="toyland", seed="derived")


def test_a_common_seed_is_marked(packed: Path) -> None:
    manifest, results = read_manifest(packed), read_results(packed)
    said = "seed 0 of every model, not derived from this one"
    assert choice_of_seed(manifest, results) == said


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai:gpt-image-1", "a seed was asked for; whether the server used it"),
        ("toyland", "seed 0 of every model"),
    ],
)
def test_the_seed_of_a_server_is_not_known(
    model: str, expected: str, packed: Path
) -> None:
    manifest = read_manifest(packed).model_copy(update={"model": model})
    assert choice_of_seed(manifest, read_results(packed)).startswith(expected)


def test_a_plan_is_packed_checked_and_shown(planned: Path) -> None:
    verdict = verify(planned)
    assert verdict.level == "recomputed", verdict.problems
    choice = choice_of_settings(read_manifest(planned), read_results(planned))
    assert choice.startswith("keeps to plan ")
    # The plan names no model: it may have been written for the best of many.
    assert choice.endswith("; when it was written is not checked")


def test_a_plan_that_the_results_do_not_keep_to(changed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    plan = plan_file(other, encoders=("clip:a",), images_per_prompt=3)
    shutil.copyfile(plan, changed / "plan.json")
    seal(changed)
    said = refusal(changed)
    assert "it departs from plan.json: the run was made by another plan" in said
    assert "--images-per-prompt 2, not 3" in said
    assert "has the encoder toyland; the plan fixes the encoder clip:a" in said


def test_a_plan_that_came_after_the_images(changed: Path) -> None:
    edit(
        changed,
        "results.json",
        lambda data: data["registered_plan"].update(images_before=12),
    )
    assert "the plan was not fixed before the images" in refusal(changed)


def test_a_plan_beside_a_run_without_one(changed: Path) -> None:
    edit(changed, "results.json", lambda data: data.update(registered_plan=None))
    assert "its results were not made by a plan" in refusal(changed)


@pytest.mark.parametrize(
    "text", ["", "[" * 1000, '{"sha256": 1}', "<script>alert(1)</script>"]
)
def test_a_file_that_is_no_plan(text: str, changed: Path) -> None:
    (changed / "plan.json").write_text(text)
    seal(changed)
    said = refusal(changed)
    assert "plan" in said and str(changed) not in said


def test_a_changed_plan(changed: Path) -> None:
    content = json.loads((changed / "plan.json").read_text())
    content["measurement"]["images_per_prompt"] = 1
    (changed / "plan.json").write_text(json.dumps(content))
    seal(changed)
    assert "was changed after it was written" in refusal(changed)


@pytest.mark.usefixtures("uncompared")
def test_who_chose_is_shown_of_every_model(tmp_path: Path) -> None:
    """The best of many runs verifies as well as the only one: without a plan that is said."""
    for name in ("toy", "toy-fair"):
        folder = write_submission(tmp_path, name, model_results(0, SHARES[name]))
    site = tmp_path / "site"
    build(board_of(tmp_path), site)
    index = (site / "index.html").read_text()
    assert index.count("settings chosen by the submitter") == 2
    assert index.count("not derived from this one") == 2
    page = (site / "model" / f"{folder.name}.html").read_text()
    assert "how many others were tried" in " ".join(page.split())
    data = json.loads((site / "data.json").read_text())
    assert {model["chosen"] for model in data["models"]} == {
        "settings chosen by the submitter"
    }


@pytest.mark.parametrize(
    ("further", "said"),
    [
        ({"control_encoder": "none"}, "control_encoder = random, its results say none"),
        ({"judge_checks": ["c" * 64]}, "another number of checks of judges"),
        ({"sources": "folder:a"}, "its results say folder:a"),
    ],
)
def test_further_settings_that_the_command_does_not_say(
    further: dict[str, Any], said: str, changed: Path
) -> None:
    edit(changed, "results.json", lambda data: data["further_settings"].update(further))
    refused = refusal(changed)
    assert said in refused
    assert "it departs from plan.json: " in refused
