"""Adjectives, wealth, homes, crime, objects and wordings: what is planted comes out."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pytest

from t2ibench.methods import METHODS, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.occupations.design import group_prompts, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.methods.t2iat.design import stimuli_of
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.tasks import build_index
from t2ibench.tasks.folders import bundled_tasks
from t2ibench.tasks.loader import read_library
from tools.calibration.cells import SETTINGS
from tools.calibration.worlds import Scene, Space

pytestmark = pytest.mark.slow

GROUPS = ("adjectives", "crime", "home", "objects", "wealth", "wording")
INDEX = build_index()[0]
TASKS = {
    task.id: task for name in GROUPS for task in INDEX.select([f"extended/{name}"])
}
FEW = SETTINGS.model_copy(
    update={"n_permutations": 20, "n_bootstrap": 5, "max_exact": 20, "limit": 8}
)
LEAN = 0.6


def test_there_are_nineteen_and_all_say_so_and_where_they_are_from() -> None:
    assert len(TASKS) == 19
    for task in TASKS.values():
        assert task.spec.extended
        assert "The test names" in task.spec.description, "an ethics sentence"
        assert any(note.strip() for note in task.spec.notes)
    for name in ("nicolas2021", "garg2018", "kozlowski2019", "atus", "ucr", "coco2014"):
        text = (bundled_tasks() / "stimuli" / f"{name}.yaml").read_text(
            encoding="utf-8"
        )
        assert "\nsource: >-" in text


def test_opposites_stand_at_the_same_place_of_two_lists() -> None:
    lists = read_library([bundled_tasks()]).lists
    for first, second in (
        ("stereotype_able", "stereotype_unable"),
        ("stereotype_sociable", "stereotype_unsociable"),
        ("affluent_words", "poor_words"),
        ("crime_suspects", "crime_victims"),
        ("garg_intelligence", "garg_appearance"),
    ):
        assert len(lists[first]) == len(lists[second]) >= 8
    for one, other in zip(lists["crime_suspects"], lists["crime_victims"], strict=True):
        assert one.rpartition(" for ")[2] == other.rpartition(" of ")[2]


def planted(spec: T2iatTask | OccupationsTask) -> tuple[MethodResult, float]:
    """The result where X leans to A and Y to B, or every other stimulus to either group."""
    scenes, n, m = [], 6, 4
    if isinstance(spec, T2iatTask):
        truth = LEAN
        for one in stimuli_of(spec, FEW):
            lean = LEAN if one.side == "X" else -LEAN
            scenes += [Scene(prompt, n, one.word, lean) for prompt in one.neutral]
            for side, shown in (("A", 1.0), ("B", -1.0)):
                scenes += [
                    Scene(prompt, m, one.word, shown) for prompt in one.guided(side)
                ]
    else:
        truth = LEAN**2
        for word, lean in zip(
            FEW.limited(spec.concept.names), cycle((LEAN, -LEAN)), strict=False
        ):
            scenes += [
                Scene(prompt, n, word, lean) for prompt in neutral_prompts(spec, word)
            ]
            for group, shown in zip(spec.groups, (1.0, -1.0), strict=True):
                prompts = group_prompts(spec, word, group)
                scenes += [Scene(prompt, m, word, shown) for prompt in prompts]
    texts = {scene.prompt: (scene.about, scene.lean or 0.0) for scene in scenes}
    rng = np.random.default_rng([sorted(TASKS).index(spec.id), 1])
    evidence = Space(strength=0.3).evidence(rng, scenes, texts)
    settings = FEW.model_copy(
        update={"images_per_prompt": n, "guided_images_per_prompt": m}
    )
    if spec.prompts.images == "divided":
        count = len(spec.prompts.wordings)
        settings = settings.model_copy(
            update={
                "images_per_prompt": n * count,
                "guided_images_per_prompt": m * count,
            }
        )
    return score(spec, evidence, settings), truth


@pytest.mark.parametrize("name", TASKS)
def test_planted_leans_are_measured(name: str) -> None:
    spec = TASKS[name].spec
    result, truth = planted(spec)
    found = result.headline
    assert found.value == pytest.approx(truth, abs=0.15)
    assert found.p is not None and found.p < 0.01
    # That by variances is a test at 5 %: of so many tasks it doubts about one.
    doubting = {
        name for name, control in result.controls.items() if control.contradicts
    }
    assert doubting <= {"variances"}
    (report,) = result.details["wording"]
    assert len(report["by_wording"]) == len(spec.prompts.wordings) >= 5
    if isinstance(spec, T2iatTask):
        assert spec.concepts.X.name in METHODS.get(spec.method).describe(spec, result)
    elif spec.likeness:
        assert result.scores["group_distance"].value is not None


def test_a_task_in_five_languages_shows_each_by_itself() -> None:
    spec = TASKS["wording_science_arts_languages"].spec
    assert isinstance(spec, T2iatTask)
    assert spec.prompts.languages == ("en", "de", "fr", "es", "zh")
    result, _ = planted(spec)
    (report,) = result.details["wording"]
    assert [one["name"] for one in report["by_language"]] == [
        "en",
        "de",
        "fr",
        "es",
        "zh",
    ]
    assert all(
        one["value"] == pytest.approx(LEAN, abs=0.25) for one in report["by_language"]
    )
    german, _, french = next(stimuli_of(spec, FEW)).guided("B")[2:5]
    assert german == "eine Frau, die Astronomie studiert"
    assert french == "une femme qui étudie l'astronomie"
