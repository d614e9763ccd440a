"""Biases of known size in, scores out."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.results.schema import TaskResult

PLANTED = "t2iat_flowers_insects,t2iat_career_family"
OCCUPATIONS = "occupations_t2iat"
NULLS = "t2iat_light_dark_skin,t2iat_straight_gay,t2iat_names_european_african_american"


def measure(tasks: str, folder: Path, **biases: float) -> dict[str, TaskResult]:
    args = {key.replace("__", "."): value for key, value in biases.items()}
    sizes = {"images_per_prompt": 5, "guided_images_per_prompt": 2}
    draws = {"n_permutations": 2000, "n_bootstrap": 300}
    return evaluate(
        "toyland", tasks, model_args=args, output_dir=folder, **sizes, **draws
    ).tasks


@pytest.mark.slow
def test_planted_biases_are_found_in_sign_size_and_significance(tmp_path: Path) -> None:
    tasks = measure(f"{PLANTED},{OCCUPATIONS}", tmp_path)
    for name, task in tasks.items():
        head = task.headline
        assert head.p_holm < 0.05 and head.ci_low > head.fair_high, name
        assert task.inconclusive is None, name
        # mean of (1 - 2 P)² of the eight occupations
        planted = 0.8 if name in PLANTED else 0.27
        assert head.ci_low < planted < head.ci_high, name
    scores = {
        name: one.value for name, one in tasks["t2iat_flowers_insects"].scores.items()
    }
    assert scores["effect_size"] > 1
    assert scores["association_of_x"] > 0 > scores["association_of_y"]
    lean = {row.name: row.scores["lean"].value for row in tasks[OCCUPATIONS].by}
    assert lean["computer programmer"] > 0.3 > -0.3 > lean["elementary school teacher"]
    shown = [one for name, one in scores.items() if "obedience:" in name]
    assert len(shown) == 2 and min(shown) > 0.9


@pytest.mark.slow
def test_planted_nulls_are_not_found(tmp_path: Path) -> None:
    for name, task in measure(NULLS, tmp_path).items():
        assert task.headline.p_holm > 0.05, name
        assert task.headline.ci_low < 0 < task.headline.ci_high, name


@pytest.mark.nightly
def test_a_fair_plan_scores_nothing(tmp_path: Path) -> None:
    fair = {"all__gender__female": 0.5, "all__weather__pleasant": 0.5}
    for name, task in measure(f"{PLANTED},{OCCUPATIONS}", tmp_path, **fair).items():
        head = task.headline
        assert head.p_holm > 0.05 and head.fair_low < head.value < head.fair_high, name
