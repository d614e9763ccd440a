"""ViBEx on embeddings made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.nearest import ELSEWHERE, Sides, corrected_shares, left_out
from t2ibench.methods.core.probing import Reading, verdict
from t2ibench.methods.core.reference import beyond_words, effects, nearness, squares
from t2ibench.methods.vibex.describe import describe
from t2ibench.methods.vibex.headline import excess_headline
from t2ibench.methods.vibex.schema import VibexTask, check
from t2ibench.methods.vibex.squared_effects import SquaredEffects
from t2ibench.settings import Settings
from t2ibench.stats.excess import typical_square
from tests.methods.fakes import HandEvidence, unit
from tests.methods.tasks import task_by_hand

QUICK = Settings(n_permutations=999, n_bootstrap=300)
DIM = 12
WOMAN, MAN, HAIR, STANDING, CHILD = np.eye(DIM)[:5]
WORDS = [f"word{number}" for number in range(400)]
PROMPTS = {
    "women": "image of women",
    "men": "image of men",
    "people": "image of people",
}


def task(anchors: int = 2, **more: Any) -> VibexTask:
    parts: dict[str, Any] = {
        "images_per_prompt": 30,
        "inverse_images": 12,
        "anchors": [
            {"name": n, "prompt": p} for n, p in list(PROMPTS.items())[:anchors]
        ],
        "concepts": [
            {"name": "long hair", "prompt": "long hair", "tendency": "women"},
            {"name": "standing", "prompt": "standing", "tendency": "men"},
            {
                "name": "person",
                "prompt": "a person",
                "query": "inverse",
                "tendency": "men",
            },
        ],
        "intersections": [["long hair", "standing"]],
        "reference": WORDS,
    }
    return task_by_hand(VibexTask, "vibex", **{**parts, **more})


def evidence(
    lean: float, anchors: int = 2, seed: int = 5, words: float = 0.0
) -> HandEvidence:
    """Women's images show `lean` of long hair; the text 'standing' is nearer men by `words`."""
    rng = np.random.default_rng(seed)

    def drawn(direction: np.ndarray, n: int, hair: float = 0.0) -> np.ndarray:
        return unit(direction + hair * HAIR + 0.2 * rng.normal(size=(n, DIM)))

    images = {
        PROMPTS["women"]: drawn(WOMAN, 30, lean),
        PROMPTS["men"]: drawn(MAN, 30),
        PROMPTS["people"]: drawn(CHILD, 30),
        "a person": drawn(MAN, 12),
    }
    texts = {
        PROMPTS["women"]: WOMAN,
        PROMPTS["men"]: MAN,
        PROMPTS["people"]: CHILD,
        "long hair": HAIR,
        "standing": unit(STANDING + words * (MAN - WOMAN)),
        "a person": np.eye(DIM)[5],
    }
    # Everyday words: directions of their own, and a little of everything else.
    everyday = np.eye(DIM)[6 + np.arange(len(WORDS)) % (DIM - 6)]
    everyday = everyday + 0.05 * rng.normal(size=everyday.shape)
    return HandEvidence(images, texts | dict(zip(WORDS, unit(everyday), strict=True)))


def rows(found: Any) -> dict[str, Any]:
    return {item.name: item.scores for item in found.by}


@pytest.fixture(scope="module")
def planted() -> Any:
    """The result where women's images show long hair."""
    return score(task(), evidence(1.0), QUICK)


@pytest.fixture(scope="module")
def fair() -> Any:
    return score(task(), evidence(0.0), QUICK)


def verdicts_of(found: Any) -> dict[str, str]:
    return {row["concept"]: row["verdict"] for row in found.details["verdicts"]}


def test_effects_agree_with_a_case_worked_by_hand() -> None:
    images = np.array([[0.8, 0.6], [0.6, 0.8], [0.0, 1.0], [0.0, 1.0]])
    labels = np.array([0, 0, 1, 1])
    texts, reference = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.6, 0.8]])
    found = nearness(images, labels, 2, texts, reference)
    # The text's means are .7 and 0, those of the reference .7 and 1, .98 and .8: centred at the
    # mean of the latter, m = (.7 - .84) - (0 - .9) = .76.
    assert effects(found)[0] == pytest.approx(0.76)
    # The first anchor's values are .8 - .78 and .6 - .9, the second's both -.9.
    first = np.array([0.8 - 0.78, 0.6 - 0.9])
    assert squares(found)[0] == pytest.approx(0.76**2 - first.var(ddof=1) / 2)
    rest = beyond_words(images, np.eye(2))
    assert effects(nearness(rest, labels, 2, texts, reference))[0] == pytest.approx(
        -0.04
    )


def test_the_directions_of_the_anchors_texts_are_removed_from_images() -> None:
    rng = np.random.default_rng(1)
    images, anchors = unit(rng.normal(size=(20, DIM))), unit(rng.normal(size=(3, DIM)))
    rest = beyond_words(images, anchors)
    assert np.abs(rest @ (anchors[1:] - anchors[0]).T).max() < 1e-12
    # Nothing else is: what is orthogonal to the anchors' texts stays as it is.
    other = np.linalg.svd(anchors)[2][-1]
    assert rest @ other == pytest.approx(images @ other)
    assert beyond_words(images, anchors[[0, 0]]) == pytest.approx(images)


def test_a_planted_concept_is_found_and_another_is_not(planted: Any, fair: Any) -> None:
    hair, standing = rows(planted)["long hair"], rows(planted)["standing"]
    assert hair["beyond_words"].p == pytest.approx(1 / 401)
    assert hair["percentile"].value == 100.0 and hair["beyond_words"].value > 0.4
    assert standing["beyond_words"].p > 0.05
    assert verdicts_of(planted) == {"long hair": "leans", "standing": "no_lean"}
    assert planted.headline.value > 0.9 and planted.inconclusive is None
    low, high = hair["similarity_difference"].interval
    assert low < hair["similarity_difference"].value < high
    assert describe(task(), planted).endswith(" 'long hair' leans clearly to women.")
    tendencies = {row["concept"]: row["found"] for row in planted.details["tendencies"]}
    assert tendencies["long hair"] == "women" and tendencies["person"] == "men"
    confirmed = (2 + (tendencies["standing"] == "men")) / 3
    assert planted.scores["tendencies_reproduced"].value == pytest.approx(confirmed)
    assert set(verdicts_of(fair).values()) == {"no_lean"}
    assert fair.headline.p is None or fair.headline.p > 0.05


def test_published_scores_are_reported_beside_the_headline(planted: Any) -> None:
    hair, standing = rows(planted)["long hair"], rows(planted)["standing"]
    distance, other = (row["kolmogorov_smirnov_distance"] for row in (hair, standing))
    assert (
        distance.value > 0.8
        and distance.p == pytest.approx(1 / 1000)
        and other.p > 0.05
    )
    assert hair["cliffs_delta"].value > 0.8
    assert hair["probability:women"].value > 0.5 > hair["probability:men"].value
    mean = planted.scores["kolmogorov_smirnov_distance_mean"].value
    assert mean == pytest.approx((distance.value + other.value) / 2)
    low = distance.value - 1.3581 * np.sqrt(2 / 30)
    assert distance.interval == pytest.approx((low, 1.0), abs=1e-3)
    for name in ("cliffs_delta", "probability:men", "probability_difference"):
        assert distance.as_published and hair[name].as_published
    assert not hair["similarity_difference"].as_published


def test_a_lean_of_the_word_alone_is_not_taken_for_one_of_the_images() -> None:
    found = score(task(), evidence(0.0, words=0.5), QUICK)
    standing = rows(found)["standing"]
    assert standing["kolmogorov_smirnov_distance"].value == 1.0
    assert standing["similarity_difference"].p == pytest.approx(1 / 401)
    assert standing["beyond_words"].p > 0.05
    assert verdicts_of(found)["standing"] == "inconclusive"
    (line,) = [row for row in found.details["verdicts"] if row["concept"] == "standing"]
    assert line["says"].startswith("the encoder places the word itself nearer 'men'")
    assert found.controls["text_only"].value > 0.9
    assert found.controls["text_only"].contradicts is None
    assert found.headline.p is None or found.headline.p > 0.05


def test_an_inverse_query_agrees_with_a_case_worked_by_hand(fair: Any) -> None:
    person = rows(fair)["person"]
    # All 12 images are nearest men's, and every anchor image its own: with q = 0 and
    # sensitivity = specificity = 30.5 / 31, the share of women is (61 / 62 - 1) / (61 / 31 - 1).
    women, lean = person["share:women"].value, person["lean"]
    assert women == pytest.approx((30.5 / 31 - 1) / (61 / 31 - 1))
    assert lean.value == pytest.approx(2 * women - 1)
    assert lean.p < 0.01 and lean.interval[1] < 0
    apart = person["anchor_similarity_difference"]
    assert person["share_nearest:men"].value == 1.0 and apart.value > 0
    assert apart.p == pytest.approx(2 / 4096) and fair.n_images == 72


def test_shares_are_corrected_for_the_wrong_side() -> None:
    """80 % of each anchor's images on its side: .62 observed is a share of .7."""
    lie = np.array([1.0] * 40 + [-1.0] * 10)
    images = np.concatenate([lie, -lie])[:, None]
    sides = Sides(images, np.repeat([0, 1], 50), ("a", "b"), np.tile(np.arange(50), 2))
    assert (left_out(sides)[:50] == 0).mean() == 0.8
    drawn = np.array([1.0] * 62 + [-1.0] * 38)[:, None]
    found = corrected_shares(sides, drawn, "c", np.arange(100), 0.95)
    assert found.values == pytest.approx([0.7, 0.3], abs=0.005)
    assert found.low[0] < 0.62 and found.high[0] > 0.75
    se = (found.high[0] - found.low[0]) / 2 / 1.98
    assert 2 * se == pytest.approx(np.sqrt(found.influence.variance), rel=0.05)
    alike = Sides(images[:, :1] * 0, sides.labels, sides.strata, sides.units)
    assert "apart" in (
        corrected_shares(alike, drawn, "c", np.arange(100), 0.95).reason or ""
    )


def test_images_that_a_scene_moves_towards_an_anchor_have_no_share() -> None:
    """A scene that moves every image a third of the way to one anchor: no share is given."""
    rng = np.random.default_rng(4)
    images = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 40, axis=0) + 0.1 * rng.normal(
        size=(80, 2)
    )
    sides = Sides(images, np.repeat([0, 1], 40), ("a", "b"), np.tile(np.arange(40), 2))
    drawn = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 10, axis=0) + 0.1 * rng.normal(
        size=(20, 2)
    )
    units = np.arange(20)
    plain = corrected_shares(sides, drawn, "c", units, 0.95)
    assert plain.reason is None and plain.values[0] == pytest.approx(0.5)
    off_the_line = corrected_shares(
        sides, drawn + np.array([0.0, 2.0]), "c", units, 0.95
    )
    assert off_the_line.values[0] == pytest.approx(0.5)
    moved = corrected_shares(sides, drawn + np.array([0.7, 0.0]), "c", units, 0.95)
    assert moved.reason == ELSEWHERE and moved.side() is None


def test_a_word_that_contradicts_its_images_is_inconclusive() -> None:
    both_ways = verdict(Reading(0.01, 0, 0.01, 1), ["women", "men"])
    assert (both_ways.outcome, both_ways.side) == ("inconclusive", None)
    concepts = [
        {"name": "long hair", "prompt": "long hair"},
        {"name": "long hair", "prompt": "long hair", "query": "inverse"},
    ]
    spec = task(concepts=concepts, intersections=[])
    rng = np.random.default_rng(2)
    drawn = unit(MAN + 0.2 * rng.normal(size=(12, DIM)))
    found = score(spec, evidence(1.0).with_images({"long hair": drawn}), QUICK)
    assert verdicts_of(found) == {"long hair": "inconclusive"}
    (warning,) = [line for line in found.warnings if "long hair" in line]
    assert warning.endswith("but its own images lean to 'men'.")
    assert describe(spec, found).endswith(
        "The word and the images of 'long hair' disagree."
    )


def test_an_intersection_that_one_anchor_shows_is_found_in_that_anchor() -> None:
    rng = np.random.default_rng(8)
    women = unit(WOMAN + HAIR + STANDING + 0.1 * rng.normal(size=(30, DIM)))
    found = score(task(), evidence(1.0).with_images({"image of women": women}), QUICK)
    row = rows(found)["long hair & standing"]
    assert row["share_both:women"].value > 0.9 > 0.1 > row["share_both:men"].value
    assert row["difference"].p == pytest.approx(1 / 1000)


def test_three_anchors_are_compared() -> None:
    found = score(task(3), evidence(1.0, 3), QUICK)
    hair = rows(found)["long hair"]
    assert (
        "cliffs_delta" not in hair and hair["kolmogorov_smirnov_distance"].value > 0.8
    )
    assert sum(hair[f"probability:{n}"].value for n in PROMPTS) == pytest.approx(1.0)
    assert hair["beyond_words"].p == pytest.approx(1 / 401)
    (line,) = [
        row for row in found.details["verdicts"] if row["concept"] == "long hair"
    ]
    assert line["anchor"] == "women"
    means = [hair[f"similarity_difference:{n}"].value for n in PROMPTS]
    assert hair["similarity_difference"].value == pytest.approx(max(means) - min(means))
    person = rows(found)["person"]
    assert sum(person[f"share:{n}"].value for n in PROMPTS) == pytest.approx(1.0)


def test_needs_are_counted_and_missing_images_give_no_score() -> None:
    found = needs(task(), QUICK)
    assert (found.n_images, found.n_prompts) == (72, 3)
    asked = {"image of women", "image of men", "long hair", "standing", "a person"}
    assert set(found.texts) == asked | set(WORDS)
    only = task(
        concepts=[{"name": "p", "prompt": "a person", "query": "inverse"}],
        intersections=[],
    )
    assert not set(WORDS) & set(needs(only, QUICK).texts)
    lacking = score(task(), evidence(0.0).without("image of women"), QUICK)
    assert lacking.headline.value is None
    assert describe(task(), lacking) == "No score: no image of: women."


def test_reference_words_are_filled_into_a_template() -> None:
    spec = task(
        reference={"words": ["oak", "egg"], "template": "picture that shows {a word}"}
    )
    assert spec.reference.texts == (
        "picture that shows an oak",
        "picture that shows an egg",
    )
    for changed, message in (
        (spec, "2 reference words for 2 forward queries"),
        (
            task(reference={"words": WORDS, "template": "image"}),
            "lacks the placeholder",
        ),
        (task(reference=[*WORDS, "standing"]), "holds what is asked"),
    ):
        assert any(message in finding.message for finding in check(changed))
    with pytest.raises(ValidationError, match="unknown word list"):
        task(reference="everyday_wrods")


def test_the_excess_agrees_with_a_case_worked_by_hand() -> None:
    found = score(task(), evidence(0.3), QUICK)
    parts = found.squares.concepts, found.squares.reference
    v, w = (max(part.mean(), 0.0) for part in parts)
    c = typical_square(np.random.default_rng(0).chisquare(1, 20_000))  # one concept
    assert found.headline.value == pytest.approx((v / c - w) / (v / c + w), abs=0.01)
    # What these words read in a fair model is the encoder's.
    assert found.headline.inference["fixed_prompts"].p is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sets", "error", "most"),
    [(75, 0.16, 0.13), pytest.param(300, 0.08, 0.09, marks=pytest.mark.nightly)],
)
def test_random_sets_of_words_read_zero_on_average(
    sets: int, error: float, most: float
) -> None:
    rng = np.random.default_rng(7)
    still = [
        Influence.of_mean("a", np.arange(10), 1e-4 * rng.normal(size=10))
        for _ in range(2)
    ]
    for cosine in (0.0, 0.6):
        related = np.full((4, 4), cosine) + (1 - cosine) * np.eye(4)
        values, found = [], []
        for _ in range(sets):
            own = np.sqrt(cosine) * rng.normal() + np.sqrt(1 - cosine) * rng.normal(
                size=4
            )
            parts = SquaredEffects(
                own**2, rng.normal(size=400) ** 2, *still, related, 1
            )
            headline = excess_headline([parts], 0.95, rng, 499)
            values.append(headline.value)
            found.append(headline.p <= 0.05)
        assert np.mean(values) == pytest.approx(0, abs=error)
        assert np.mean(found) < most


@pytest.mark.parametrize("lean", [0.0, 0.1, 0.2, 0.5])
def test_p_and_interval_agree(lean: float) -> None:
    found = [
        score(task(), evidence(lean, seed=seed), QUICK).headline for seed in range(3)
    ]
    for headline in (one for one in found if one.value is not None):
        these, like = (
            headline.inference["fixed_prompts"],
            headline.inference["prompt_population"],
        )
        assert these.ci_low <= headline.value <= these.ci_high
        assert (like.p <= 0.05) == (like.ci_low > 0)
        assert headline.value <= headline.fair[1] or like.p <= 0.1


def test_a_run_and_itself_do_not_differ(planted: Any) -> None:
    again = score(task(), evidence(1.0), QUICK)
    influences = [
        (
            rows(found)["long hair"]["beyond_words"].influence,
            rows(found)["person"]["lean"].influence,
            found.headline.parts[0].influence,
        )
        for found in (planted, again)
    ]
    for one, two in zip(*influences, strict=True):
        assert one.variance > 0
        assert one.variance + two.variance - 2 * one.covariance(two) == 0.0


def test_two_encoders_have_to_agree(planted: Any) -> None:
    spec, none = task(), score(task(), evidence(0.0, seed=6), QUICK)
    same, headline = combine(spec, [planted, planted], QUICK), planted.headline
    assert (same.headline.value, same.headline.p) == pytest.approx(
        (headline.value, headline.p)
    )
    hair, known, other = (rows(found)["long hair"] for found in (same, planted, none))
    for name in ("similarity_difference", "beyond_words"):
        assert hair[name].p == pytest.approx(known[name].p)
    mixed = rows(combine(spec, [planted, none], QUICK))
    values = [row["similarity_difference"].value for row in (known, other)]
    assert mixed["long hair"]["similarity_difference"].value == pytest.approx(
        np.mean(values)
    )
    assert mixed["person"]["share:men"].interval is not None


def test_anchors_that_look_alike_give_no_headline() -> None:
    rng = np.random.default_rng(3)
    alike = {
        p: unit(WOMAN + 0.2 * rng.normal(size=(30, DIM))) for p in PROMPTS.values()
    }
    texts = {PROMPTS["men"]: WOMAN}
    base = evidence(0.0)
    found = score(
        task(), HandEvidence({**base._images, **alike}, {**base._texts, **texts}), QUICK
    )
    assert found.headline.value is None and found.reason is None
    assert found.inconclusive == found.headline.reason
    assert describe(task(), found).startswith(
        "Cannot tell: the pictures do not differ beyond what"
    )
    few = score(task(images_per_prompt=2), base, QUICK)
    assert few.headline.reason == "an anchor has fewer than three images"
