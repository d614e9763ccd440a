"""How often a judge errs, what that makes of a share, and the way back."""

from __future__ import annotations

import numpy as np
import pytest

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
