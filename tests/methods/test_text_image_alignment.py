"""Agreement of images with their prompts: by hand, and with planted differences and none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from t2ibench.methods import needs, score
from t2ibench.methods.core.evidence import ImageEvidence, Needs, PromptNeed
from t2ibench.methods.core.synthetic_evidence import SyntheticEvidence
from t2ibench.methods.core.text_image_alignment import (
    PromptCosines,
    PromptMeasures,
    difference_from_others,
    mean_cosine,
    measure_prompts,
    paired_difference,
)
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tools.calibration.cells import simulated_task

WITHIN, BETWEEN = 0.03, 0.02  # spread of images and of prompts


def one(prompt: str, *cosines: float, group: str = "", unit: str = "") -> PromptCosines:
    return PromptCosines(
        prompt, group, unit, np.arange(len(cosines)), np.array(cosines)
    )


def test_cosines_are_those_of_the_embeddings() -> None:
    asked = Needs(
        (PromptNeed("a", 3, "x", "u", "w"), PromptNeed("b", 2, "y")), ("a", "b")
    )
    evidence = SyntheticEvidence(asked)
    (first, second), diversities = measure_prompts(asked, evidence)
    text = evidence.texts(["a"])[0]
    assert first.cosines.tolist() == pytest.approx(
        evidence.images("a", 3).embeddings @ text
    )
    assert (first.group, first.unit, second.group, second.unit) == ("x", "u", "y", "")
    assert first.indices.tolist() == [0, 1, 2]
    assert (first.word, second.word) == ("w", "")
    rows = evidence.images("b", 2).embeddings
    assert [(found.prompt, found.group, found.n_images) for found in diversities] == [
        ("a", "x", 3),
        ("b", "y", 2),
    ]
    assert diversities[1].value == pytest.approx(1 - rows[0] @ rows[1])
    refused, _ = measure_prompts(asked, SyntheticEvidence(asked, without=["b"]))
    assert [found.prompt for found in refused] == ["a"]
    none, diversities = measure_prompts(asked, SyntheticEvidence(Needs(asked.prompts)))
    assert (none, len(diversities)) == ([], 2)


def test_vendi_scores_are_measured_of_prompts_that_ask_for_a_group() -> None:
    groups = {"a": "jobs", "b": "jobs, male", "c": "female", "d": "female"}
    prompts = [PromptNeed(prompt, 3, group) for prompt, group in groups.items()]
    prompts[-1] = PromptNeed("d", 2, "female")  # too few images for the score
    asked = Needs(tuple(prompts), guided_groups=("male", "female"))
    _, diversities = measure_prompts(asked, SyntheticEvidence(asked))
    measured = [found.prompt for found in diversities if found.vendi is not None]
    assert measured == ["b", "c"]


@pytest.mark.parametrize("task", ["t2iat", "occupations", "mcas_objects"])
def test_every_group_whose_obedience_is_scored_is_a_guided_group(task: str) -> None:
    """`frontier` compares the Vendi scores of the groups that these scores name."""
    loaded = load_tasks([task], [], on_left_out=lambda _: None)[0]
    settings = Settings(limit=4)
    asked = needs(loaded.spec, settings)
    result = score(loaded.spec, SyntheticEvidence(asked), settings)
    named = [name for name in result.scores if name.startswith("obedience:")]
    assert named
    for name in named:
        assert name.removeprefix("obedience:") in asked.guided_groups


def test_images_that_somebody_has_read_are_not_read_again() -> None:
    asked = Needs((PromptNeed("a", 3), PromptNeed("b", 2)), ("a", "b"))
    evidence = SyntheticEvidence(asked)
    measures = PromptMeasures.of(asked, evidence)
    measures.see("a", 3, evidence.images("a", 3))
    # Neither another number of images nor another prompt is what the task needs.
    measures.see("b", 1, evidence.images("b", 1))
    measures.see("c", 3, evidence.images("a", 3))
    read: list[str] = []

    class Reading(SyntheticEvidence):
        def images(self, prompt: str, n: int) -> ImageEvidence:
            read.append(prompt)
            return super().images(prompt, n)

    cosines, diversities = measures.results(Reading(asked))
    assert read == ["b"]
    expected_cosines, expected_diversities = measure_prompts(asked, evidence)
    assert repr((cosines, diversities)) == repr(
        (expected_cosines, expected_diversities)
    )


def test_prompts_of_one_stimulus_are_resampled_as_one_unit() -> None:
    """Three wordings of two stimuli that do not vary within: as two prompts."""
    values = {"u": 0.3, "v": 0.1}
    wordings = [
        one(f"{k} {unit}", v, unit=unit) for k in "xyz" for unit, v in values.items()
    ]
    found = mean_cosine(wordings, 0.95)
    # s² / 2 = .01, t of 1 degree of freedom 12.706
    assert (found.value, found.high) == pytest.approx(
        (0.2, 0.2 + 12.7062 * 0.1), abs=1e-4
    )
    single = mean_cosine(wordings[::2], 0.95)
    # one image a prompt says nothing
    assert (single.question, single.low) == (None, None)
    assert mean_cosine([one("a", 0.2, 0.4)], 0.95).question == "fixed_prompts"


def test_a_run_compared_with_itself_differs_by_zero() -> None:
    prompts = [one("a", 0.2, 0.4), one("b", 0.1, 0.3)]
    same = paired_difference(prompts, prompts, 0.95)
    assert same is not None and (same.value, same.low, same.high, same.p) == (
        0,
        0,
        0,
        1,
    )
    assert paired_difference(prompts, [one("c", 0.1)], 0.95) is None


def test_only_images_of_one_prompt_and_index_are_paired() -> None:
    first = [PromptCosines("a", "", "", np.array([0, 2]), np.array([0.5, 0.1]))]
    second = [PromptCosines("a", "", "", np.array([1, 2]), np.array([9.0, 0.3]))]
    found = paired_difference(first, second, 0.95)
    assert found is not None and (found.value, found.n_images) == (
        pytest.approx(-0.2),
        1,
    )


def test_a_group_of_one_stimulus_is_not_tested() -> None:
    group = [one("a", 0.2, 0.4, unit="u"), one("b", 0.1, 0.3, unit="u")]
    assert difference_from_others(group, [one("c", 0.1), one("d", 0.2)], 0.95) is None


def shared_words(
    rng: np.random.Generator, images: int, prompts: Needs
) -> list[PromptCosines]:
    """Words move cosines twice as much as stimuli do, whichever stimulus they stand beside."""
    moved: dict[str, float] = {"": 0.0}
    found = []
    for need in prompts.prompts:
        unit = moved.setdefault(need.unit, rng.normal(0, BETWEEN))
        word = moved.setdefault(need.word, rng.normal(0, 2 * BETWEEN))
        cosines = rng.normal(
            0.25 + unit + word + rng.normal(0, BETWEEN / 2), WITHIN, images
        )
        keys = need.prompt, need.group, need.unit
        found.append(PromptCosines(*keys, np.arange(images), cosines, need.word))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("images", "pairing"), [(10, "cross"), (100, "cross"), (10, "cycle")]
)
def test_words_that_stimuli_share_are_resampled_too(images: int, pairing: str) -> None:
    """Clustered by stimulus alone, .55 to .80 of the intervals cover."""
    stimuli = range(6 if pairing == "cross" else 20)
    task = simulated_task(
        T2iatTask, method="t2iat", pairing=pairing,
        concepts={s: {"name": s, "stimuli": [f"{s}{n}" for n in stimuli]} for s in "XY"},
        attributes={s: {"name": s, "words": [f"{s}{n}" for n in range(8)]} for s in "AB"},
        prompts={"neutral": "a {stimulus}", "guided": "a {attribute} {stimulus}"},
    )  # fmt: skip
    found = needs(task, Settings())
    assert found.named("word")["a B3 X1"] == "B3" and found.named("word")["a X1"] == ""
    rng, hits = np.random.default_rng([images, len(stimuli)]), []
    for _ in range(40):
        first, second = (shared_words(rng, images, found) for _ in range(2))
        split = [
            [p for p in first if (p.group == "X, A") is one] for one in (True, False)
        ]
        both = (
            difference_from_others(*split, 0.95),
            paired_difference(second, first, 0.95),
        )
        hits.append([one.low <= 0 <= one.high for one in both])
    assert np.mean(hits, axis=0).min() >= 0.87


def test_words_of_one_stimulus_or_a_single_word_add_nothing() -> None:
    plain = [
        one(f"{k} {u}", v + k / 9, unit=u)
        for k in (1, 2)
        for u, v in (("u", 0.3), ("v", 0.1))
    ]
    single = [replace(p, word="joy") for p in plain]
    own = [replace(p, word=p.prompt) for p in plain]
    assert mean_cosine(single, 0.95) == mean_cosine(plain, 0.95)
    assert mean_cosine(own, 0.95) == mean_cosine(plain, 0.95)


def test_differences_are_students_and_welchs_where_every_prompt_stands_alone() -> None:
    first, second = np.random.default_rng(0).normal(0.3, 0.05, (2, 8))
    mine, theirs, others = (
        [one(f"{name}{k}", value) for k, value in enumerate(values)]
        for name, values in (("p", first), ("p", second), ("q", second))
    )
    for found, known in (
        (paired_difference(mine, theirs, 0.95), ttest_rel(first, second)),
        (
            difference_from_others(mine, others, 0.95),
            ttest_ind(first, second, equal_var=False),
        ),
    ):
        assert found.value == pytest.approx(first.mean() - second.mean())
        assert found.p == pytest.approx(known.pvalue)
        assert (found.low, found.high) == pytest.approx(
            tuple(known.confidence_interval())
        )
