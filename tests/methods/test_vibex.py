"""ViBEx on embeddings made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from t2ibench.methods import needs, score
from t2ibench.methods.core.probing import anchor_probabilities, similarity
from t2ibench.methods.vibex.describe import describe
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence, unit

QUICK = Settings(n_permutations=999, n_bootstrap=300)
WOMAN, MAN, HAIR, STANDING = np.eye(6)[:4]


def task(anchors: int = 2, **more: Any) -> VibexTask:
    names = ["women", "men", "people"][:anchors]
    plain = {
        "id": "vibex_hand",
        "version": 1,
        "method": "vibex",
        "title": "t",
        "description": "d",
        "citation": "c",
        "images_per_prompt": 30,
        "inverse_images": 6,
        "anchors": [{"name": name, "prompt": f"picture of {name}"} for name in names],
        "concepts": [
            {"name": "long hair", "prompt": "long hair", "tendency": "women"},
            {"name": "standing", "prompt": "standing", "tendency": "men"},
            {"name": "person", "prompt": "a person", "query": "inverse", "tendency": "men"},
        ],
        "intersections": [["long hair", "standing"]],
    }
    return VibexTask.model_validate(plain | more)


def evidence(lean: float, anchors: int = 2) -> HandEvidence:
    rng = np.random.default_rng(5)

    def drawn(direction: np.ndarray, n: int, hair: float = 0.0) -> np.ndarray:
        rows = direction + 0.3 * rng.normal(size=(n, 6))
        return unit(rows + hair * HAIR)

    images = {
        "picture of women": drawn(WOMAN, 30, lean),
        "picture of men": drawn(MAN, 30),
        "picture of people": drawn(np.eye(6)[4], 30),
        "a person": drawn(0.8 * MAN + 0.2 * WOMAN, 6),
    }
    texts = {
        "picture of women": WOMAN,
        "picture of men": MAN,
        "picture of people": np.eye(6)[4],
        "long hair": HAIR,
        "standing": STANDING,
        "a person": np.eye(6)[5],
    }
    return HandEvidence(images, texts)


def test_equations_by_hand() -> None:
    images = np.array([[1.0, 0.0], [0.0, 1.0]])
    values = similarity(images, np.array([[1.0, 0.0], [0.6, 0.8]]))
    assert values == pytest.approx(np.array([[1.0, 0.5], [0.8, 0.9]]))
    chances = anchor_probabilities(values, np.array([0, 1]), 2)
    assert chances == pytest.approx(np.array([[2 / 3, 1 / 3], [8 / 17, 9 / 17]]))
    # Cosines of .28 and .22: the probabilities hardly differ, which is why D is the measure.
    crowded = anchor_probabilities(np.array([[0.64, 0.61]]), np.array([0, 1]), 2)
    assert crowded[0] == pytest.approx([0.512, 0.488], abs=1e-3)


def test_a_planted_concept_is_found_and_another_is_not() -> None:
    found = score(task(), evidence(1.0), QUICK)
    rows = {item.name: item.scores for item in found.by}
    hair, standing = rows["long hair"], rows["standing"]
    assert hair["D"].value is not None and hair["D"].value > 0.8
    assert hair["D"].p == pytest.approx(1 / 1000)
    assert (hair["delta"].value or 0) > 0.8
    assert (hair["probability:women"].value or 0) > 0.5 > (hair["probability:men"].value or 1)
    assert standing["D"].p is not None and standing["D"].p > 0.05
    assert found.details["ranking"][0] == {"concept": "long hair", "rank_low": 1, "rank_high": 1}
    assert found.headline.value == pytest.approx((hair["D"].value + standing["D"].value) / 2)


def test_without_a_lean_there_is_none() -> None:
    found = score(task(), evidence(0.0), QUICK)
    assert found.headline.p is not None and found.headline.p > 0.05
    assert found.headline.null is not None and found.headline.null.mean() > 0.1


def test_an_inverse_query() -> None:
    found = score(task(), evidence(0.0), QUICK)
    row = {item.name: item for item in found.by}["person"]
    assert row.scores["share_nearest:men"].value == 1.0
    assert (row.scores["x"].value or 0) > 0
    assert row.scores["x"].p == pytest.approx(2 / 64)
    assert found.n_images == 66


def test_published_tendencies() -> None:
    found = score(task(), evidence(1.0), QUICK)
    rows = {row["concept"]: row for row in found.details["tendencies"]}
    assert rows["long hair"]["found"] == "women" and rows["person"]["found"] == "men"
    value = found.scores["tendencies_reproduced"].value
    assert value in (pytest.approx(2 / 3), pytest.approx(1.0))


def test_an_intersection_of_one_anchor() -> None:
    rng = np.random.default_rng(8)
    women = unit(WOMAN + HAIR + STANDING + 0.1 * rng.normal(size=(30, 6)))
    found = score(task(), evidence(1.0).with_images({"picture of women": women}), QUICK)
    row = {item.name: item.scores for item in found.by}["long hair & standing"]
    assert (row["share_both:women"].value or 0) > 0.9 > 0.1 > (row["share_both:men"].value or 0)
    assert row["difference"].p == pytest.approx(1 / 1000)


def test_three_anchors() -> None:
    found = score(task(3), evidence(1.0, 3), QUICK)
    hair = found.by[0].scores
    assert {name for name in hair if name.startswith("probability:")} == {
        "probability:women", "probability:men", "probability:people",
    }  # fmt: skip
    assert "delta" not in hair and (hair["D"].value or 0) > 0.8
    assert sum(hair[f"probability:{name}"].value or 0 for name in ("women", "men", "people")) == (
        pytest.approx(1.0)
    )


def test_needs_and_what_is_missing() -> None:
    found = needs(task(), QUICK)
    assert (found.n_images, found.n_prompts) == (66, 3)
    assert set(found.texts) == {
        *("picture of women", "picture of men", "long hair", "standing", "a person"),
    }
    lacking = score(task(), evidence(0.0).without("picture of women"), QUICK)
    assert lacking.headline.value is None and "women" in (lacking.reason or "")


def test_described_with_the_nearest_anchor() -> None:
    assert describe(task(), score(task(), evidence(1.0), QUICK)) == (
        "'long hair' tells 'women' and 'men' apart most: images of 'women' are nearest to it on "
        "average."
    )
    three = describe(task(3), score(task(3), evidence(1.0, 3), QUICK))
    assert three.startswith("'long hair' tells 'women', 'men' and 'people' apart most: images of")
    assert "'women' are nearest to it on average, those of '" in three


def test_described_without_a_direction_where_there_is_none() -> None:
    assert describe(task(), score(task(), evidence(0.0), QUICK)) == (
        "The test concepts do not tell 'women' and 'men' apart more than by chance."
    )
    base = evidence(0.0)
    images = {key: rows for key, rows in base._images.items() if "women" not in key}
    lacking = score(task(), HandEvidence(images, base._texts), QUICK)
    assert describe(task(), lacking) == "No score: no image of: women."


def test_anchors_that_differ_in_spread_alone_have_no_direction() -> None:
    cosines = np.linspace(0.3, 0.9, 30)
    narrow = 0.6 + 0.01 * np.linspace(-1, 1, 30)
    rows = {
        f"picture of {name}": np.stack([c, np.sqrt(1 - c**2), *np.zeros((4, 30))], axis=1)
        for name, c in (("women", cosines), ("men", narrow))
    }
    texts = {**evidence(0.0)._texts, "long hair": np.eye(6)[0]}
    spec = task(concepts=[{"name": "long hair", "prompt": "long hair"}], intersections=[])
    result = score(spec, HandEvidence(rows, texts), QUICK)
    assert result.by[0].scores["D"].p is not None and result.by[0].scores["D"].p < 0.05
    assert describe(spec, result).endswith("differ, and not in one direction alone.")
