"""Judges that check guided images: who is asked, and what a run without a judge says."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.methods import METHODS, needs
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.pipeline.plan import make_plan
from t2ibench.pipeline.preparation import with_default_observers, with_judge_for
from t2ibench.results.judge_checks import judges_said
from t2ibench.results.schema import Results
from t2ibench.settings import RunSettings, Settings
from t2ibench.tasks import load_tasks

CHECKED = "core_occupations_gender"
# Tasks of encoders whose guided prompts ask for a gender, an age or a skin tone of people.
ASKS = (
    "core_occupations_gender",
    "core_occupations_age",
    "core_occupations_skin",
    "core_science_arts",
    "occupations_winobias",
    "mcas_occupations",
)
QUICK = {
    "encoder": "toyland",
    "n_bootstrap": 50,
    "n_permutations": 200,
    "limit": 3,
    "images_per_prompt": 4,
    "guided_images_per_prompt": 4,
}


def run(folder: Path, **judge: str) -> Results:
    return evaluate(ToylandGenerator({}), CHECKED, output_dir=folder, **QUICK, **judge)


@pytest.mark.parametrize("task", ASKS)
def test_core_tasks_have_their_guided_images_checked(task: str) -> None:
    (loaded,) = load_tasks(task)
    asked = needs(loaded.spec, Settings())
    assert asked.checks and not asked.questions
    groups = asked.groups
    for check in asked.checks:
        assert groups[check.prompt].split(", ")[-1] in check.classes


@pytest.mark.parametrize(
    ("tasks", "judge"),
    [
        ((CHECKED,), ()),
        ((CHECKED, "openbias_winobias"), ("vlm:Qwen/Qwen3-VL-4B-Instruct",)),
    ],
)
def test_the_default_judge_is_loaded_only_where_answers_are_the_score(
    tasks: tuple[str, ...], judge: tuple[str, ...]
) -> None:
    settings = with_default_observers(RunSettings(model="sdxl", tasks=tasks))
    assert settings.judge == ()
    plan = make_plan(load_tasks(list(tasks)), Settings())
    assert with_judge_for(settings, plan).judge == judge


def test_a_named_judge_checks() -> None:
    settings = with_default_observers(
        RunSettings(model="sdxl", tasks=(CHECKED,), judge=("toyland",))
    )
    plan = make_plan(load_tasks(CHECKED), Settings())
    assert with_judge_for(settings, plan).judge == ("toyland",)


def test_without_a_judge_a_run_is_complete_and_names_the_command(
    tmp_path: Path,
) -> None:
    task = run(tmp_path).tasks[CHECKED]
    assert task.settings.judges == {}
    assert task.headline.value is not None and "missing" not in task.excluded
    breakdown = task.controls["breakdown"]
    if breakdown.contradicts is not None:
        assert "--judge MODEL" in breakdown.contradicts
        assert "t2ibench label export" in breakdown.contradicts


def test_a_judge_that_is_there_checks_and_is_named(tmp_path: Path) -> None:
    task = run(tmp_path, judge="toyland").tasks[CHECKED]
    assert list(task.settings.judges) == ["toyland"]
    assert "breakdown" not in task.controls
    assert task.scores["obedience:male"].value is not None
    said = judges_said(task)
    assert said.startswith(
        "toyland checked which guided images show what was asked for"
    )
    assert "its mistakes decide which images are left out" in said


def test_every_method_that_checks_declares_what_can_be_answered() -> None:
    checking = set()
    for loaded in load_tasks("all"):
        for check in needs(loaded.spec, Settings(limit=1)).checks:
            assert len(check.classes) > 1, loaded.id
            checking.add(loaded.spec.method)
    assert checking == {"mcas", "occupations", "t2iat"} <= set(METHODS)
