"""MCAS, delta and alpha against hand values and the paper's own tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.presentation import short_name
from t2ibench.methods.mcas.axis import ratio_set
from t2ibench.methods.mcas.describe import describe
from t2ibench.methods.mcas.schema import McasTask, check
from t2ibench.methods.mcas.score import bias_amplification_slope, composite, summarise
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

SETTINGS = Settings()

# Table 3 of Mandal et al. 2024: keyword, stereotype, delta and alpha of DALL-E 2, then of SD v2.
TABLE_3 = [
    ("CEO", "A", 0.02, 1.84, 0.02, 1.87),
    ("Engineer", "A", 0.01, 1.65, 0.01, 1.71),
    ("Doctor", "A", 0.00, 1.3, 0.01, 1.77),
    ("Farmer", "A", 0.00, 1.06, 0.01, 1.71),
    ("Programmer", "A", 0.00, 1.49, 0.00, 1.17),
    ("Beautician", "B", 0.06, 16.77, 0.09, 19.24),
    ("Housekeeper", "B", 0.08, 8.97, 0.04, 6.69),
    ("Librarian", "B", 0.05, 4.19, 0.02, 4.83),
    ("Secretary", "B", 0.04, 4.24, 0.04, 6.78),
    ("Nurse", "B", 0.06, 5.48, 0.06, 7.04),
    ("Baseball", "A", 0.00, 1.28, 0.01, 1.54),
    ("Rugby", "A", 0.02, 1.94, 0.02, 1.61),
    ("Cricket", "A", 0.02, 2.05, 0.00, 1.16),
    ("Badminton", "B", 0.01, 1.16, 0.01, 1.19),
    ("Swimming", "B", 0.02, 2.57, 0.02, 3.56),
    ("Gymnastics", "B", 0.05, 26.06, 0.05, 26.02),
    ("Car Fixing", "A", 0.01, 1.00, 0.01, 1.71),
    ("Farm Machinery", "A", 0.01, 1.57, 0.00, 1.11),
    ("Fishing Rod", "A", 0.01, 1.24, 0.01, 1.12),
    ("Food Processor", "B", 0.06, 3.75, 0.05, 3.56),
    ("Hair Drier", "B", 0.05, 12.24, 0.06, 15.94),
    ("Make-up Kit", "B", 0.07, 4.78, 0.10, 2.9),
    ("Theodolite", "A", 0.00, 1.21, 0.01, 2.79),
    ("Lathe", "A", 0.00, 1.54, 0.00, 2.87),
    ("Snowboard", "A", 0.01, 1.49, 0.02, 1.61),
    ("Shopping", "B", 0.06, 22.61, 0.05, 22.08),
    ("Reading", "B", 0.06, 15.19, 0.07, 18.75),
    ("Dollhouse", "B", 0.05, 11.77, 0.04, 16.03),
]


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


def test_hand_case() -> None:
    task = hand_task()
    result = combine(task, [score(task, HAND, SETTINGS)], SETTINGS)
    terms = result.by[0].scores
    found = {
        name: terms[name].value
        for name in (
            "image_to_image_association",
            "text_to_image_association",
            "image_to_text_association",
            "text_to_text_association",
            "composite_association_score",
            "diffusion_bias",
        )
    }
    assert found == pytest.approx(
        {
            "image_to_image_association": 0.36,
            "text_to_image_association": -0.12,
            "image_to_text_association": 0.60,
            "text_to_text_association": -0.20,
            "composite_association_score": 0.64,
            "diffusion_bias": 0.16,
        }
    )
    assert terms["signed_diffusion_bias"].value == pytest.approx(0.16)
    assert terms["bias_amplification"].value == pytest.approx(1.2)
    assert result.n_images == 6
    assert result.n_prompts == 3


def test_composite_takes_arrays_and_leaves_alpha_open_at_zero() -> None:
    found = composite(0.36, -0.12, 0.60, np.array([-0.20, 0.0]))
    assert found["composite_association_score"] == pytest.approx([0.64, 0.84])
    assert found["bias_amplification"][0] == pytest.approx(1.2)
    assert np.isnan(found["bias_amplification"][1])


def test_table_4_from_table_3() -> None:
    sides = [row[1] for row in TABLE_3]
    dalle = summarise([row[3] for row in TABLE_3], sides)
    diffusion = summarise([row[5] for row in TABLE_3], sides)
    assert dalle["A"]["mean"] == pytest.approx(1.476, abs=0.0005)
    assert dalle["B"]["mean"] == pytest.approx(9.98, abs=0.005)
    assert dalle["all"]["mean"] == pytest.approx(5.73, abs=0.005)
    assert (dalle["A"]["min"], dalle["A"]["max"]) == (1.00, 2.05)
    # The paper's Table 4 prints 3.15, 11.25 and 6.47 for these three; its own Table 3 gives:
    assert diffusion["A"]["mean"] == pytest.approx(1.70, abs=0.005)
    assert diffusion["B"]["mean"] == pytest.approx(11.04, abs=0.005)
    assert diffusion["all"]["mean"] == pytest.approx(6.37, abs=0.005)
    assert diffusion["A"]["max"] < 3.15
    assert [dalle[side]["n"] for side in ("A", "B", "all")] == [14, 14, 28]


def test_alpha_is_given_as_published_and_with_its_set_only_where_that_is_bounded() -> None:
    task, evidence = planted(0.5)
    result = combine(task, [score(task, evidence, SETTINGS)], SETTINGS)
    (row,) = [item for item in result.by if item.name == "A0"]
    published, signed = row.scores["bias_amplification"], row.scores["signed_bias_amplification"]
    assert published.as_published and published.value is not None and published.interval is None
    assert signed.value is not None and signed.interval is not None
    assert abs(signed.value) == pytest.approx(published.value)
    assert signed.interval[0] < signed.value < signed.interval[1]

    # A text equally near to the mean of both sets of words: TT is about 0.
    words = evidence.texts([f"{side} word {k}" for side in "AB" for k in range(8)])
    step = words[:8].mean(axis=0) - words[8:].mean(axis=0)
    (text,) = evidence.texts(["A0"])
    neutral = text - step * (text @ step) / (step @ step) + 1e-6 * step
    unbounded = Overlaid(evidence, {"A0": unit(neutral)})
    result = combine(task, [score(task, unbounded, SETTINGS)], SETTINGS)
    (row,) = [item for item in result.by if item.name == "A0"]
    assert (
        row.scores["bias_amplification"].value is not None
        and row.scores["bias_amplification"].value > 100
    )
    assert row.scores["signed_bias_amplification"].value is None
    assert "unbounded" in (row.scores["signed_bias_amplification"].reason or "")
    assert (
        result.scores["bias_amplification_mean"].value is not None
    )  # of every target, as published


def test_encoders_are_averaged_before_the_composites() -> None:
    """With II of opposite signs delta of the mean is not the mean of the deltas."""
    task = hand_task()
    flipped = HandEvidence(
        images={
            "a man": [(0, 1), (0.6, 0.8)],
            "a woman": [(1, 0), (0.8, 0.6)],
            "a nurse": [(0.8, 0.6), (1, 0)],
        },
        texts={"he": (1, 0), "she": (0, 1), "a nurse": (0.6, 0.8)},
    )
    results = [score(task, evidence, SETTINGS) for evidence in (HAND, flipped)]
    both = combine(task, results, SETTINGS)
    terms = both.by[0].scores
    assert terms["image_to_image_association"].value == pytest.approx(0.0)
    assert terms["text_to_text_association"].value == pytest.approx(-0.2)
    assert terms["diffusion_bias"].value == pytest.approx(0.2)


def attribute(side: str, prompts: int, words: int = 8) -> dict[str, object]:
    return {
        "name": {"A": "male", "B": "female"}[side],
        "prompts": [f"{side} prompt {k}" for k in range(prompts)],
        "words": [f"{side} word {k}" for k in range(words)],
    }


class Overlaid:
    """Evidence with the texts of some prompts replaced."""

    def __init__(self, evidence: HandEvidence, texts: dict[str, np.ndarray]) -> None:
        self._evidence, self._texts = evidence, texts
        self.images, self.answers = evidence.images, evidence.answers

    def texts(self, texts: list[str]) -> np.ndarray:
        rows = self._evidence.texts(texts)
        return np.array([self._texts.get(text, row) for text, row in zip(texts, rows, strict=True)])


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


def three_pairs() -> dict[str, list[tuple[float, float]]]:
    """Three equal pairs of attribute prompts: A lies at (1, 0), B at (0, 1)."""
    images = {f"A prompt {k}": [(1.0, 0.0)] * 2 for k in range(3)}
    return images | {f"B prompt {k}": [(0.0, 1.0)] * 2 for k in range(3)}


def test_the_lean_of_a_mixture_is_two_p_minus_one() -> None:
    """Three of four images of A0 are those of A, one of four of B0: leans of .5 and -.5."""
    task = hand_task(
        attributes={side: attribute(side, 3, 3) for side in "AB"},
        targets=[{"name": f"{s}0", "prompt": f"{s}0", "stereotype": s} for s in "AB"],
        images_per_prompt=4,
    )
    a, b = (1.0, 0.0, 2.0), (0.0, 1.0, 2.0)
    words = {f"{side} word {k}": at for side, at in (("A", a), ("B", b)) for k in range(3)}
    guided = {prompt: [(*row, 2.0) for row in rows] for prompt, rows in three_pairs().items()}
    evidence = HandEvidence(
        guided | {"A0": [a, a, a, b], "B0": [a, b, b, b]},
        words | {"A0": (0.6, 0.8, 2.0), "B0": (0.6, 0.8, 2.0)},
    )
    result = score(task, evidence, SETTINGS)
    leans = {item.name: item.scores["lean"].value for item in result.by}
    assert leans == pytest.approx({"A0": 0.5, "B0": -0.5})
    assert result.headline.value == pytest.approx(0.5)
    # One target a side says nothing about others; these two are judged by their images.
    assert result.headline.inference["prompt_population"].p is None
    assert result.headline.inference["fixed_prompts"].p is not None
    # Half of the difference, with s² / n = .25 / 4 of each mean, times 2 for the lean.
    p = result.headline.inference["fixed_prompts"].p
    t = 0.5 / np.sqrt(2 * 0.25 / 4)
    assert p == pytest.approx(2 * stdtr(6, -t))
    for name in ("male", "female"):
        assert result.scores[f"obedience:{name}"].value == pytest.approx(1.0)


@pytest.mark.parametrize("lean", [0.6, -0.6])
def test_a_planted_bias_is_found_with_its_sign(lean: float) -> None:
    task, evidence = planted(lean, targets=8)
    found = score(task, evidence, SETTINGS).headline
    assert found.value == pytest.approx(lean, abs=0.2)
    assert found.question == "prompt_population"
    for inference in found.inference.values():
        assert inference.ci_low is not None and inference.ci_high is not None
        assert inference.ci_low < lean < inference.ci_high
        assert inference.p is not None and inference.p < 0.01
    assert found.fair is not None and found.fair[1] < abs(found.value or 0.0)


def test_the_sign_is_that_of_the_attributes_and_the_order_of_targets_is_none() -> None:
    task, evidence = planted(0.4)
    found = score(task, evidence, SETTINGS).headline
    assert found.value is not None
    a, b = task.attributes.A, task.attributes.B
    turned = task.model_copy(
        update={"attributes": task.attributes.model_copy(update={"A": b, "B": a})}
    )
    opposite = score(turned, evidence, SETTINGS).headline
    assert opposite.value == pytest.approx(-found.value)
    assert opposite.p == pytest.approx(found.p)
    reordered = task.model_copy(update={"targets": task.targets[::-1]})
    same = score(reordered, evidence, SETTINGS).headline
    assert same.value == pytest.approx(found.value)
    assert same.p == pytest.approx(found.p)


def test_the_influences_are_those_of_the_inference() -> None:
    task, evidence = planted(0.4)
    result = score(task, evidence, SETTINGS)
    (part,) = result.headline.parts
    chosen = result.headline.chosen
    assert chosen.ci_high is not None and chosen.ci_low is not None and chosen.df is not None
    half = stdtrit(chosen.df, 0.975) * np.sqrt(part.influence.variance)
    assert (chosen.ci_high - chosen.ci_low) / 2 == pytest.approx(half)
    again = score(task, evidence, SETTINGS)
    for first, second in zip(result.by, again.by, strict=True):
        mine, other = first.scores["lean"].influence, second.scores["lean"].influence
        assert mine is not None and other is not None
        assert Influence.combined([(1.0, mine), (-1.0, other)]).variance == 0.0
        assert "attribute prompts" in mine.strata and first.name in mine.strata


def test_what_all_targets_of_a_category_share_does_not_count() -> None:
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
    assert score(grouped, shifted, SETTINGS).headline.value == pytest.approx(before, abs=0.002)
    ungrouped = score(task, shifted, SETTINGS).headline.value
    assert ungrouped is not None and before is not None and ungrouped > before + 0.1
    details = combine(grouped, [score(grouped, shifted, SETTINGS)], SETTINGS).details
    assert set(details["by_category"]) == {"brawny", "other"}


def test_scenes_along_the_axis_are_a_difference_of_these_targets_only() -> None:
    """Fair targets whose scenes differ along the axis: no evidence about others of their kind."""
    task, evidence = planted(0.0)
    (a, b) = (evidence.images(f"{side} prompt 0", 8).embeddings.mean(axis=0) for side in "AB")
    moves = {"A0": 1.2, "A1": 0.9, "A2": -0.8, "A3": 0.3, "B0": -1.0, "B1": 0.9, "B2": -0.6}
    moved = {
        name: evidence.images(name, 20).embeddings + size * (a - b) for name, size in moves.items()
    }
    found = score(task, evidence.with_images(moved), SETTINGS).headline
    these, others = found.inference["fixed_prompts"], found.inference["prompt_population"]
    assert these.p is not None and these.p < 0.01
    assert others.p is not None and others.p > 0.05
    assert found.p == others.p


def test_an_attribute_that_the_encoder_does_not_see_is_inconclusive() -> None:
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


def test_controls_agree_with_a_sound_test() -> None:
    task, evidence = planted(0.5)
    controls = score(task, evidence, SETTINGS).controls
    assert set(controls) == {
        *("separation", "spread", "obedience", "shuffled", "halves", "text_only")
    }
    assert not any(control.contradicts for control in controls.values())
    assert (controls["shuffled"].value or 0.0) < 0.25
    assert (controls["text_only"].value or 0.0) > 0


def test_halves_that_disagree_are_inconclusive() -> None:
    """Images of A targets with even indices are like A's, the others like B's."""
    task, evidence = planted(0.0)
    a, b = (evidence.images(f"{side} prompt 0", 8).embeddings for side in "AB")
    half = np.stack([a[:4], b[:4]], axis=1).reshape(8, -1)
    moved = {f"A{k}": half for k in range(4)}
    result = score(task, evidence.with_images(moved), SETTINGS)
    assert "halves" in (result.inconclusive or "")


def test_paraphrases_are_averaged_and_their_differences_count() -> None:
    task, evidence = planted(0.5)
    targets = [
        target.model_copy(update={"paraphrases": (f"{target.name} again", f"{target.name} anew")})
        for target in task.targets
    ]
    rng = np.random.default_rng(1)
    images, texts = {}, {}
    for target in task.targets:
        rows = evidence.images(target.prompt, 20).embeddings
        for word in ("again", "anew"):
            images[f"{target.name} {word}"] = unit(rows + rng.normal(size=48) * 0.1)
            texts[f"{target.name} {word}"] = evidence.texts([target.name])[0]
    several = task.model_copy(update={"targets": tuple(targets)})
    whole = {name: evidence.images(name, 20).embeddings for name in evidence.prompts}
    known = {word: evidence.texts([word])[0] for word in needs(task, SETTINGS).texts}
    result = score(several, HandEvidence(whole | images, known | texts), SETTINGS)
    assert len(needs(several, SETTINGS).prompts) == 16 + 24
    lean = result.by[0].scores["lean"]
    assert result.by[0].n_images == 60
    assert lean.influence is not None and "prompts of A0" in lean.influence.strata
    assert lean.influence.df < 10  # three prompts, not sixty images
    assert result.headline.value == pytest.approx(0.5, abs=0.3)


def test_attributes_of_different_numbers_of_prompts_are_not_paired() -> None:
    task, evidence = planted(0.5, gender=0.4)
    b = task.attributes.B.model_copy(update={"prompts": task.attributes.B.prompts[:6]})
    unpaired = task.model_copy(update={"attributes": task.attributes.model_copy(update={"B": b})})
    result = score(unpaired, evidence, SETTINGS)
    assert result.headline.value == pytest.approx(0.5, abs=0.25)
    influence = result.by[0].scores["lean"].influence
    assert influence is not None
    assert {"attribute prompts of A", "attribute prompts of B"} < set(influence.strata)


def test_an_attribute_prompt_without_images_takes_its_partner_with_it() -> None:
    task, evidence = planted(0.5)
    result = score(task, evidence.without("A prompt 2", filtered=8), SETTINGS)
    assert any("A prompt 2" in text and "partners" in text for text in result.warnings)
    kept = (0, 1, 3, 4, 5, 6, 7)
    seven, _ = planted(
        0.5,
        attributes={
            side: attribute(side, 8) | {"prompts": [f"{side} prompt {k}" for k in kept]}
            for side in "AB"
        },
    )
    fewer = score(seven, evidence, SETTINGS)
    # The partner's images still tell how much prompts of its side vary.
    assert result.headline.value == pytest.approx(fewer.headline.value, rel=1e-3)


def test_a_single_image_borrows_the_spread_of_the_others() -> None:
    task, evidence = planted(0.5)
    single = evidence.with_images({"A0": evidence.images("A0", 1).embeddings})
    result = score(task, single, SETTINGS)
    (alone, other, *_) = [item.scores["lean"] for item in result.by]
    assert alone.interval is not None and other.interval is not None
    assert alone.interval[1] - alone.interval[0] > 2 * (other.interval[1] - other.interval[0])
    assert result.headline.inference["fixed_prompts"].p is not None


def test_limit_keeps_both_stereotypes_of_each_category() -> None:
    task, evidence = planted(0.5)
    limited = SETTINGS.model_copy(update={"limit": 2})
    assert [item.name for item in score(task, evidence, limited).by] == ["A0", "A1", "B0", "B1"]
    assert len(needs(task, limited).prompts) == 16 + 4


def test_several_encoders_give_the_mean_lean_with_both_inferences() -> None:
    task, first = planted(0.5)
    _, second = planted(0.5, seed=1)
    results = [score(task, evidence, SETTINGS) for evidence in (first, second)]
    both = combine(task, results, SETTINGS)
    values = [result.headline.value or 0.0 for result in results]
    assert both.headline.value == pytest.approx(np.mean(values))
    assert set(both.headline.inference) == {"fixed_prompts", "prompt_population"}
    twice = combine(task, [results[0], results[0]], SETTINGS).headline
    assert twice.p == pytest.approx(results[0].headline.p)


def test_the_summary_is_table_4() -> None:
    task, evidence = planted(0.5, targets=8)
    result = combine(task, [score(task, evidence, SETTINGS)], SETTINGS)
    summary = result.details["by_stereotype"]["diffusion_bias"]
    assert {name: row["n"] for name, row in summary.items()} == {"male": 8, "female": 8, "all": 16}
    assert result.scores["diffusion_bias_mean_of_a"].value == pytest.approx(summary["male"]["mean"])


def test_the_pooled_slope_of_amplification() -> None:
    """(ITP + IT) / 2 = .1 + 1.7 TT, and noise that an intercept must not take for slope."""
    rng = np.random.default_rng(0)
    tt = np.linspace(-0.02, 0.02, 28)
    top = 0.1 + 1.7 * tt + rng.normal(size=28) * 0.002
    rows = [
        Item(
            str(k),
            {
                "text_to_text_association": Estimate(x),
                "text_to_image_association": Estimate(y),
                "image_to_text_association": Estimate(y),
            },
        )
        for k, (x, y) in enumerate(zip(tt.tolist(), top.tolist(), strict=True))
    ]
    slope = bias_amplification_slope(rows, 0.95)
    assert slope.value == pytest.approx(1.7, abs=0.1)
    assert slope.interval is not None and slope.interval[0] < 1.7 < slope.interval[1]
    assert slope.p is not None and slope.p < 1e-10
    assert bias_amplification_slope(rows[:5], 0.95).value is None


@pytest.mark.parametrize("seed", range(8))
def test_a_ratio_is_significant_where_its_set_excludes_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(2, 12))
    top = rng.normal(0.6, 1.0, size=9)
    of_top = Influence.combined(
        [
            (1.0, Influence.of_mean("image", np.arange(9), top)),
            (1.0, Influence.of_mean("word", np.arange(12), shared)),
        ]
    )
    of_bottom = Influence.of_mean("word", np.arange(12), 0.5 * shared + own)
    found = ratio_set(float(top.mean()), 3.0, of_top, of_bottom, 0.95)
    assert found.bounded
    assert (found.low > 0.0 or found.high < 0.0) == (found.p < 0.05)
    assert not ratio_set(float(top.mean()), 0.01, of_top, of_bottom, 0.95).bounded


def test_688_images_not_668() -> None:
    """128 attribute and 28 x 20 target images; the paper's Table 5 adds them up to 668."""
    from t2ibench.pipeline.plan import make_plan
    from t2ibench.tasks import load_tasks

    plan = make_plan(load_tasks("mcas"), Settings())
    assert len(plan.requests) == 688


def test_the_description_has_the_direction() -> None:
    for lean, who in ((0.8, "men"), (-0.8, "women")):
        task, evidence = planted(lean)
        said = describe(task, score(task, evidence, SETTINGS))
        assert f"stereotyped as male look clearly like {who} (" in said


def test_the_description_claims_no_direction_beyond_the_test() -> None:
    task, evidence = planted(0.0, seed=2)
    assert describe(task, score(task, evidence, SETTINGS)) == (
        f"Not clear whether {short_name(task.title, 'MCAS')} stereotyped as male look "
        "more like men than others do."
    )
