"""Any number of sets of stimuli, compared for any number of groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from t2ibench.methods import combine, method_of, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.occupations.describe import describe
from t2ibench.methods.occupations.design import group_prompts, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from t2ibench.stats import holm
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

QUICK = Settings(n_bootstrap=10, n_permutations=20, max_exact=10)
DIM, WORDS, IMAGES = 24, 5, 8
Shares = Sequence[Sequence[float]]  # of the groups, set by set


def make_task(
    n_sets: int, groups: str = "male female", **more: object
) -> OccupationsTask:
    sets = {f"set{s}": [f"word{s}{k}" for k in range(WORDS)] for s in range(n_sets)}
    parts: dict[str, object] = {
        "concept": {
            "name": "words",
            "stimuli": [word for one in sets.values() for word in one],
        },
        "groups": [{"name": name, "words": [name]} for name in groups.split()],
        "prompts": {
            "neutral": "a photo of {stimulus}",
            "guided": "a {attribute} with {stimulus}",
        },
        "sets": [{"name": name, "stimuli": one} for name, one in sets.items()],
        "images_per_prompt": IMAGES,
        "guided_images_per_prompt": 4,
    }
    return task_by_hand(OccupationsTask, "occupations", **{**parts, **more})


def make_evidence(task: OccupationsTask, shares: Shares, seed: int) -> HandEvidence:
    """Neutral images of set s show group g with probability shares[s][g], give or take .15."""
    rng = np.random.default_rng(seed)
    shown = {group.name: 4 * unit(rng.normal(size=DIM)) for group in task.groups}
    images, texts = {}, {}
    for share, one in zip(shares, task.sets, strict=True):
        for word in one.stimuli:
            centre = rng.normal(size=DIM)
            moved = rng.uniform(-0.15, 0.15)
            p = np.array([share[0] + moved, share[1] - moved, *share[2:]])
            picked = rng.choice(len(p), size=IMAGES, p=p)
            for prompt in neutral_prompts(task, word):
                means = np.array([shown[task.groups[g].name] for g in picked])
                images[prompt] = unit(
                    centre + means + 0.6 * rng.normal(size=means.shape)
                )
                texts[prompt] = unit(centre)
            for group in task.groups:
                for prompt in group_prompts(task, word, group):
                    noise = 0.6 * rng.normal(size=(4, DIM))
                    images[prompt] = unit(centre + shown[group.name] + noise)
                    texts[prompt] = unit(centre + shown[group.name])
    return HandEvidence(images, texts)


def results(task: OccupationsTask, shares: Shares, n: int) -> list[MethodResult]:
    return [score(task, make_evidence(task, shares, seed), QUICK) for seed in range(n)]


@pytest.mark.nightly
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_sets_that_lean_alike_do_not_differ(share: float) -> None:
    found = results(make_task(4), [(share, 1 - share)] * 4, 30)
    anything = [
        any(p < 0.05 for p in one.details["sets_holm"].values()) for one in found
    ]
    assert np.mean(anything) <= 0.17


@pytest.mark.nightly
def test_planted_differences_of_sets_are_recovered() -> None:
    leans = (0.6, 0.0, 0.0, -0.6)
    found = results(make_task(4), [((1 + x) / 2, (1 - x) / 2) for x in leans], 25)
    for first, second, truth in ((0, 3, 0.6), (0, 1, 0.3), (1, 2, 0.0)):
        pairs = [one.scores[f"sets:set{first}-set{second}"] for one in found]
        assert np.mean([pair.value for pair in pairs]) == pytest.approx(truth, abs=0.05)
    clear = [one.details["sets_holm"]["sets:set0-set3"] < 0.05 for one in found]
    assert np.mean(clear) >= 0.6
    said = describe(make_task(4), found[0])
    assert "Images of set0 lean further to men, and those of set3 to women." in said


@pytest.mark.nightly
def test_three_groups_are_compared_pair_by_pair() -> None:
    """The sets differ in how often they show the first two groups; the third has no part in it."""
    task = make_task(3, "male female neither")
    shares = [(0.7, 0.2, 0.1), (0.2, 0.7, 0.1), (0.45, 0.45, 0.1)]
    found = results(task, shares, 10)
    assert {len(one.details["sets_holm"]) for one in found} == {3 * 3}
    apart = [
        one.details["sets_holm"]["sets:set0-set1:male-female"] < 0.05 for one in found
    ]
    assert np.mean(apart) >= 0.8


def test_two_sets_agree_with_a_case_worked_by_hand() -> None:
    """From the leans of the rows alone, where the encoder sees the groups equally well."""
    task = make_task(2)
    found = score(task, make_evidence(task, [(0.8, 0.2), (0.4, 0.6)], 0), QUICK)
    pair = found.scores["sets:set0-set1"]
    rows = {row.name: row.scores["lean"].value for row in found.by}
    means = [np.mean([rows[word] for word in one.stimuli]) for one in task.sets]
    assert pair.value == pytest.approx((means[0] - means[1]) / 2, abs=0.03)
    low, high = pair.interval
    assert low < pair.value < high


def test_sets_are_compared_by_their_mean_over_encoders() -> None:
    task = make_task(3)
    found = results(task, [(0.8, 0.2), (0.4, 0.6), (0.5, 0.5)], 2)
    mean = combine(task, found, QUICK)
    pairs = [f"sets:{name}" for name in ("set0-set1", "set0-set2", "set1-set2")]
    for name in pairs:
        values = [one.scores[name].value for one in found]
        assert mean.scores[name].value == pytest.approx(np.mean(values))
    assert list(mean.details["sets_holm"].values()) == holm(
        [mean.scores[n].p for n in pairs]
    )
    assert combine(task, found[:1], QUICK).details == found[0].details


def test_what_cannot_be_compared_has_a_reason() -> None:
    task = make_task(2)
    evidence = make_evidence(task, [(0.5, 0.5)] * 2, 0)
    lacking = evidence.without(*(f"a photo of word1{k}" for k in range(WORDS - 1)))
    pair = score(task, lacking, QUICK).scores["sets:set0-set1"]
    assert pair.value is None and "fewer than two stimuli" in (pair.reason or "")


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["word00 word01"], "two or more"),
        (["word00", "word01"], "two"),
        (["word00 word01", "word01 wird02"], "'wird02' is not a stimulus"),
    ],
)
def test_sets_are_checked(sets: list[str], said: str) -> None:
    named = [{"name": words, "stimuli": words.split()} for words in sets]
    task = make_task(2, sets=named)
    assert any(said in finding.message for finding in method_of(task).check(task))


def test_a_task_without_sets_is_stored_without_the_key() -> None:
    assert "sets" not in make_task(2, sets=[]).model_dump()
    found = make_task(2)
    assert OccupationsTask.model_validate(found.model_dump()) == found
