"""The occupations method: association by stimulus, its nulls, any number of groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.occupations.describe import describe
from t2ibench.methods.occupations.design import (
    group_pairs,
    group_prompts,
    neutral_prompts,
)
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

SETTINGS = Settings(n_bootstrap=500, n_permutations=5000)
JOBS = ["nurse", "clerk", "chief", "cook"]
UNEQUAL = {"nurse": 0.1, "clerk": 0.5, "chief": 0.9, "cook": 0.5}
PROMPTS = {
    "neutral": "A photo of {a stimulus}",
    "guided": "A photo of a {attribute} {stimulus}",
}


def make_task(
    groups: tuple[str, ...] = ("male", "female"), **changes: object
) -> OccupationsTask:
    parts: dict[str, object] = {
        "concept": {"name": "jobs", "stimuli": JOBS},
        "groups": [{"name": name, "words": [name]} for name in groups],
        "prompts": PROMPTS,
        "images_per_prompt": 60,
    }
    return task_by_hand(OccupationsTask, "occupations", **{**parts, **changes})


def make_evidence(
    task: OccupationsTask, shares: dict[str, float], seed: int = 0
) -> HandEvidence:
    """Each neutral image shows the first group with the given share, else another."""
    rng = np.random.default_rng(seed)
    groups = {group.name: unit(rng.normal(size=12)) for group in task.groups}
    centre = {job: rng.normal(size=12) for job in JOBS}
    images, texts = {}, {}
    groups, n = np.array(list(groups.values())), task.images_per_prompt
    for job in JOBS:
        shown = np.where(
            rng.random(n) < shares[job], 0, rng.integers(1, len(groups), n)
        )
        prompts = dict.fromkeys(neutral_prompts(task, job), shown)
        for number, group in enumerate(task.groups):
            named = np.full(n, number)
            prompts |= dict.fromkeys(group_prompts(task, job, group), named)
        for prompt, depicted in prompts.items():
            lean = 3 * groups[depicted]
            images[prompt] = unit(
                centre[job] + lean + 0.3 * rng.normal(size=lean.shape)
            )
            texts[prompt] = unit(centre[job] + (0 if depicted is shown else lean[0]))
    return HandEvidence(images, texts)


def test_planted_shares_of_stimuli_are_recovered() -> None:
    task = make_task()
    result = score(task, make_evidence(task, UNEQUAL, seed=1), SETTINGS)
    rows = {item.name: item.scores for item in result.by}
    for job, share in UNEQUAL.items():
        assert rows[job]["lean"].value == pytest.approx(2 * share - 1, abs=0.3)
        assert rows[job]["nearer_share_difference"].value == pytest.approx(
            2 * share - 1, abs=0.3
        )
        low, high = rows[job]["lean"].interval
        assert low < 2 * share - 1 < high
        assert (low > 0 or high < 0) == (rows[job]["lean"].p < 0.05)
    assert rows["nurse"]["lean"].p < 0.001 and rows["chief"]["lean"].p < 0.001
    assert rows["clerk"]["lean"].p > 0.01
    assert result.headline.p < 0.01
    # mean of .64, 0, .64 and 0
    assert result.headline.value == pytest.approx(0.32, abs=0.12)
    assert rows["nurse"]["lower_quartile"].value < rows["nurse"]["upper_quartile"].value
    assert (
        rows["nurse"]["lower_quartile"].as_published
        and not rows["nurse"]["lean"].as_published
    )


def test_a_lean_agrees_with_a_case_worked_by_hand() -> None:
    """Both directions are those of (1, -1): clerk is measured along cook's and cook along clerk's.

    In units of that direction, clerk: y = (3 - 1) / 4, a = 1, b = -1, so N = 1 and D = 2; cook:
    y = -1, N = -2 and D = 2. All images show as much of the scene.
    """
    task = make_task(
        concept={"name": "jobs", "stimuli": ["clerk", "cook"]},
        prompts={"neutral": "{stimulus}", "guided": "{attribute} {stimulus}"},
        images_per_prompt=4,
    )
    male, female = [1.0, 0.0, 2.0], [0.0, 1.0, 2.0]
    images = {
        "clerk": [male, male, male, female],
        "cook": [female] * 4,
        **{f"male {job}": [male] * 4 for job in ("clerk", "cook")},
        **{f"female {job}": [female] * 4 for job in ("clerk", "cook")},
    }
    texts = {name: rows[0] for name, rows in images.items()} | {
        "clerk": [0.625, 0.375, 2.0]
    }
    result = score(task, HandEvidence(images, texts), SETTINGS)
    leans = {item.name: item.scores["lean"].value for item in result.by}
    assert leans == pytest.approx({"clerk": 0.5, "cook": -1.0})
    places = [(row["stimulus"], row["lean"]) for row in result.samples]
    expected = [1.0, 1.0, 1.0, -1.0, *[-1.0] * 4]
    assert [lean for _, lean in places] == pytest.approx(expected)
    assert [name for name, _ in places] == ["clerk"] * 4 + ["cook"] * 4
    # N varies by 4 (1 / 4): mean square (1² + 2² - 1) / (2² + 2²), as D does not vary.
    assert result.headline.value == pytest.approx(4.0 / 8)
    assert result.scores["lean_mean"].value == pytest.approx(-0.25)
    in_text = {item.name: item.scores["lean_text"].value for item in result.by}
    assert in_text == pytest.approx({"clerk": 0.25, "cook": -1.0})
    further = {item.name: item.scores["amplification"].value for item in result.by}
    assert further == pytest.approx({"clerk": 0.25, "cook": 0.0})


def test_an_invisible_attribute_makes_a_task_inconclusive() -> None:
    task = make_task(images_per_prompt=10)
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.9))
    rng = np.random.default_rng(1)
    noise = {prompt: unit(rng.normal(size=(10, 12))) for prompt in evidence.prompts}
    result = score(task, evidence.with_images(noise), SETTINGS)
    assert result.headline.value is None and result.reason is None
    assert result.headline.p is not None and result.by[0].scores["lean"].value is None
    assert result.controls["separation"].contradicts in result.headline.reason
    assert "nothing clearly in common" in result.controls["spread"].contradicts
    assert describe(task, result).startswith(
        "Cannot tell: the encoder hardly tells images with"
    )


def test_a_run_differs_from_itself_by_nothing() -> None:
    task = make_task()
    one, same = (score(task, make_evidence(task, UNEQUAL), SETTINGS) for _ in range(2))
    other = score(task, make_evidence(task, UNEQUAL, seed=1), SETTINGS)
    assert [part.name for part in one.headline.parts] == JOBS
    squares = [part.value**2 - part.influence.variance for part in one.headline.parts]
    assert np.mean(squares) == pytest.approx(one.headline.value)
    for mine, its, another in zip(
        one.headline.parts, same.headline.parts, other.headline.parts, strict=True
    ):
        assert mine.influence.same(its.influence)
        assert set(mine.influence.strata) == set(another.influence.strata)
    for item in one.by:
        lean, who = item.scores["lean"], ("", "male ", "female ")
        assert set(lean.influence.strata) == {
            f"A photo of a {one}{item.name}" for one in who
        }
        low, high = lean.interval
        assert high - low == pytest.approx(
            2 * 1.98 * np.sqrt(lean.influence.variance), rel=0.1
        )


def test_other_directions_contradict_a_difference_that_is_not_the_attribute() -> None:
    """Images without a group differ from all others in a way that has nothing to do with it."""
    task = make_task(images_per_prompt=20)
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.5))
    clean = score(task, evidence, SETTINGS)
    assert clean.controls["other_directions"].contradicts is None
    rng = np.random.default_rng(0)  # what make_evidence draws the groups from
    male, female = (unit(rng.normal(size=12)) for _ in range(2))
    axis = unit(male - female)
    aside = rng.normal(size=12)
    aside = unit(aside - (aside @ axis) * axis) + 0.05 * axis
    neutral = [prompt for prompt in evidence.prompts if "male" not in prompt]
    moved = {
        prompt: unit(evidence.images(prompt, 20).embeddings + 3 * aside)
        for prompt in neutral
    }
    result = score(task, evidence.with_images(moved), SETTINGS)
    assert "differ from the others in more than that" in result.inconclusive


def test_variation_in_other_than_the_attribute_does_not_contradict_a_lean() -> None:
    """Along it leans get far, but by chance."""
    contradicted = 0
    for seed in range(10):
        task = make_task(images_per_prompt=20, guided_images_per_prompt=20)
        evidence = make_evidence(task, UNEQUAL, seed=seed)
        rng = np.random.default_rng(seed)
        male, female = (unit(rng.normal(size=12)) for _ in range(2))
        axis = unit(male - female)
        aside = rng.normal(size=12)
        aside = unit(aside - (aside @ axis) * axis)
        varied = {}
        for prompt in evidence.prompts:
            rows = evidence.images(prompt, 20).embeddings
            varied[prompt] = unit(rows + 2 * rng.normal(size=(len(rows), 1)) * aside)
        result = score(task, evidence.with_images(varied), SETTINGS)
        contradicted += result.controls["other_directions"].contradicts is not None
    assert contradicted <= 1


def test_halves_that_disagree_are_inconclusive() -> None:
    task = make_task()
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.5))
    odd = {}
    for job in JOBS:
        rows = evidence.images(f"A photo of a {job}", 60).embeddings.copy()
        rows[1::2] = evidence.images(f"A photo of a male {job}", 60).embeddings[1::2]
        odd[f"A photo of a {job}"] = rows
    result = score(task, evidence.with_images(odd), SETTINGS)
    assert result.controls["halves"].p < 0.005
    assert "even and with odd numbers disagree" in result.inconclusive


def test_a_single_stimulus_gives_no_headline() -> None:
    task = make_task(concept={"name": "jobs", "stimuli": ["nurse"]})
    result = score(task, make_evidence(task, dict.fromkeys(JOBS, 0.5)), SETTINGS)
    assert result.headline.value is None and result.reason is None
    assert "no others whose direction" in result.headline.reason
    assert result.by[0].scores["association"].value is not None
    assert describe(task, result).startswith("No score: a single stimulus")


PARAPHRASES = [
    {
        "neutral": f"{word} of {{a stimulus}}",
        "guided": f"{word} of a {{attribute}} {{stimulus}}",
    }
    for word in ("A portrait", "A image")
]


def worded_task(images: int = 20) -> OccupationsTask:
    return make_task(
        prompts={**PROMPTS, "paraphrases": PARAPHRASES}, images_per_prompt=images
    )


def test_neutral_alternatives_are_prompts_of_one_wording() -> None:
    """Adjectives that name no group, in prompts of the form of the groups' own."""
    prompts = {
        "neutral": "A photo of a {local|real} {stimulus}",
        "guided": "A photo of a {attribute} {stimulus}",
    }
    task = make_task(prompts=prompts, images_per_prompt=30)
    assert neutral_prompts(task, "nurse") == [
        "A photo of a local nurse",
        "A photo of a real nurse",
    ]
    assert needs(task, SETTINGS).n_prompts == 4 * (2 + 2)
    evidence = make_evidence(task, UNEQUAL, seed=1)
    result = score(task, evidence, SETTINGS)
    assert result.by[0].n_images == 60
    assert set(result.by[0].scores["lean"].influence.strata) == {
        f"A photo of a {word} nurse" for word in ("local", "real", "male", "female")
    }
    # The mean over prompts of their images' mean, whatever either has of them.
    without = evidence.without("A photo of a real nurse", filtered=30)
    assert "nurse" not in [row.name for row in score(task, without, SETTINGS).by]


def test_a_sample_names_the_wording_of_its_prompt() -> None:
    """Both alternatives are prompts of wording 1; a task of one wording names none."""
    prompts = {
        "neutral": "A photo of a {local|real} {stimulus}",
        "guided": "A photo of a {attribute} {stimulus}",
    }
    portrait = {
        "neutral": "A portrait of a {stimulus}",
        "guided": "A portrait of a {attribute} {stimulus}",
    }
    task = make_task(
        prompts={**prompts, "paraphrases": [portrait]}, images_per_prompt=20
    )
    result = score(task, make_evidence(task, UNEQUAL), SETTINGS)
    wordings = {row["prompt"]: row["wording"] for row in result.samples}
    assert len(result.samples) == 4 * 3 * 20
    assert wordings == {
        prompt: 1 + prompt.startswith("A portrait")
        for job in JOBS
        for prompt in neutral_prompts(task, job)
    }
    single = make_task(prompts=prompts, images_per_prompt=20)
    rows = score(single, make_evidence(single, UNEQUAL), SETTINGS).samples
    assert not any("wording" in row for row in rows)


def test_wordings_are_part_of_the_variance() -> None:
    """A wording that shows more men in one occupation does not make it lean beyond chance."""
    task = worded_task(60)
    found = needs(task, SETTINGS)
    assert (found.n_prompts, found.n_images) == (4 * 3 * 3, 4 * 3 * 3 * 60)
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.5), seed=5)
    men = evidence.images("A portrait of a male nurse", 60).embeddings
    skewed = evidence.with_images({"A portrait of a nurse": men})
    plain, moved = (score(task, each, SETTINGS) for each in (evidence, skewed))
    nurse = {"plain": plain.by[0].scores, "moved": moved.by[0].scores}
    assert nurse["moved"]["lean"].value > nurse["plain"]["lean"].value + 0.15
    assert nurse["moved"]["lean"].p > 0.05
    assert moved.headline.p > 0.05
    strata = set(nurse["moved"]["lean"].influence.strata)
    assert {
        "wordings of nurse",
        "A portrait of a nurse",
        "A image of a male nurse",
    } <= strata
    assert len(moved.samples) == 4 * 3 * 60


def test_amplification_is_signed_towards_the_text() -> None:
    """The texts of nurse lean to women and her images more so; those of chief less than they."""
    task = make_task()
    shares = {"nurse": 0.1, "clerk": 0.5, "chief": 0.6, "cook": 0.5}
    evidence = make_evidence(task, shares)
    texts = {}
    for job, lean in {"nurse": -0.4, "clerk": 0.0, "chief": 0.8, "cook": 0.4}.items():
        male, female = evidence.texts(
            [f"A photo of a {side} {job}" for side in ("male", "female")]
        )
        texts[f"A photo of a {job}"] = (1 + lean) / 2 * male + (1 - lean) / 2 * female
    evidence._texts = {**evidence._texts, **texts}
    result = score(task, evidence, SETTINGS)
    rows = {item.name: item.scores for item in result.by}
    assert rows["nurse"]["lean_text"].value == pytest.approx(-0.4, abs=0.1)
    nurse, chief = rows["nurse"]["amplification"], rows["chief"]["amplification"]
    assert nurse.value == pytest.approx(0.4, abs=0.3) and nurse.interval[0] > 0
    assert nurse.p < 0.05
    assert chief.value == pytest.approx(-0.6, abs=0.3) and chief.interval[1] < 0
    assert result.scores["amplification_mean"].value is not None
    assert result.controls["text_only"].value > 0.3


def test_three_groups_are_compared_in_pairs() -> None:
    task = make_task(groups=("male", "female", "nonbinary"))
    names = [":male-female", ":male-nonbinary", ":female-nonbinary"]
    assert [pair.suffix for pair in group_pairs(task)] == names
    result = score(task, make_evidence(task, dict.fromkeys(JOBS, 0.95)), SETTINGS)
    scores = result.by[0].scores
    assert scores["lean:male-female"].value > 0.5
    # Few images show either; where men's images lie between them explains the row.
    few = scores["lean:female-nonbinary"]
    assert few.value is None and "images of men do not lie half way" in few.reason
    assert few.p > 0.05 and "other_groups" in result.controls
    assert scores["nearer_share_difference:male-nonbinary"].value > 0.5
    assert result.headline.value is not None and len(result.headline.parts) == 4 * 3
    text = describe(task, result)
    assert "lean clearly to men rather than women (" in text
    assert "lean clearly to men rather than nonbinary people (" in text
    assert "to women rather than men" not in text


def test_leans_that_mirror_the_reference_correlate_with_it() -> None:
    shares = {"nurse": 0.1, "clerk": 0.4, "chief": 0.9, "cook": 0.6}
    reference = {
        "name": "labour",
        "group": "female",
        "shares": {job: 1 - share for job, share in shares.items()},
        "source": "by hand",
    }
    task = make_task(reference=reference)
    result = score(task, make_evidence(task, shares, seed=3), SETTINGS)
    spearman = result.scores["reference_spearman"]
    assert spearman.value == pytest.approx(1.0)
    assert spearman.p == pytest.approx(2 / 24)
    assert spearman.boot is None and spearman.as_published
    for slope in (result.scores["slope"], result.scores["slope_prompt_population"]):
        assert slope.value == pytest.approx(1.0, abs=0.2)
        assert slope.interval[0] < 1 < slope.interval[1]
    steep = score(
        task, make_evidence(task, {**shares, "nurse": 0.0, "chief": 1.0}), SETTINGS
    )
    rows = {item.name: item.scores["share_minus_reference:female"] for item in steep.by}
    assert rows["nurse"].value == pytest.approx(0.1, abs=0.06)
    assert rows["chief"].value == pytest.approx(-0.1, abs=0.06)
    assert steep.scores["slope"].value > result.scores["slope"].value


def test_the_description_names_who_leans_where() -> None:
    task = make_task()
    shares = {"nurse": 0.05, "clerk": 0.5, "chief": 0.95, "cook": 0.5}
    results = [
        score(task, make_evidence(task, shares, seed), SETTINGS) for seed in (0, 1)
    ]
    expected = "2 of 4 jobs lean clearly: chief to men, nurse to women."
    assert describe(task, results[0]) == expected
    # over encoders too
    assert describe(task, combine(task, results, SETTINGS)) == expected
    for item in results[0].by:  # nobody is named whose own direction may be chance
        item.scores["lean"] = replace(item.scores["lean"], p=0.2)
    assert describe(task, results[0]).startswith(
        "Together the jobs lean to men or women further"
    )


def test_the_description_claims_no_direction_beyond_the_test() -> None:
    task = make_task(images_per_prompt=10)
    evidence = make_evidence(task, dict.fromkeys(JOBS, 0.5), seed=1)
    result = score(task, evidence, SETTINGS)
    assert result.headline.p > 0.05
    assert describe(task, result) == (
        "Not clear whether images of jobs lean to men or women."
    )


def test_every_pair_of_groups_has_a_report_of_its_wordings() -> None:
    prompts = {**PROMPTS, "paraphrases": PARAPHRASES}
    task = make_task(("male", "female", "other"), prompts=prompts, images_per_prompt=8)
    result = score(task, make_evidence(task, dict.fromkeys(JOBS, 0.6)), SETTINGS)
    reports = result.details["wording"]
    assert [one["pair"] for one in reports] == [
        "male-female",
        "male-other",
        "female-other",
    ]
    for one in reports:
        assert (one["scale"], one["interval_about"]) == (
            "mean_square",
            "other wordings",
        )
        assert len(one["by_wording"]) == 3 and "rms" in one["sentence"]
