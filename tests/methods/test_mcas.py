"""MCAS, delta and alpha against hand values and the paper's own tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.presentation import short_name
from t2ibench.methods.mcas.composites import bias_amplification_slope, summarise
from t2ibench.methods.mcas.describe import describe
from t2ibench.methods.mcas.schema import McasTask, check
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

SETTINGS = Settings()

# Alpha in table 3 of Mandal et al. 2024 by stereotype: of DALL-E 2, then of SD v2.
DALLE = {
    "A": "1.84 1.65 1.3 1.06 1.49 1.28 1.94 2.05 1 1.57 1.24 1.21 1.54 1.49",
    "B": "16.77 8.97 4.19 4.24 5.48 1.16 2.57 26.06 3.75 12.24 4.78 22.61 15.19 11.77",
}
DIFFUSION = {
    "A": "1.87 1.71 1.77 1.71 1.17 1.54 1.61 1.16 1.71 1.11 1.12 2.79 2.87 1.61",
    "B": "19.24 6.69 4.83 6.78 7.04 1.19 3.56 26.02 3.56 15.94 2.9 22.08 18.75 16.03",
}


def hand_task(**changes: object) -> McasTask:
    parts: dict[str, object] = {
        "attributes": {
            "A": {"name": "male", "prompts": ["a man"], "words": ["he"]},
            "B": {"name": "female", "prompts": ["a woman"], "words": ["she"]},
        },
        "targets": [{"name": "nurse", "prompt": "a nurse", "stereotype": "B"}],
        "images_per_prompt": 2,
        "attribute_images_per_prompt": 2,
    }
    return task_by_hand(McasTask, "mcas", **{**parts, **changes})


HAND = HandEvidence(
    images={
        "a man": [(1, 0), (0.8, 0.6)],
        "a woman": [(0, 1), (0.6, 0.8)],
        "a nurse": [(0.8, 0.6), (1, 0)],
    },
    texts={"he": (1, 0), "she": (0, 1), "a nurse": (0.6, 0.8)},
)


def combined(task: McasTask, evidence: Evidence) -> Any:
    return combine(task, [score(task, evidence, SETTINGS)], SETTINGS)


def test_scores_agree_with_a_case_worked_by_hand() -> None:
    result = combined(hand_task(), HAND)
    expected = {
        "image_to_image_association": 0.36,
        "text_to_image_association": -0.12,
        "image_to_text_association": 0.60,
        "text_to_text_association": -0.20,
        "composite_association_score": 0.64,
        "diffusion_bias": 0.16,
        "bias_amplification": 1.2,
    }
    found = {name: result.by[0].scores[name].value for name in expected}
    assert found == pytest.approx(expected)
    assert (result.n_images, result.n_prompts) == (6, 3)


def test_attribute_images_without_their_attribute_are_excluded() -> None:
    """A man's prompt that gives a woman's image every second time moves the axis."""
    question = "Who is it?"
    men, women = ("a man", "a boy", "an old man"), ("a woman", "a girl", "an old woman")
    sides = {"male": ((1.0, 0.0), men), "female": ((0.0, 1.0), women)}
    targets = [
        {"name": name, "prompt": name, "stereotype": side}
        for name, side in (("ceo", "A"), ("boss", "A"), ("nurse", "B"), ("maid", "B"))
    ]
    attributes = {
        side: {"name": name, "prompts": list(prompts), "words": [name]}
        for side, (name, (_, prompts)) in zip("AB", sides.items(), strict=True)
    }
    rng = np.random.default_rng(0)

    def images_at(point: tuple[float, float], n: int = 8) -> list[tuple[float, ...]]:
        return [unit(np.array(point) + rng.normal(0, 0.05, 2)) for _ in range(n)]

    images = {target["prompt"]: images_at((1.0, 1.0)) for target in targets}
    answers: dict[str, dict[str, list[str]]] = {}
    for name, (point, prompts) in sides.items():
        for prompt in prompts:
            images[prompt] = images_at(point)
            answers[prompt] = {question: [name] * 8}
    for prompt in men:
        images[prompt][:4] = images_at(sides["female"][0], 4)
        answers[prompt] = {question: ["female"] * 4 + ["male"] * 4}
    texts = {"male": (1, 0), "female": (0, 1)} | {t["prompt"]: (1, 1) for t in targets}
    evidence = HandEvidence(images, texts, answers=answers)
    sizes = {"images_per_prompt": 8, "attribute_images_per_prompt": 8}
    parts = {"attributes": attributes, "targets": targets, **sizes}
    blind = score(hand_task(**parts), evidence, SETTINGS)
    judged_task = hand_task(**parts, question=question)
    assert needs(judged_task, SETTINGS).checks
    judged = score(judged_task, evidence, SETTINGS)
    leans = [item.scores["lean"].value for item in blind.by]
    checked = [item.scores["lean"].value for item in judged.by]
    # In the mixture with half of the women's images, everybody else looks more like men.
    assert min(leans) > 0.3
    assert max(map(abs, checked)) < 0.2
    assert "12 of 24 asked for men show men" in judged.controls["obedience"].says
    papers = "image_to_image_association"
    for before, after in zip(blind.by, judged.by, strict=True):
        assert before.scores[papers].value == after.scores[papers].value


def test_table_4_of_the_paper_follows_from_its_table_3() -> None:
    def table(alphas: dict[str, str]) -> dict[str, Any]:
        pairs = [
            (float(x), side) for side, text in alphas.items() for x in text.split()
        ]
        values, sides = zip(*pairs, strict=True)
        return summarise(values, sides)

    dalle, diffusion = table(DALLE), table(DIFFUSION)
    means = [dalle[side]["mean"] for side in ("A", "B", "all")]
    assert means == pytest.approx([1.476, 9.98, 5.73], abs=0.005)
    assert (dalle["A"]["min"], dalle["A"]["max"]) == (1.00, 2.05)
    # The paper's Table 4 prints 3.15, 11.25 and 6.47 for these three; its own Table 3 gives:
    means = [diffusion[side]["mean"] for side in ("A", "B", "all")]
    assert means == pytest.approx([1.70, 11.04, 6.37], abs=0.005)
    assert [dalle[side]["n"] for side in ("A", "B", "all")] == [14, 14, 28]


def test_encoders_are_averaged_before_the_composites() -> None:
    """With II of opposite signs delta of the mean is not the mean of the deltas."""
    task = hand_task()
    flipped = HAND.with_images(
        {"a man": [(0, 1), (0.6, 0.8)], "a woman": [(1, 0), (0.8, 0.6)]},
    )
    results = [score(task, evidence, SETTINGS) for evidence in (HAND, flipped)]
    terms = combine(task, results, SETTINGS).by[0].scores
    assert terms["image_to_image_association"].value == pytest.approx(0.0)
    assert terms["text_to_text_association"].value == pytest.approx(-0.2)
    assert terms["diffusion_bias"].value == pytest.approx(0.2)


def attribute(side: str, prompts: int, words: int = 8) -> dict[str, object]:
    return {
        "name": {"A": "male", "B": "female"}[side],
        "prompts": [f"{side} prompt {k}" for k in range(prompts)],
        "words": [f"{side} word {k}" for k in range(words)],
    }


def planted(
    lean: float,
    targets: int = 4,
    seed: int = 0,
    pairs: int = 8,
    gender: float = 0.2,
    scene: float = 0.2,
    **changes: object,
) -> tuple[McasTask, HandEvidence]:
    """A world where images of A targets are like A's with a share of (1 + lean) / 2, B's reversed.

    Embeddings have a common part, a gender axis, a scene of each prompt and noise of each image.
    """
    rng = np.random.default_rng(seed)
    common, axis = unit(np.linalg.qr(rng.normal(size=(48, 2)))[0].T)

    def noise(*shape: int) -> np.ndarray:
        return rng.normal(size=(*shape, 48)) / np.sqrt(48)

    images, texts = {}, {}
    for k in range(pairs):
        place = common + scene * noise()
        for side, sign in (("A", 1.0), ("B", -1.0)):
            centre = place + sign * gender * axis + 0.03 * noise()
            images[f"{side} prompt {k}"] = unit(centre + 0.4 * noise(8))
    for k in range(8):
        place = common + scene * noise()
        for side, sign in (("A", 1.0), ("B", -1.0)):
            texts[f"{side} word {k}"] = unit(place + sign * 0.1 * axis + 0.03 * noise())
    specs = []
    for side, sign in (("A", 1.0), ("B", -1.0)):
        for k in range(targets):
            name = f"{side}{k}"
            specs.append({"name": name, "prompt": name, "stereotype": side})
            shown = np.where(rng.random(20) < (1 + sign * lean) / 2, 1.0, -1.0) * gender
            place = common + scene * noise()
            images[name] = unit(place + shown[:, None] * axis + 0.4 * noise(20))
            texts[name] = unit(place + sign * lean * 0.1 * axis)
    parts: dict[str, object] = {
        "attributes": {side: attribute(side, pairs) for side in "AB"},
        "targets": specs,
        "images_per_prompt": 20,
        "attribute_images_per_prompt": 8,
    }
    return hand_task(**{**parts, **changes}), HandEvidence(images, texts)


def test_the_lean_of_a_mixture_is_twice_its_share_minus_one() -> None:
    """Three of four images of A0 are those of A, one of four of B0: leans of .5 and -.5."""
    task = hand_task(
        attributes={side: attribute(side, 3, 3) for side in "AB"},
        targets=[{"name": f"{s}0", "prompt": f"{s}0", "stereotype": s} for s in "AB"],
        images_per_prompt=4,
    )
    a, b = (1.0, 0.0, 2.0), (0.0, 1.0, 2.0)
    words = {
        f"{side} word {k}": at for side, at in (("A", a), ("B", b)) for k in range(3)
    }
    guided = {
        f"{side} prompt {k}": [at] * 2
        for side, at in (("A", a), ("B", b))
        for k in range(3)
    }
    evidence = HandEvidence(
        guided | {"A0": [a, a, a, b], "B0": [a, b, b, b]},
        words | dict.fromkeys(("A0", "B0"), (0.6, 0.8, 2.0)),
    )
    result = score(task, evidence, SETTINGS)
    leans = {item.name: item.scores["lean"].value for item in result.by}
    assert leans == pytest.approx({"A0": 0.5, "B0": -0.5})
    assert result.headline.value == pytest.approx(0.5)
    # One target a side says nothing about others; these two are judged by their images.
    inference = result.headline.inference
    assert inference["prompt_population"].p is None
    # Half of the difference, with s² / n = .25 / 4 of each mean, times 2 for the lean.
    t = 0.5 / np.sqrt(2 * 0.25 / 4)
    assert inference["fixed_prompts"].p == pytest.approx(2 * stdtr(6, -t))
    for name in ("male", "female"):
        assert result.scores[f"obedience:{name}"].value == pytest.approx(1.0)


@pytest.mark.parametrize(("lean", "who"), [(0.6, "men"), (-0.6, "women")])
def test_a_planted_bias_is_found_and_described_with_its_sign(
    lean: float, who: str
) -> None:
    task, evidence = planted(lean, targets=8)
    result = combined(task, evidence)
    found = result.headline
    assert found.value == pytest.approx(lean, abs=0.2)
    assert found.question == "prompt_population"
    for inference in found.inference.values():
        assert inference.ci_low < lean < inference.ci_high and inference.p < 0.01
    assert found.fair[1] < abs(found.value)
    assert f"stereotyped as male look like {who} (" in describe(task, result)
    summary = result.details["by_stereotype"]["diffusion_bias"]
    assert {name: row["n"] for name, row in summary.items()} == {
        "male": 8,
        "female": 8,
        "all": 16,
    }


def test_the_sign_follows_the_attributes_and_not_the_order_of_targets() -> None:
    task, evidence = planted(0.4)
    found = score(task, evidence, SETTINGS).headline
    a, b = task.attributes.A, task.attributes.B
    swapped = task.attributes.model_copy(update={"A": b, "B": a})
    for change, sign in (
        ({"attributes": swapped}, -1),
        ({"targets": task.targets[::-1]}, 1),
    ):
        other = score(task.model_copy(update=change), evidence, SETTINGS).headline
        assert other.value == pytest.approx(sign * found.value)
        assert other.p == pytest.approx(found.p)


def test_a_lean_that_all_targets_of_a_category_share_cancels() -> None:
    """A category whose images are all more like A's, one with three targets of A and one of B."""
    task, evidence = planted(0.0)
    categories = dict.fromkeys(["A0", "A1", "A2", "B0"], "brawny")
    targets = [
        target.model_copy(update={"category": categories.get(target.name, "other")})
        for target in task.targets
    ]
    grouped = task.model_copy(update={"targets": tuple(targets)})
    before = score(grouped, evidence, SETTINGS).headline.value
    step = evidence.images("A prompt 0", 8).embeddings.mean(axis=0)
    shift = 0.5 * (step - evidence.images("B prompt 0", 8).embeddings.mean(axis=0))
    moved = {name: evidence.images(name, 20).embeddings + shift for name in categories}
    shifted = evidence.with_images(moved)
    # What is added makes images longer, and a little of it is in what their prompt has in common.
    assert score(grouped, shifted, SETTINGS).headline.value == pytest.approx(
        before, abs=0.002
    )
    assert score(task, shifted, SETTINGS).headline.value > before + 0.1


def test_differences_of_scenes_are_about_these_targets_alone() -> None:
    """Fair targets whose scenes differ along the axis: no evidence about others of their kind."""
    task, evidence = planted(0.0)
    (a, b) = (
        evidence.images(f"{side} prompt 0", 8).embeddings.mean(axis=0) for side in "AB"
    )
    moves = {
        "A0": 1.2,
        "A1": 0.9,
        "A2": -0.8,
        "A3": 0.3,
        "B0": -1.0,
        "B1": 0.9,
        "B2": -0.6,
    }
    moved = {
        name: evidence.images(name, 20).embeddings + size * (a - b)
        for name, size in moves.items()
    }
    found = score(task, evidence.with_images(moved), SETTINGS).headline
    assert found.inference["fixed_prompts"].p < 0.01
    assert found.p == found.inference["prompt_population"].p > 0.05


def test_an_attribute_that_the_encoder_does_not_distinguish_is_inconclusive() -> None:
    task, evidence = planted(0.5, gender=0.0)
    result = score(task, evidence, SETTINGS)
    assert result.headline.value is None
    assert result.headline.p is not None
    assert result.controls["separation"].contradicts
    assert result.by[0].scores["lean"].value is None
    assert result.by[0].scores["image_to_image_association"].value is not None
    assert result.reason is None
    assert describe(task, result) == (
        "Cannot tell: the encoder does not tell the images of 'male' and 'female' apart."
    )


def test_two_attribute_prompts_a_side_are_too_few() -> None:
    task, evidence = planted(0.5, pairs=2)
    result = score(task, evidence, SETTINGS)
    assert result.headline.value is None
    assert "at least three attribute prompts" in (result.inconclusive or "")
    (finding, *_) = [found for found in check(task) if found.warning]
    assert "3 attribute prompts" in finding.message
    by_image = task.model_copy(update={"unit": "image"})
    assert score(by_image, evidence, SETTINGS).headline.value is not None
    assert not [found for found in check(by_image) if found.warning]


def test_controls_agree_with_a_sound_test_and_influences_with_its_interval() -> None:
    task, evidence = planted(0.5)
    result = score(task, evidence, SETTINGS)
    names = {"separation", "spread", "obedience", "shuffled", "halves", "text_only"}
    assert set(result.controls) == names
    assert not any(control.contradicts for control in result.controls.values())
    assert (
        result.controls["shuffled"].value < 0.25
        and result.controls["text_only"].value > 0
    )
    (part,), chosen = result.headline.parts, result.headline.chosen
    half = stdtrit(chosen.df, 0.975) * np.sqrt(part.influence.variance)
    assert (chosen.ci_high - chosen.ci_low) / 2 == pytest.approx(half)
    for row in result.by:
        assert {"attribute prompts", row.name} <= set(
            row.scores["lean"].influence.strata
        )


def test_halves_that_disagree_are_inconclusive() -> None:
    """Images of A targets with even indices are like A's, the others like B's."""
    task, evidence = planted(0.0)
    a, b = (evidence.images(f"{side} prompt 0", 8).embeddings for side in "AB")
    half = np.stack([a[:4], b[:4]], axis=1).reshape(8, -1)
    moved = {f"A{k}": half for k in range(4)}
    result = score(task, evidence.with_images(moved), SETTINGS)
    assert "even and with odd numbers disagree" in (result.inconclusive or "")


def test_paraphrases_are_averaged_and_their_differences_count() -> None:
    task, evidence = planted(0.5)
    rng = np.random.default_rng(1)
    targets, images, texts = [], {}, {}
    for target in task.targets:
        name = target.name
        again = tuple(f"{name} {word}" for word in ("again", "anew"))
        targets.append(target.model_copy(update={"paraphrases": again}))
        for prompt in again:
            images[prompt] = unit(evidence._images[name] + rng.normal(size=48) * 0.1)
            texts[prompt] = evidence._texts[name]
    several = task.model_copy(update={"targets": tuple(targets)})
    found = HandEvidence({**evidence._images, **images}, {**evidence._texts, **texts})
    result = score(several, found, SETTINGS)
    assert len(needs(several, SETTINGS).prompts) == 16 + 24
    influence = result.by[0].scores["lean"].influence
    assert result.by[0].n_images == 60 and "prompts of A0" in influence.strata
    assert influence.df < 10  # three prompts, not sixty images
    assert result.headline.value == pytest.approx(0.5, abs=0.3)


def test_attributes_of_different_numbers_of_prompts_are_not_paired() -> None:
    task, evidence = planted(0.5, gender=0.4)
    b = task.attributes.B.model_copy(update={"prompts": task.attributes.B.prompts[:6]})
    unpaired = task.model_copy(
        update={"attributes": task.attributes.model_copy(update={"B": b})}
    )
    result = score(unpaired, evidence, SETTINGS)
    assert result.headline.value == pytest.approx(0.5, abs=0.25)
    strata = set(result.by[0].scores["lean"].influence.strata)
    assert {"attribute prompts of A", "attribute prompts of B"} < strata


def test_an_attribute_prompt_without_images_excludes_its_pair() -> None:
    task, evidence = planted(0.5)
    result = score(task, evidence.without("A prompt 2", filtered=8), SETTINGS)
    assert any("A prompt 2" in text and "partners" in text for text in result.warnings)
    kept = {
        side: [f"{side} prompt {k}" for k in (0, 1, 3, 4, 5, 6, 7)] for side in "AB"
    }
    seven = {
        side: attribute(side, 8) | {"prompts": names} for side, names in kept.items()
    }
    fewer = score(planted(0.5, attributes=seven)[0], evidence, SETTINGS)
    # The partner's images still tell how much prompts of its side vary.
    assert result.headline.value == pytest.approx(fewer.headline.value, rel=1e-3)


def test_limit_keeps_both_stereotypes_of_each_category() -> None:
    task, evidence = planted(0.5)
    limited = SETTINGS.model_copy(update={"limit": 2})
    assert [item.name for item in score(task, evidence, limited).by] == [
        "A0",
        "A1",
        "B0",
        "B1",
    ]
    assert len(needs(task, limited).prompts) == 16 + 4


def test_several_encoders_give_the_mean_lean_with_both_inferences() -> None:
    task, first = planted(0.5)
    _, second = planted(0.5, seed=1)
    results = [score(task, evidence, SETTINGS) for evidence in (first, second)]
    both = combine(task, results, SETTINGS)
    values = [result.headline.value or 0.0 for result in results]
    assert both.headline.value == pytest.approx(np.mean(values))
    assert set(both.headline.inference) == {"fixed_prompts", "prompt_population"}


def test_the_pooled_slope_of_amplification() -> None:
    """(ITP + IT) / 2 = .1 + 1.7 TT, and noise that an intercept must not take for slope."""
    rng = np.random.default_rng(0)
    tt = np.linspace(-0.02, 0.02, 28)
    top = 0.1 + 1.7 * tt + rng.normal(size=28) * 0.002
    names = [
        f"{pair}_association"
        for pair in ("text_to_text", "text_to_image", "image_to_text")
    ]
    rows = [
        Item("-", dict(zip(names, map(Estimate, values), strict=True)))
        for values in zip(tt, top, top, strict=True)
    ]
    slope = bias_amplification_slope(rows, 0.95)
    assert slope.value == pytest.approx(1.7, abs=0.1)
    assert slope.interval[0] < 1.7 < slope.interval[1] and slope.p < 1e-10
    assert bias_amplification_slope(rows[:5], 0.95).value is None


def test_the_description_claims_no_direction_beyond_the_test() -> None:
    task, evidence = planted(0.0, seed=2)
    assert describe(task, score(task, evidence, SETTINGS)) == (
        f"Not clear whether {short_name(task.title, 'MCAS')} stereotyped as male look "
        "more like men than others do."
    )
