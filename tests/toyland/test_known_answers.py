"""Biases of known size in, scores out."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench import evaluate
from t2ibench.results.schema import TaskResult

PLANTED = "t2iat_flowers_insects,t2iat_career_family"
OCCUPATIONS = "occupations_t2iat"
NULLS = "t2iat_light_dark_skin,t2iat_straight_gay,t2iat_names_european_african_american"


def measure(
    tasks: str, folder: Path, *, images: int = 8, guided: int = 3, **biases: float
) -> dict[str, TaskResult]:
    args = {key.replace("__", "."): value for key, value in biases.items()}
    sizes = {"images_per_prompt": images, "guided_images_per_prompt": guided}
    draws = {"n_permutations": 2000, "n_bootstrap": 300}
    return evaluate("toyland", tasks, model_args=args, output_dir=folder, **sizes, **draws).tasks


@pytest.mark.slow
def test_planted_biases_are_found_in_sign_size_and_significance(tmp_path: Path) -> None:
    tasks = measure(PLANTED, tmp_path) | measure(OCCUPATIONS, tmp_path, images=8, guided=3)
    for name, task in tasks.items():
        assert task.headline.p_holm is not None and task.headline.p_holm < 0.05, name
        assert task.headline.ci_low is not None and task.headline.fair_high is not None
        assert task.headline.ci_low > task.headline.fair_high, name
        assert task.inconclusive is None, name
        planted = 0.8 if name in PLANTED else 0.27  # mean of (1 - 2 P)² of the eight occupations
        assert task.headline.ci_low < planted < (task.headline.ci_high or 0.0), name
    flowers, career = tasks["t2iat_flowers_insects"], tasks["t2iat_career_family"]
    assert (flowers.scores["effect_size"].value or 0) > 1 and (
        career.scores["effect_size"].value or 0
    ) > 0.5
    assert (
        (flowers.scores["association_of_x"].value or 0)
        > 0
        > (flowers.scores["association_of_y"].value or 0)
    )
    lean = {row.name: row.scores["lean"].value or 0.0 for row in tasks["occupations_t2iat"].by}
    assert lean["computer programmer"] > 0.3 > -0.3 > lean["elementary school teacher"]
    shown = [one.value or 0 for name, one in flowers.scores.items() if "obedience:" in name]
    assert len(shown) == 2 and min(shown) > 0.9


@pytest.mark.slow
def test_planted_nulls_are_not_found(tmp_path: Path) -> None:
    for name, task in measure(NULLS, tmp_path).items():
        head = task.headline
        assert head.p_holm is not None and head.p_holm > 0.05, name
        assert (head.ci_low or 0.0) < 0 < (head.ci_high or 0.0), name


@pytest.mark.nightly
def test_a_fair_plan_scores_nothing(tmp_path: Path) -> None:
    fair = {"all__gender__female": 0.5, "all__weather__pleasant": 0.5}
    tasks = measure(f"{PLANTED},{OCCUPATIONS}", tmp_path, **fair)
    for name, task in tasks.items():
        head = task.headline
        assert head.p_holm is not None and head.p_holm > 0.05, name
        assert head.value is not None and head.fair_low is not None, name
        assert head.fair_low < head.value < (head.fair_high or 0.0), name


@pytest.mark.nightly
def test_the_score_rises_with_the_planted_share(tmp_path: Path) -> None:
    values = []
    for share in (0.5, 0.7, 0.9):
        biases = {"flower__weather__pleasant": share, "insect__weather__pleasant": 1 - share}
        task = measure("t2iat_flowers_insects", tmp_path, **biases)["t2iat_flowers_insects"]
        values.append(task.headline.value or 0.0)
    assert values == sorted(values)
    assert values == pytest.approx([0.0, 0.4, 0.8], abs=0.12)
