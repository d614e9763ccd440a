"""T2IAT against a direct computation, and its invariants."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.association import cycle_words
from t2ibench.methods.t2iat.describe import describe
from t2ibench.methods.t2iat.design import stimuli_of
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

SETTINGS = Settings(n_bootstrap=500, n_permutations=2000)
X, Y = ["rose", "iris", "lily", "poppy"], ["ant", "bee", "wasp", "moth"]
PLEASANT, UNPLEASANT = ["joy", "love", "peace"], ["war", "evil", "agony"]


def concepts(x: list[str], y: list[str]) -> dict[str, object]:
    return {
        "X": {"name": "flowers", "stimuli": x},
        "Y": {"name": "insects", "stimuli": y},
    }


def make_task(**changes: object) -> T2iatTask:
    parts: dict[str, object] = {
        "concepts": concepts(X, Y),
        "attributes": {
            "A": {"name": "pleasant", "words": PLEASANT},
            "B": {"name": "unpleasant", "words": UNPLEASANT},
        },
        "prompts": {
            "neutral": "a photo of {stimulus}",
            "guided": "a photo of {stimulus}, {attribute}",
        },
        "images_per_prompt": 5,
        "guided_images_per_prompt": 3,
        "words_per_stimulus": 2,
    }
    return task_by_hand(T2iatTask, "t2iat", **{**parts, **changes})


def make_evidence(task: T2iatTask, bias: float, seed: int = 0) -> HandEvidence:
    """Images around their stimulus; X leans to A by `bias`, Y to B."""
    rng = np.random.default_rng(seed)
    dim = 16
    axis = unit(rng.normal(size=dim))
    centres = {name: rng.normal(size=dim) for name in X + Y}
    images, texts = {}, {}
    for stimulus in stimuli_of(task, Settings()):
        lean = bias if stimulus.concept == "flowers" else -bias
        prompts = [(prompt, lean, 5) for prompt in stimulus.neutral]
        for side, sign in (("A", 3.0), ("B", -3.0)):
            prompts += [(prompt, sign, 3) for prompt in stimulus.guided(side)]
        for prompt, lean, n in prompts:
            rows = centres[stimulus.word] + lean * axis
            images[prompt] = unit(rows + 0.6 * rng.normal(size=(n, dim)))
            texts[prompt] = unit(rows)
    return HandEvidence(images, texts)


def direct(evidence: HandEvidence, *, of_concept: bool = False) -> list[np.ndarray]:
    """Associations of X's and of Y's images in plain loops, from equation 2."""

    def shown(
        numbers: Iterable[int], stimuli: list[str], words: list[str]
    ) -> np.ndarray:
        prompts = [
            f"a photo of {stimuli[i]}, {w}"
            for i in numbers
            for w in cycle_words(words, i, 2)
        ]
        return np.concatenate(
            [evidence.images(prompt, 3).embeddings for prompt in prompts]
        )

    found: list[list[float]] = [[], []]
    for values, stimuli in zip(found, (X, Y), strict=True):
        for i, stimulus in enumerate(stimuli):
            matched = range(4) if of_concept else [i]
            a, b = (shown(matched, stimuli, words) for words in (PLEASANT, UNPLEASANT))
            for x in evidence.images(f"a photo of {stimulus}", 5).embeddings:
                values.append(
                    np.mean([x @ row for row in a]) - np.mean([x @ row for row in b])
                )
    return [np.array(values) for values in found]


def test_the_association_equals_the_direct_computation() -> None:
    task = make_task()
    evidence = make_evidence(task, 0.4)
    x, y = direct(evidence)
    result = score(task, evidence, SETTINGS)
    values = {name: found.value for name, found in result.scores.items()}
    apart = x.mean() - y.mean()
    assert values["differential_association"] == pytest.approx(apart)
    assert values["association_of_x"] == pytest.approx(x.mean())
    assert (result.n_images, result.n_prompts) == (8 * 5 + 8 * 4 * 3, 8 + 8 * 4)
    prompts = [side.reshape(4, 5).mean(axis=1) for side in (x, y)]
    expected = {
        "cohen": apart / np.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2),
        "weat": apart / np.concatenate([x, y]).std(ddof=1),
        "t2iat_code": apart / np.concatenate(prompts).std(ddof=0),
    }
    for convention, size in expected.items():
        found = score(make_task(effect_size=convention), evidence, SETTINGS)
        assert found.scores["effect_size"].value == pytest.approx(size)
        assert found.conventions["effect_size"]


def test_the_default_test_moves_whole_prompts_exactly() -> None:
    task = make_task()
    by_prompt, by_image = (
        score(one, make_evidence(task, 1.0), SETTINGS).scores[
            "differential_association"
        ]
        for one in (task, make_task(unit="image"))
    )
    assert (by_prompt.test, len(by_prompt.null)) == ("exact", 70)  # C(8, 4)
    assert by_prompt.p == pytest.approx(2 / 70)
    assert (by_image.test, by_image.p) == ("monte_carlo", pytest.approx(1 / 2001))


def test_match_concept_pools_the_attribute_images() -> None:
    task = make_task(match="concept")
    evidence = make_evidence(task, 0.4)
    result = score(task, evidence, SETTINGS)
    x, y = direct(evidence, of_concept=True)
    assert result.scores["association_of_x"].value == pytest.approx(x.mean())
    assert result.scores["association_of_y"].value == pytest.approx(y.mean())
    low, high = np.percentile(
        result.scores["differential_association"].boot, [2.5, 97.5]
    )
    assert low < result.scores["differential_association"].value < high


def test_a_stimulus_without_images_is_named_and_left_out() -> None:
    task = make_task()
    evidence = make_evidence(task, 0.4).without("a photo of ant", filtered=5)
    result = score(task, evidence, SETTINGS)
    assert "ant" in result.warnings[0]
    assert result.excluded["filtered"] == 5
    assert result.scores["differential_association"].value is not None
    # The rose of the same number has the same attribute words: it goes, too.
    assert {item.name for item in result.by} == set(X + Y) - {"ant", "rose"}
    assert "1 stimuli of the other concept" in result.warnings[1]


def test_a_concept_without_images_gives_no_score_and_never_zero() -> None:
    task = make_task()
    evidence = make_evidence(task, 0.4)
    insects = [
        prompt for prompt in evidence.prompts if any(name in prompt for name in Y)
    ]
    result = score(task, evidence.without(*insects), SETTINGS)
    assert result.headline.value is None
    assert "insects" in (result.reason or "")


def test_cross_pairing_has_a_guided_prompt_for_every_word() -> None:
    assert needs(make_task(pairing="cross"), SETTINGS).n_prompts == 8 + 8 * 6


def test_encoders_are_paired_and_averaged() -> None:
    task = make_task()
    results = [score(task, make_evidence(task, 0.4, seed), SETTINGS) for seed in (0, 1)]
    *each, both = (
        result.scores["differential_association"]
        for result in (*results, combine(task, results, SETTINGS))
    )
    assert both.value == pytest.approx(np.mean([one.value for one in each]))
    assert both.p is not None and both.boot.std() < max(one.boot.std() for one in each)


TOLD = "Images of flowers look more like those with {}, images of insects more like those with {}."


@pytest.mark.parametrize(
    ("bias", "says"),
    [
        (1.0, TOLD.format("pleasant", "unpleasant")),
        (-1.0, TOLD.format("unpleasant", "pleasant")),
        (0.0, "Not clear whether images of flowers or images of insects look more like those with "
         "pleasant."),
    ],
)  # fmt: skip
def test_the_description_has_the_direction_that_the_test_shows(
    bias: float, says: str
) -> None:
    task = make_task()
    assert describe(task, score(task, make_evidence(task, bias), SETTINGS)) == says


def test_the_headline_is_half_the_difference_of_the_leans_by_hand() -> None:
    """Every direction is that of (1, -1). X: 3 and 4 of 4 images are A's, so leans .5 and 1."""
    task = make_task(
        concepts=concepts(["rose", "iris"], ["ant", "bee"]),
        prompts={"neutral": "{stimulus}", "guided": "{stimulus} {attribute}"},
        images_per_prompt=4,
        guided_images_per_prompt=2,
        words_per_stimulus=1,
    )
    a, b = [1.0, 0.0, 2.0], [0.0, 1.0, 2.0]
    images, texts = {}, {}
    for stimulus, lean in (("rose", 0.5), ("iris", 1.0), ("ant", -0.5), ("bee", -1.0)):
        shown = round(2 * (1 + lean))
        images[stimulus] = [a] * shown + [b] * (4 - shown)
        texts[stimulus] = [(1 + lean) / 2, (1 - lean) / 2, 2.0]
        images |= {f"{stimulus} {word}": [a, a] for word in PLEASANT}
        images |= {f"{stimulus} {word}": [b, b] for word in UNPLEASANT}
    texts = {prompt: rows[0] for prompt, rows in images.items()} | texts
    result = score(task, HandEvidence(images, texts), SETTINGS)
    headline = result.headline
    assert headline.value == pytest.approx(0.75)
    assert [item.scores["lean"].value for item in result.by] == pytest.approx(
        [0.5, 1.0, -0.5, -1]
    )
    assert result.scores["lean_of_x"].value == pytest.approx(0.75)
    assert result.scores["lean_of_y"].value == pytest.approx(-0.75)
    # (s N - L D) / D of the four is -.25, .25, -.25, .25: the means vary by .125 / 2 in X and in Y.
    low, high = headline.chosen.ci_low, headline.chosen.ci_high
    half = 4.302653 * np.sqrt(2 * 0.0625) / 2  # t(2), half of a difference
    assert (low, high) == pytest.approx((0.75 - half, 0.75 + half), rel=1e-4)
    assert headline.question == "prompt_population" and headline.chosen.df == 2
    these = headline.inference["fixed_prompts"]
    # N of rose and of ant varies by 4 (1 / 4), so a mean lean by 1 / 4 / 4; t(3 + 3), half of both.
    half = 2.446912 * np.sqrt(2 / 16) / 2
    assert (these.ci_low, these.ci_high) == pytest.approx(
        (0.75 - half, 0.75 + half), rel=1e-4
    )
    assert result.scores["lean_text"].value == pytest.approx(0.75)
    assert result.scores["amplification"].value == pytest.approx(0.0)


def test_a_lean_that_both_concepts_share_cancels() -> None:
    """Both lean by .6, and the attribute is three times as visible in flowers as in insects."""
    task = make_task(images_per_prompt=40, guided_images_per_prompt=10)
    rng = np.random.default_rng(2)
    axis = unit(rng.normal(size=16))
    images, texts = {}, {}
    for stimulus in stimuli_of(task, Settings()):
        strength = 0.3 if stimulus.side == "X" else 0.1
        centre = rng.normal(size=16) / 4
        centre -= (centre @ axis) * axis
        for prompt, lean, n in [
            (stimulus.neutral[0], 0.6, 40),
            *((prompt, 1.0, 10) for prompt in stimulus.guided("A")),
            *((prompt, -1.0, 10) for prompt in stimulus.guided("B")),
        ]:
            sides = np.where(np.arange(n) < n * (1 + lean) / 2, 1.0, -1.0)
            rows = centre + strength * np.outer(sides, axis)
            images[prompt] = rows + 0.01 * rng.normal(size=(n, 16))
            texts[prompt] = centre + lean * strength * axis
    result = score(task, HandEvidence(images, texts), SETTINGS)
    assert result.scores["lean_of_x"].value == pytest.approx(0.6, abs=0.05)
    assert result.headline.value == pytest.approx(0.0, abs=0.03)
    assert all(found.p > 0.05 for found in result.headline.inference.values())
    # The published score does not cancel it.
    assert result.scores["differential_association"].p == pytest.approx(2 / 70)


def test_runs_are_paired_by_stimulus() -> None:
    task = make_task()
    one, same = (score(task, make_evidence(task, 0.5), SETTINGS) for _ in range(2))
    (part,), (its,) = one.headline.parts, same.headline.parts
    assert part.influence.same(its.influence)
    assert part.influence.strata == ("stimuli of X", "stimuli of Y")
    assert part.influence.unit.tolist() == [0, 1, 2, 3] * 2
    half = (one.headline.chosen.ci_high - one.headline.chosen.ci_low) / 2
    # t(6)
    assert half == pytest.approx(2.447 * np.sqrt(part.influence.variance), rel=0.05)
    without = make_evidence(task, 0.5).without("a photo of ant")
    (fewer,) = score(task, without, SETTINGS).headline.parts
    assert fewer.influence.unit.tolist() == [1, 2, 3, 1, 2, 3]


def test_an_invisible_attribute_makes_a_task_inconclusive() -> None:
    task = make_task()
    rng = np.random.default_rng(5)
    evidence = make_evidence(task, 0.4)
    guided = [prompt for prompt in evidence.prompts if "," in prompt]
    noise = {prompt: unit(rng.normal(size=(3, 16))) for prompt in guided}
    result = score(task, evidence.with_images(noise), SETTINGS)
    assert result.headline.value is None and result.headline.p is not None
    assert result.reason is None
    assert "hardly tells images with pleasant" in result.inconclusive
    assert describe(task, result).startswith("Cannot tell: the encoder hardly tells")
    assert result.scores["differential_association"].value is not None


def test_one_stimulus_a_concept_allows_inference_about_these_prompts_alone() -> None:
    task = make_task(concepts=concepts(["rose"], ["ant"]))
    result = score(task, make_evidence(task, 1.5), SETTINGS)
    assert result.headline.question == "fixed_prompts"
    assert result.headline.chosen.p is not None
    assert "a single stimulus" in result.headline.inference["prompt_population"].reason
    assert {"a photo of rose", "a photo of ant"} <= set(
        result.headline.parts[0].influence.strata
    )


def test_single_images_have_leans_but_no_intervals_of_their_own() -> None:
    task = make_task(
        images_per_prompt=1, guided_images_per_prompt=1, words_per_stimulus=1
    )
    result = score(task, make_evidence(task, 2.5), SETTINGS)
    assert (
        result.headline.question == "prompt_population"
        and result.headline.p is not None
    )
    assert result.headline.inference["fixed_prompts"].p is None
    assert result.by[0].scores["lean"].p is None
    assert result.by[0].scores["association"].value is not None


@pytest.mark.parametrize("pairing", ["cycle", "cross"])
@pytest.mark.parametrize(
    "missing",
    [
        ["a photo of rose, joy", "a photo of rose, love"],
        ["a photo of poppy, agony", "a photo of lily, peace", "a photo of ant"],
    ],
)
def test_missing_images_of_words_of_unequal_strength_make_no_lean(
    pairing: str, missing: list[str]
) -> None:
    """Neutral images halfway, so no lean; 'joy' is seen three times as clearly as 'love'."""
    task = make_task(pairing=pairing)
    strength = {
        "joy": 3.0,
        "love": 1.0,
        "peace": 2.0,
        "war": -1.0,
        "evil": -3.0,
        "agony": -2.0,
    }
    rng = np.random.default_rng(1)
    axis, scene = np.eye(16)[:2]
    images, texts = {}, {}
    for prompt in needs(task, SETTINGS).images_by_prompt:
        seen = strength.get(prompt.rpartition(", ")[2], 0.0)
        images[prompt] = 20 * scene + seen * axis + 0.01 * rng.normal(size=(4, 16))
        texts[prompt] = images[prompt][0]
    evidence = HandEvidence(images, texts)
    absent = [prompt for prompt in missing if prompt in images]
    result = score(task, evidence.without(*absent), SETTINGS)
    assert absent and result.headline.value == pytest.approx(0.0, abs=0.05)
    by = {item.name for item in result.by}
    assert not [name for name in by if any(f" {name}" in prompt for prompt in absent)]


def test_neutral_alternatives_are_prompts_of_one_wording() -> None:
    """Two neutral subjects are two prompts, and no attribute prompt counts more than once."""
    guided = "a photo of a {stimulus}, {attribute}"
    both, plain = (
        make_task(prompts={"neutral": neutral, "guided": guided})
        for neutral in ("a {big|small} {stimulus}", "a big {stimulus}")
    )
    found, alone = (needs(task, SETTINGS).images_by_prompt for task in (both, plain))
    assert set(found) - set(alone) == {f"a small {word}" for word in X + Y}
    assert set(alone) <= set(found)
    evidence = make_evidence(both, 0.5)
    # Where both show the same, the means are those of one.
    pairs = {f"a small {word}": f"a big {word}" for word in X + Y}
    same = {small: evidence.images(big, 5).embeddings for small, big in pairs.items()}
    evidence = evidence.with_images(same)
    values = [score(task, evidence, SETTINGS).headline.value for task in (both, plain)]
    # But for noise: twice as many prompts tell how much prompts vary.
    assert values[0] == pytest.approx(values[1], rel=1e-3)
