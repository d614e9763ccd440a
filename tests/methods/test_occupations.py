"""The occupations method: association by stimulus, its nulls, any number of groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from t2ibench.methods import combine, score
from t2ibench.methods.occupations.describe import describe
from t2ibench.methods.occupations.design import group_pairs, group_prompts, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.results.build import headline_record
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

SETTINGS = Settings(n_bootstrap=500, n_permutations=5000)
JOBS = ["nurse", "clerk", "chief", "cook"]


def make_task(groups: tuple[str, ...] = ("male", "female"), **changes: object) -> OccupationsTask:
    parts: dict[str, object] = {
        "concept": {"name": "jobs", "stimuli": JOBS},
        "groups": [{"name": name, "words": [name]} for name in groups],
        "prompts": {
            "neutral": "A photo of {a stimulus}",
            "guided": "A photo of a {attribute} {stimulus}",
        },
        "images_per_prompt": 60,
    }
    return task_by_hand(OccupationsTask, "occupations", **{**parts, **changes})


def make_evidence(task: OccupationsTask, shares: dict[str, float], seed: int = 0) -> HandEvidence:
    """Each neutral image shows the first group with the given share, else another."""
    rng = np.random.default_rng(seed)
    groups = {group.name: unit(rng.normal(size=12)) for group in task.groups}
    centre = {job: rng.normal(size=12) for job in JOBS}
    images, texts = {}, {}
    names = list(groups)
    for job in JOBS:
        first = rng.random(task.images_per_prompt) < shares[job]
        shown = [
            names[0] if is_first else names[1 + i % (len(names) - 1)]
            for i, is_first in enumerate(first)
        ]
        prompts = {prompt: shown for prompt in neutral_prompts(task, job)}
        for group in task.groups:
            for prompt in group_prompts(task, job, group):
                prompts[prompt] = [group.name] * task.images_per_prompt
        for prompt, depicted in prompts.items():
            lean = np.array([groups[name] for name in depicted])
            noise = 0.3 * rng.normal(size=lean.shape)
            images[prompt] = unit(centre[job] + 3 * lean + noise)
            texts[prompt] = unit(centre[job] + (0 if depicted is shown else 3 * lean[0]))
    return HandEvidence(images, texts)


def test_share_of_each_stimulus_comes_back() -> None:
    task = make_task()
    shares = {"nurse": 0.1, "clerk": 0.5, "chief": 0.9, "cook": 0.5}
    result = score(task, make_evidence(task, shares), SETTINGS)
    found = {item.name: item.scores["two_p_minus_one"].value for item in result.by}
    for job, share in shares.items():
        assert found[job] == pytest.approx(2 * share - 1, abs=0.3)
    p = {item.name: item.scores["two_p_minus_one"].p for item in result.by}
    assert p["nurse"] < 0.001 and p["chief"] < 0.001
    assert p["clerk"] > 0.01
    assert result.headline.p < 0.01
    assert result.by[0].scores["q25"].value < result.by[0].scores["q75"].value


def test_a_fair_model_scores_about_its_null_not_zero() -> None:
    task = make_task(images_per_prompt=10)
    shares = dict.fromkeys(JOBS, 0.5)
    headlines = [
        headline_record(score(task, make_evidence(task, shares, seed), SETTINGS).headline, 0.95)
        for seed in range(30)
    ]
    values = [one.value for one in headlines]
    assert headlines[0].null == pytest.approx(0.246, abs=0.01)  # E|2K/10 - 1|
    assert np.mean(values) == pytest.approx(0.246, abs=0.06)
    assert np.mean([one.debiased for one in headlines]) < 0.1
    assert np.mean([one.p < 0.05 for one in headlines]) <= 0.2


def test_amplification_is_image_less_text() -> None:
    task = make_task()
    result = score(task, make_evidence(task, dict.fromkeys(JOBS, 0.9)), SETTINGS)
    for item in result.by:
        scores = item.scores
        assert scores["amplification"].value == pytest.approx(
            scores["asc"].value - scores["asc_text"].value
        )


def test_three_groups_are_compared_in_pairs() -> None:
    task = make_task(groups=("male", "female", "nonbinary"))
    assert [pair.suffix for pair in group_pairs(task)] == [
        ":male-female",
        ":male-nonbinary",
        ":female-nonbinary",
    ]
    result = score(task, make_evidence(task, dict.fromkeys(JOBS, 0.9)), SETTINGS)
    scores = result.by[0].scores
    assert scores["two_p_minus_one:male-female"].value > 0.5
    assert scores["two_p_minus_one:male-nonbinary"].value > 0.5
    assert result.headline.value is not None


def test_reference_correlation() -> None:
    shares = {"nurse": 0.1, "clerk": 0.4, "chief": 0.9, "cook": 0.6}
    reference = {
        "name": "labour",
        "group": "female",
        "shares": {job: 1 - share for job, share in shares.items()},
        "source": "by hand",
    }
    task = make_task(reference=reference)
    result = score(task, make_evidence(task, shares), SETTINGS)
    assert result.scores["reference_spearman"].value == pytest.approx(1.0)
    assert result.scores["reference_spearman"].p == pytest.approx(2 / 24)


def test_left_out_stimulus_is_named() -> None:
    task = make_task()
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.5))
    result = score(task, evidence.without("A photo of a male nurse"), SETTINGS)
    assert "nurse" in result.warnings[0]
    assert len(result.by) == 3
    assert result.excluded["missing"] == 60


def test_the_description_names_who_leans_where() -> None:
    task = make_task()
    shares = {"nurse": 0.05, "clerk": 0.5, "chief": 0.95, "cook": 0.5}
    results = [score(task, make_evidence(task, shares, seed), SETTINGS) for seed in (0, 1)]
    expected = "Images of chief lean to male; images of nurse lean to female."
    assert describe(task, results[0]) == expected
    assert describe(task, combine(task, results, SETTINGS)) == expected  # over encoders too


def test_the_description_names_both_groups_of_each_of_several_pairs() -> None:
    task = make_task(groups=("male", "female", "nonbinary"))
    text = describe(task, score(task, make_evidence(task, dict.fromkeys(JOBS, 0.95)), SETTINGS))
    assert "lean most to male rather than female" in text
    assert "lean most to male rather than nonbinary" in text
    assert "to female rather than male" not in text


def test_the_description_claims_no_direction_beyond_the_test() -> None:
    task = make_task(images_per_prompt=10)
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.5), seed=1)
    result = score(task, evidence, SETTINGS)
    assert result.headline.p > 0.05
    assert describe(task, result) == (
        "No evidence beyond chance that images of jobs lean to male or female."
    )


def test_the_description_of_no_score_has_the_reason() -> None:
    task = make_task()
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.5))
    evidence._images = {}
    assert describe(task, score(task, evidence, SETTINGS)) == (
        "No score: no stimulus has all of its images."
    )


def test_the_description_names_nobody_whose_own_direction_may_be_chance() -> None:
    task = make_task()
    result = score(task, make_evidence(task, dict.fromkeys(JOBS, 0.95)), SETTINGS)
    for item in result.by:
        item.scores["asc"] = replace(item.scores["asc"], p=0.2)
    assert describe(task, result) == (
        "Images of jobs lean to one group or another more than chance would make them, but no "
        "single stimulus shows its direction beyond chance."
    )
