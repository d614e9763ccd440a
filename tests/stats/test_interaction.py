"""Association within prompts, beside sums over pairs of images and all permutations."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from t2ibench.stats.interaction import (
    CrossedAnswers,
    cell_excess,
    interaction,
    shared_variance,
    unbiased_excess,
)

# Three prompts of 5, 4 and 6 images, and one with too few; classes (2, 3).
PAIRS = "00 01 12 11 00 12 10 01 00 01 01 12 12 10 02 11 00 10"
CODES = np.array([[int(code) for code in pair] for pair in PAIRS.split(" ")])
PROMPTS = np.repeat([0, 1, 2, 3], [5, 4, 6, 3])
ANSWERS = CrossedAnswers(CODES, PROMPTS, (2, 3))


def excess_by_pairs(images: np.ndarray) -> np.ndarray:
    """The share of (a, b) less that of pairs of different images, one with a and one with b."""
    n = len(images)
    excess = np.zeros((2, 3))
    for a, b in images:
        excess[a, b] += 1 / n
    for first, second in permutations(range(n), 2):
        excess[images[first, 0], images[second, 1]] -= 1 / (n * (n - 1))
    return excess


def test_an_excess_is_that_of_pairs_of_different_images() -> None:
    table = ANSWERS.table()
    assert table.shape == (4, 2, 3) and table.sum() == 18
    result = unbiased_excess(table)
    for prompt in range(4):
        expected = excess_by_pairs(CODES[prompt == PROMPTS])
        assert result[prompt] == pytest.approx(expected)


def test_the_interval_of_an_excess_is_the_jackknifes_over_images_of_each_prompt() -> (
    None
):
    """At least the variance of independent classes with one more image of any class."""
    values, variances, nulls, shares = [], [], [], []
    for prompt in range(3):
        images = CODES[prompt == PROMPTS]
        n = len(images)
        values.append(excess_by_pairs(images))
        without = [excess_by_pairs(np.delete(images, i, axis=0)) for i in range(n)]
        variances.append((n - 1) ** 2 / n * np.var(without, axis=0, ddof=1))
        p = (np.bincount(images[:, 0], minlength=2) + 1 / 2) / (n + 1)
        q = (np.bincount(images[:, 1], minlength=3) + 1 / 3) / (n + 1)
        nulls.append(np.outer(p * (1 - p), q * (1 - q)) / (n + 1))
        counts = np.zeros((2, 3))
        np.add.at(counts, tuple(images.T), 1 / n)
        shares.append(counts)
    value = np.mean(values, axis=0)
    larger = np.maximum(np.sum(variances, axis=0), np.sum(nulls, axis=0))
    error = np.sqrt(larger) / 3
    result = cell_excess(ANSWERS, level=0.9)
    assert result.share == pytest.approx(np.mean(shares, axis=0))
    assert result.excess == pytest.approx(value)
    t = stats.t(4 + 3 + 5)
    assert result.low == pytest.approx(value - t.ppf(0.95) * error)
    assert result.high == pytest.approx(value + t.ppf(0.95) * error)
    assert result.p == pytest.approx(2 * t.sf(np.abs(value) / error))


def test_prompts_with_fewer_than_four_images_have_no_excess() -> None:
    few = CrossedAnswers(CODES[-3:], np.zeros(3, dtype=np.int64), (2, 3))
    result = cell_excess(few)
    for array in (result.share, result.excess, result.low, result.high, result.p):
        assert array.shape == (2, 3) and np.isnan(array).all()


def test_answers_that_are_all_alike_have_the_variance_of_one_more_image() -> None:
    alike = CrossedAnswers(
        np.zeros((6, 2), dtype=np.int64), np.zeros(6, dtype=np.int64), (2, 2)
    )
    result = cell_excess(alike)
    p = 6.5 / 7
    half = stats.t.ppf(0.975, 5) * np.sqrt((p * (1 - p)) ** 2 / 7)
    assert result.excess[0, 0] == 0.0
    assert result.high[0, 0] == pytest.approx(half)


def g_statistic(codes: np.ndarray, prompts: np.ndarray) -> float:
    """2 Σ O ln(O / E), with E summed over prompts."""
    observed, expected = np.zeros((2, 3)), np.zeros((2, 3))
    for prompt in np.unique(prompts):
        images = codes[prompts == prompt]
        np.add.at(observed, tuple(images.T), 1)
        first = np.bincount(images[:, 0], minlength=2)
        second = np.bincount(images[:, 1], minlength=3)
        expected += np.outer(first, second) / len(images)
    filled = observed > 0
    return float(
        2 * (observed[filled] * np.log(observed[filled] / expected[filled])).sum()
    )


def test_an_interaction_is_tested_by_all_permutations_within_prompts() -> None:
    """Two prompts of four and three images: 24 · 6 orders, beside 20,000 random ones."""
    codes = np.array([[0, 0], [0, 0], [1, 2], [1, 1], [0, 1], [1, 2], [1, 2]])
    prompts = np.array([0, 0, 0, 0, 1, 1, 1])
    observed = g_statistic(codes, prompts)
    null = []
    for first, second in product(permutations(range(4)), permutations(range(4, 7))):
        moved = np.column_stack([codes[:, 0], codes[[*first, *second], 1]])
        null.append(g_statistic(moved, prompts))
    p = np.mean(np.array(null) >= observed - 1e-9)
    order = np.array([4, 0, 5, 1, 2, 6, 3])
    answers = CrossedAnswers(codes[order], prompts[order], (2, 3))
    result = interaction(answers, 20_000, np.random.default_rng(0))
    assert result.p == pytest.approx(p, abs=0.015)
    assert result.value == pytest.approx((observed - np.mean(null)) / 14, abs=0.005)


def test_permutations_of_many_images_are_drawn_in_blocks() -> None:
    rng = np.random.default_rng(1)
    codes = np.repeat([[0, 0], [1, 1]], 2000, axis=0)
    answers = CrossedAnswers(codes, np.zeros(4000, dtype=np.int64), (2, 2))
    # 100 at a time: every draw counts once, and the data as one more.
    assert interaction(answers, 249, rng).p == pytest.approx(1 / 250)


def shared_by_pairs(
    x: list[float], w: list[float], strata: str, units: str, words: list[str]
) -> float:
    """Σ over pairs of values of one word and two units of i i', and the covariance added back."""
    included = [
        place
        for place, word in enumerate(words)
        if word
        and len(
            {b for s, b in zip(strata, words, strict=True) if b and s == strata[place]}
        )
        > 1
    ]
    members = {g: [p for p in included if strata[p] == g] for g in set(strata)}
    influence = {}
    for places in members.values():
        n_words = len({words[p] for p in places})
        mean = np.mean([x[p] for p in places]) if places else 0.0
        for p in places:
            correction = (n_words / (n_words - 1)) ** 0.5
            influence[p] = w[p] * (x[p] - mean) * correction
    extra = 0.0
    for a, b in product(included, repeat=2):
        if words[a] == words[b] and units[a] != units[b]:
            extra += influence[a] * influence[b]
    for places in members.values():
        crossing = sum(
            words[a] == words[b] and units[a] != units[b]
            for a, b in product(places, repeat=2)
        )
        by_units = sum(
            sum(influence[p] for p in places if units[p] == unit) ** 2
            for unit in {units[p] for p in places}
        )
        if places:
            extra += crossing / len(places) ** 2 * by_units
    return float(extra)


def test_the_variance_of_shared_words_is_a_sum_over_pairs_of_values() -> None:
    x = [1.0, 3.0, 1.5, 2.5, 0.5, 3.5, 7.0, 9.0, 8.0, 4.0]
    w = [0.2, 0.25, 0.1, 0.3, 0.2, 0.15, 0.4, 0.1, 0.2, 0.3]
    strata, units = "gggggghhhi", "aabbccaabb"
    words = ["joy", "love", "joy", "love", "hope", "love", "joy", "calm", "joy", "joy"]
    extra, df = shared_variance(x, w, strata, units, words)
    expected = shared_by_pairs(x, w, strata, units, words)
    assert expected > 0
    assert extra == pytest.approx(expected)
    # The fewest words of a stratum are two; the share is that of the sum over words.
    included = np.arange(9)
    influence = np.zeros(10)
    for group, n_words in (("g", 3), ("h", 2)):
        places = [p for p in included if strata[p] == group]
        mean = np.mean([x[p] for p in places])
        for p in places:
            influence[p] = w[p] * (x[p] - mean) * np.sqrt(n_words / (n_words - 1))
    by_words = sum(
        sum(influence[p] for p in included if words[p] == word) ** 2
        for word in set(words)
    )
    assert df == pytest.approx(min(extra / by_words, 1.0) ** 2)
    words[3] = ""
    without = shared_variance(x, w, strata, units, words)
    assert without[0] == pytest.approx(
        max(0.0, shared_by_pairs(x, w, strata, units, words))
    )


def test_words_that_move_units_apart_share_no_variance() -> None:
    extra, df = shared_variance(
        [1.0, 3.0, 3.0, 1.0], [0.25] * 4, "gggg", "aabb", ["joy", "love"] * 2
    )
    assert extra == 0.0 and np.isnan(df)
    fixed, df = shared_variance([1.0, 3.0], [0.5, 0.5], "gg", "ab", ["joy", "joy"])
    assert fixed == 0.0 and np.isnan(df)
