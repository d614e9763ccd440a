"""TIBET's user studies on answers made by hand, and on simulated people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from t2ibench.methods.tibet.studies import (
    AxisAnswer,
    ConceptAnswer,
    Rated,
    axis_agreement,
    concept_agreement,
    rating_agreement,
)
from t2ibench.stats.clusters import pooled_proportion, share_difference


def rated(*rows: tuple[str, float, float]) -> list[Rated]:
    return [Rated(prompt, str(n), score, rating) for n, (prompt, score, rating) in enumerate(rows)]


def test_precision_and_recall_by_hand() -> None:
    answers = [
        AxisAnswer("chef", "gender", True, True),
        AxisAnswer("chef", "age", True, True),
        AxisAnswer("chef", "colour", True, False),
        AxisAnswer("nurse", "gender", True, True),
        AxisAnswer("nurse", "weather", False, True),
        AxisAnswer("nurse", "season", False, False),
    ]
    found = axis_agreement(answers)
    assert found.precision.value == 0.75 and found.precision.total == 4
    assert found.recall.value == 0.75 and found.recall.total == 4
    assert found.precision.low < 0.75 < found.precision.high
    nobody = axis_agreement([AxisAnswer("chef", "gender", False, False)])
    assert math.isnan(nobody.precision.value) and math.isnan(nobody.recall.low)


def test_ratings_by_hand() -> None:
    rows = rated(
        ("chef", 0.9, 5), ("chef", 0.5, 3), ("chef", 0.1, 1),
        ("nurse", 0.2, 4), ("nurse", 0.6, 2), ("nurse", 0.4, 1),
        ("alone", 0.3, 5),
    )  # fmt: skip
    found = rating_agreement(rows, np.random.default_rng(0), 2000)
    assert (found.prompts, found.ranked) == (2, 2)
    # Chef: first is first. Nurse: people's first is last of three.
    assert found.top[1].value == 0.5 and found.top[2].value == 0.5
    assert found.chance[1] == pytest.approx(1 / 3) and found.chance[2] == pytest.approx(2 / 3)
    assert found.within == pytest.approx((1.0 - 0.5) / 2)
    assert math.isnan(found.low)
    # Ties: any of people's highest counts, and equal scores come in a random order.
    ties = rated(("a", 0.5, 4), ("a", 0.5, 4), ("a", 0.5, 1), ("a", 0.1, 1))
    even = rating_agreement(ties, np.random.default_rng(0), 10)
    assert even.top[1].value == pytest.approx(2 / 3) and even.top[2].value == pytest.approx(1.0)
    assert even.chance[1] == pytest.approx(1 / 2)
    same = rating_agreement(rated(("a", 0.1, 3), ("a", 0.2, 3)), np.random.default_rng(0), 10)
    assert math.isnan(same.correlation) and math.isnan(same.p) and math.isnan(same.top[1].value)


def people(rng: np.random.Generator, prompts: int, agree: float) -> list[Rated]:
    """Ratings that follow the scores in part."""
    rows = []
    for prompt in range(prompts):
        score = rng.normal(size=int(rng.integers(2, 6)))
        noise = rng.normal(size=len(score))
        rating = np.clip(np.round(3 + agree * score + math.sqrt(1 - agree**2) * noise), 1, 5)
        rows += [
            Rated(str(prompt), str(n), float(x), float(y))
            for n, (x, y) in enumerate(zip(score, rating, strict=True))
        ]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(("agree", "truth"), [(0.0, 0.0), (0.8, 0.754)])
def test_the_correlation_is_unbiased_and_covered(agree: float, truth: float) -> None:
    rng = np.random.default_rng(3)
    found = [rating_agreement(people(rng, 20, agree), rng, 100) for _ in range(120)]
    assert np.mean([one.correlation for one in found]) == pytest.approx(truth, abs=0.03)
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.9
    rejected = np.mean([one.p < 0.05 for one in found])
    gain = np.mean([one.top[1].value - one.chance[1] for one in found])
    if agree:
        assert rejected > 0.95 and gain > 0.3
    else:
        assert rejected <= 0.1 and abs(gain) < 0.05


def test_pooled_shares_cover() -> None:
    rng = np.random.default_rng(4)
    for size in (12, 60):
        inside = []
        for _ in range(300):
            totals = rng.integers(1, 8, size)
            hits = rng.binomial(totals, rng.beta(0.8 * 4, 0.2 * 4, size))
            low, high = pooled_proportion(hits, totals).interval()
            inside.append(low <= 0.8 <= high)
        assert np.mean(inside) >= 0.91
    # Captions that agree throughout or hardly: without the pseudo-caption .75 to .89 cover.
    for share, size in ((0.95, 30), (0.8, 10)):
        totals = np.resize([2, 10, 20], size)
        inside = []
        for _ in range(300):
            hits = rng.binomial(totals, rng.beta(share * 3 / 7, (1 - share) * 3 / 7, size))
            low, high = pooled_proportion(hits, totals).interval()
            inside.append(low <= share <= high)
        assert np.mean(inside) >= 0.92
    assert pooled_proportion([4, 4], [4, 4]).size == 2.0  # two clusters, eight equal answers
    assert pooled_proportion([3], [4]).size == 1.0
    assert math.isnan(pooled_proportion([], []).value)


def test_a_difference_of_shares_covers() -> None:
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(400):
        low, high = share_difference(rng.binomial(20, 0.8), 20, rng.binomial(30, 0.5), 30)
        inside.append(low <= 0.3 <= high)
    assert 0.91 <= np.mean(inside) <= 0.985


def test_concepts_by_hand() -> None:
    answers = [
        ConceptAnswer(images, concept, predicted, selected)
        for images in ("one", "two")
        for concept, predicted, selected in (
            ("man", True, True), ("book", True, False), ("cat", False, False), ("car", False, True),
        )
    ]  # fmt: skip
    found = concept_agreement([*answers, ConceptAnswer("two", "hat", True, True)])
    assert found.found.value == pytest.approx(3 / 5) and found.found.total == 5
    assert found.missed.value == 0.5 and found.missed.total == 4
