"""Agreement of images with their prompts: by hand, and with planted differences and none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from t2ibench.errors import MissingEvidence
from t2ibench.methods import needs
from t2ibench.methods.core.contract import SyntheticEvidence
from t2ibench.methods.core.evidence import Needs, PromptNeed
from t2ibench.methods.core.text_image_alignment import (
    PromptCosines,
    difference_from_others,
    mean_cosine,
    paired_difference,
    prompt_cosines,
)
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from tools.calibration.cells import simulated_task

WITHIN, BETWEEN, INTERACTION = 0.03, 0.02, 0.01  # spread of images, prompts and models


def one(prompt: str, *cosines: float, group: str = "", unit: str = "") -> PromptCosines:
    return PromptCosines(prompt, group, unit, np.arange(len(cosines)), np.array(cosines))


def test_cosines_are_those_of_the_embeddings() -> None:
    asked = Needs((PromptNeed("a", 3, "x", "u", "w"), PromptNeed("b", 2, "y")), ("a", "b"))
    evidence = SyntheticEvidence(asked)
    first, second = prompt_cosines(asked, evidence)
    text = evidence.texts(["a"])[0]
    assert first.cosines.tolist() == pytest.approx(evidence.images("a", 3).embeddings @ text)
    assert (first.group, first.unit, second.group, second.unit) == ("x", "u", "y", "")
    assert first.indices.tolist() == [0, 1, 2]
    assert (first.word, second.word) == ("w", "")
    refused = prompt_cosines(asked, SyntheticEvidence(asked, without=["b"]))
    assert [found.prompt for found in refused] == ["a"]
    with pytest.raises(MissingEvidence):
        prompt_cosines(Needs(asked.prompts, ("a",)), SyntheticEvidence(Needs(asked.prompts)))


def test_prompts_of_one_stimulus_are_one_unit() -> None:
    """Three wordings of two stimuli that do not vary within: as two prompts."""
    values = {"u": 0.3, "v": 0.1}
    wordings = [one(f"{k} {unit}", v, unit=unit) for k in "xyz" for unit, v in values.items()]
    found = mean_cosine(wordings, 0.95)
    # s² / 2 = .01, t of 1 degree of freedom 12.706
    assert (found.value, found.high) == pytest.approx((0.2, 0.2 + 12.7062 * 0.1), abs=1e-4)
    single = mean_cosine(wordings[::2], 0.95)
    assert (single.question, single.low) == (None, None)  # one image a prompt says nothing
    assert mean_cosine([one("a", 0.2, 0.4)], 0.95).question == "fixed_prompts"


def test_a_run_and_itself_differ_by_0() -> None:
    prompts = [one("a", 0.2, 0.4), one("b", 0.1, 0.3)]
    same = paired_difference(prompts, prompts, 0.95)
    assert same is not None and (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)
    assert paired_difference(prompts, [one("c", 0.1)], 0.95) is None


def test_only_images_of_one_prompt_and_index_are_paired() -> None:
    first = [PromptCosines("a", "", "", np.array([0, 2]), np.array([0.5, 0.1]))]
    second = [PromptCosines("a", "", "", np.array([1, 2]), np.array([9.0, 0.3]))]
    found = paired_difference(first, second, 0.95)
    assert found is not None and (found.value, found.n_images) == (pytest.approx(-0.2), 1)


def test_a_group_of_one_stimulus_is_not_tested() -> None:
    group = [one("a", 0.2, 0.4, unit="u"), one("b", 0.1, 0.3, unit="u")]
    assert difference_from_others(group, [one("c", 0.1), one("d", 0.2)], 0.95) is None


def worlds(
    rng: np.random.Generator, images: int, of_group: float, of_model: float
) -> tuple[list[PromptCosines], list[PromptCosines]]:
    """Two runs over 8 + 12 stimuli with two wordings each."""
    runs: tuple[list[PromptCosines], list[PromptCosines]] = ([], [])
    for group, count, shift in (("a", 8, of_group), ("b", 12, 0.0)):
        for unit in range(count):
            base = 0.25 + shift + rng.normal(0, BETWEEN)
            change = of_model + rng.normal(0, INTERACTION)
            for wording in ("x", "y"):
                level = base + rng.normal(0, BETWEEN / 2)
                for run, here in zip(runs, (level, level + change), strict=True):
                    cosines = rng.normal(here, WITHIN, images)
                    name = f"{group}{unit}"
                    run.append(
                        PromptCosines(f"{wording} {name}", group, name, np.arange(images), cosines)
                    )
    return runs


def rates(images: int, of_group: float, of_model: float, repeats: int) -> Sequence[float]:
    """How often each test rejects and its interval covers, and the mean estimates."""
    rng = np.random.default_rng([images, int(1000 * of_group)])
    rows = []
    for _ in range(repeats):
        first, second = worlds(rng, images, of_group, of_model)
        model = paired_difference(second, first, 0.95)
        split = [[p for p in first if p.group == name] for name in "ab"]
        group = difference_from_others(*split, 0.95)
        for found, truth in ((model, of_model), (group, of_group)):
            rows.append((found.p < 0.05, found.low <= truth <= found.high, found.value))
    return np.array(rows, dtype=float).reshape(repeats, 6).mean(axis=0).tolist()


def shared_words(rng: np.random.Generator, images: int, prompts: Needs) -> list[PromptCosines]:
    """Words move cosines twice as much as stimuli do, whichever stimulus they stand beside."""
    moved: dict[str, float] = {"": 0.0}
    found = []
    for need in prompts.prompts:
        unit = moved.setdefault(need.unit, rng.normal(0, BETWEEN))
        word = moved.setdefault(need.word, rng.normal(0, 2 * BETWEEN))
        cosines = rng.normal(0.25 + unit + word + rng.normal(0, BETWEEN / 2), WITHIN, images)
        keys = need.prompt, need.group, need.unit
        found.append(PromptCosines(*keys, np.arange(images), cosines, need.word))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("images", "pairing"), [(10, "cross"), (100, "cross"), (10, "cycle")])
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
        split = [[p for p in first if (p.group == "X, A") is one] for one in (True, False)]
        both = difference_from_others(*split, 0.95), paired_difference(second, first, 0.95)
        hits.append([one.low <= 0 <= one.high for one in both])
    assert np.mean(hits, axis=0).min() >= 0.87


def test_words_of_one_stimulus_or_a_single_word_add_nothing() -> None:
    plain = [
        one(f"{k} {u}", v + k / 9, unit=u) for k in (1, 2) for u, v in (("u", 0.3), ("v", 0.1))
    ]
    single = [replace(p, word="joy") for p in plain]
    own = [replace(p, word=p.prompt) for p in plain]
    assert mean_cosine(single, 0.95) == mean_cosine(plain, 0.95)
    assert mean_cosine(own, 0.95) == mean_cosine(plain, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("images", [10, 100])
def test_differences_are_recovered_and_without_one_a_test_in_twenty_rejects(images: int) -> None:
    """Four standard errors around 5 % at 600 worlds."""
    model, covers, _, group, group_covers, _ = rates(images, 0.0, 0.0, 600)
    for share in (model, 1 - covers, group, 1 - group_covers):
        assert 0.05 - 0.036 < share < 0.05 + 0.036
    model, covers, change, group, group_covers, shift = rates(images, 0.04, -0.02, 200)
    assert change == pytest.approx(-0.02, abs=0.001) and shift == pytest.approx(0.04, abs=0.003)
    assert model > 0.9 and group > 0.8 and min(covers, group_covers) > 0.89
