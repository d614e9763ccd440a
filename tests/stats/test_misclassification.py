"""How often a judge errs, what that makes of a share, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pytest

from t2ibench.stats.clusters import Proportion
from t2ibench.stats.misclassification import (
    ClassErrors,
    Rate,
    clustered_rate,
    errors_of,
    group_test,
)


def exactly(value: float) -> Rate:
    return Rate(value, value, value, 100)


def test_a_share_is_read_with_errors_and_missing_answers_and_found_again() -> None:
    """.9 women of whom .8 are answered and .75 of those right; .5 of men, .95 right."""
    errors = ClassErrors(exactly(0.75), exactly(0.95), exactly(0.8), exactly(0.5))
    among_answered = 0.9 * 0.8 / (0.9 * 0.8 + 0.1 * 0.5)
    read = errors.read(0.9)
    assert read.value == pytest.approx(
        among_answered * 0.75 + (1 - among_answered) * 0.05
    )
    assert (read.low, read.high) == pytest.approx((read.value, read.value))
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        q = errors.read(share).value
        assert errors.corrected(q, q, q).value == pytest.approx(share)
    assert errors.corrected(0.0, 0.0, 0.0).value == 0  # fewer than its false alarms
    assert errors.youden.value == pytest.approx(0.7)


def test_a_rate_of_alike_images_is_as_sure_as_their_prompts() -> None:
    independent = clustered_rate([1] * 60 + [0] * 20, [1] * 80)
    # Wilson's interval of 60 of 80 is .645 to .832.
    assert (independent.low, independent.high) == pytest.approx(
        (0.645, 0.832), abs=0.003
    )
    alike = clustered_rate([10] * 6 + [0] * 2, [10] * 8)
    assert alike.value == 0.75 and alike.high - alike.low > 0.47
    none = clustered_rate([0, 0], [0, 0])
    assert np.isnan(none.value) and (none.low, none.high, none.images) == (0, 1, 0)


def test_errors_are_counted_class_by_class() -> None:
    truth, judged = [0, 0, 0, 0, 1, 1, 2, 2], [0, 0, 1, -1, 0, 1, 2, -1]
    found = errors_of(truth, judged, 0, range(8))
    assert found.sensitivity.value == pytest.approx(2 / 3)
    assert found.specificity.value == pytest.approx(2 / 3)
    assert (found.answered.value, found.answered_others.value) == (0.75, 0.75)


def test_intervals_cover_where_prompts_differ() -> None:
    """Beta-distributed rates of 20 prompts; 400 data sets, so .95 is seen between .92 and .98."""
    rng = np.random.default_rng(4)
    for p, correlation in ((0.8, 1e-9), (0.97, 0.1)):
        sizes, (a, b) = (
            rng.integers(1, 11, (400, 20)),
            np.array([p, 1 - p]) * (1 / correlation - 1),
        )
        hits = rng.binomial(sizes, rng.beta(a, b, (400, 20)))
        found = map(clustered_rate, hits, sizes)
        assert np.mean([one.low <= p <= one.high for one in found]) > 0.92


def test_unequal_errors_are_detected_and_equal_ones_rarely() -> None:
    """25 prompts whose rates differ; one of three groups is read .25 worse, or none is."""
    rng, draws = np.random.default_rng(5), np.random.default_rng(6)
    rejected = {0.0: 0, 0.25: 0}
    for _ in range(100):
        prompts = np.repeat(np.arange(25), rng.integers(1, 12, 25))
        right = rng.beta(0.8 * 9, 0.2 * 9, 25)[prompts]
        groups = rng.integers(0, 3, len(prompts))
        for worse in rejected:
            outcome = rng.random(len(prompts)) < right - worse * (groups == 0)
            rejected[worse] += group_test(outcome, groups, prompts, draws, 199) < 0.05
    assert rejected[0.0] <= 10 and rejected[0.25] >= 50


def test_nothing_to_compare_has_no_p() -> None:
    rng = np.random.default_rng(0)
    assert np.isnan(group_test([1, 0, 1], [0, 0, 0], [0, 1, 2], rng))
    assert np.isnan(group_test([1, 1, 1], [0, 1, 1], [0, 1, 2], rng))
    assert np.isnan(group_test([], [], [], rng))


def largest_gap(outcome: Sequence[int], groups: Sequence[int]) -> float:
    """The largest difference between a group and all others, in √(1 / n + 1 / others)."""
    gaps = []
    for group in set(groups):
        inside = [y for y, g in zip(outcome, groups, strict=True) if g == group]
        outside = [y for y, g in zip(outcome, groups, strict=True) if g != group]
        scale = np.sqrt(1 / len(inside) + 1 / len(outside))
        gaps.append(abs(np.mean(inside) - np.mean(outside)) / scale)
    return float(max(gaps))


def largest_score(
    outcome: Sequence[int],
    groups: Sequence[int],
    prompts: Sequence[int],
    signs: Sequence[int],
) -> float:
    """The largest difference if each prompt's part has a sign, over its standard error."""
    y = np.array(outcome) - np.mean(outcome)
    scores = []
    for group in set(groups):
        inside = np.array(groups) == group
        weighted = y * np.where(inside, 1 / inside.sum(), -1 / (~inside).sum())
        parts = [weighted[np.array(prompts) == prompt].sum() for prompt in set(prompts)]
        if error := np.linalg.norm(parts):
            scores.append(abs(np.dot(signs, parts)) / error)
    return float(max(scores))


@pytest.mark.parametrize(
    ("outcome", "groups", "prompts"),
    [
        ([1, 1, 1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2, 3]),
        ([1, 1, 0, 1, 0, 0, 0, 1], [0, 0, 0, 2, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6, 7]),
        ([1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 2, 2, 3]),
    ],
)
def test_the_test_of_groups_has_the_exact_p_of_all_permutations_and_all_signs(
    outcome: list[int], groups: list[int], prompts: list[int]
) -> None:
    """Monte Carlo with 20,000 draws of each, beside every permutation and every sign."""
    gap = largest_gap(outcome, groups) - 1e-9
    orders = set(permutations(outcome))
    p_of_permutations = np.mean([largest_gap(o, groups) >= gap for o in orders])
    n_prompts = len(set(prompts))
    score = largest_score(outcome, groups, prompts, [1] * n_prompts) - 1e-9
    p_of_signs = np.mean(
        [
            largest_score(outcome, groups, prompts, signs) >= score
            for signs in product([-1, 1], repeat=n_prompts)
        ]
    )
    expected = max(p_of_permutations, p_of_signs)
    result = group_test(
        outcome, groups, prompts, np.random.default_rng(0), draws=20_000
    )
    assert result == pytest.approx(expected, abs=0.015)


def test_a_group_without_images_changes_no_test() -> None:
    outcome, prompts = [1, 1, 1, 1, 1, 0, 0, 0, 0, 1], range(10)
    with_gap = group_test(
        outcome, [0] * 5 + [2] * 5, prompts, np.random.default_rng(0), 999
    )
    without = group_test(
        outcome, [0] * 5 + [1] * 5, prompts, np.random.default_rng(0), 999
    )
    assert with_gap == pytest.approx(without, abs=0.05)


def test_the_smallest_p_of_a_test_of_groups_counts_the_data_as_a_draw() -> None:
    outcome, groups = [1] * 30 + [0] * 30, [0] * 30 + [1] * 30
    result = group_test(outcome, groups, range(60), np.random.default_rng(0), draws=99)
    assert result == pytest.approx(1 / 100)


def test_a_clustered_rate_by_hand() -> None:
    """9 of 10, 4 of 5 and 1 of 5: p = .7; residuals 2, .5 and −2.5 have the squares 10.5.

    V = 3 / 2 · 10.5 / 20² and Wilson's interval has p (1 - p) / V images and t of 2.
    """
    result = clustered_rate([9, 4, 1, 0], [10, 5, 5, 0])
    variance = 1.5 * 10.5 / 400
    share = Proportion(0.7, 0.21 / variance, 2.0)
    assert (result.low, result.high) == pytest.approx(share.interval())
    assert (result.value, result.images) == (0.7, 20)
    # One more prompt differs from the mean by 3 V - p (1 - p) · 3 / 20 more.
    another = clustered_rate([9, 4, 1], [10, 5, 5], 0.8, of_another=True)
    share = Proportion(0.7, 0.21 / (4 * variance - 0.21 * 3 / 20), 2.0)
    assert (another.low, another.high) == pytest.approx(share.interval(0.8))


def test_rates_of_one_prompt_and_of_alike_prompts_are_of_independent_images() -> None:
    alone = clustered_rate([3], [4])
    assert (alone.low, alone.high) == Proportion(0.75, 4.0, 3.0).interval()
    image = clustered_rate([1], [1])
    assert (image.low, image.high) == Proportion(1.0, 1.0, 1.0).interval()
    alike = clustered_rate([2, 2], [4, 4], of_another=True)
    assert (alike.low, alike.high) == Proportion(0.5, 8.0, 1.0).interval()


def test_intervals_of_a_combined_rate_add_squared_distances() -> None:
    """Youden's index .8 + .9 − 1 with ends .1 and .05 below, .08 and .06 above."""
    sensitivity = Rate(0.8, 0.7, 0.88, 40)
    specificity = Rate(0.9, 0.85, 0.96, 60)
    errors = ClassErrors(sensitivity, specificity, exactly(1.0), exactly(1.0))
    result = errors.youden
    assert result.value == pytest.approx(0.7)
    assert result.low == pytest.approx(0.7 - np.hypot(0.1, 0.05))
    assert result.high == pytest.approx(0.7 + np.hypot(0.08, 0.06))
    assert result.images == 40
    # A larger specificity makes fewer false alarms: read falls with it.
    read = errors.read(0.25)
    assert read.value == pytest.approx(0.25 * 0.8 + 0.75 * 0.1)
    assert read.low == pytest.approx(read.value - np.hypot(0.25 * 0.1, 0.75 * 0.06))
    assert read.high == pytest.approx(read.value + np.hypot(0.25 * 0.08, 0.75 * 0.05))
    # (q + sp - 1) / (se + sp - 1), with q = .31 +- .07.
    corrected = errors.corrected(0.31, 0.24, 0.38)
    assert corrected.value == pytest.approx(0.21 / 0.7)
    ends = [(0.14 / 0.7, 0.28 / 0.7), (0.21 / 0.78, 0.21 / 0.6)]
    ends.append((0.16 / 0.65, 0.27 / 0.76))
    below = [0.3 - low for low, _ in ends]
    above = [high - 0.3 for _, high in ends]
    assert corrected.low == pytest.approx(0.3 - np.linalg.norm(below))
    assert corrected.high == pytest.approx(0.3 + np.linalg.norm(above))
