"""Squared leans of answers: hand cases, unbiasedness, variances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import (
    critical_value,
    p_value,
    pseudo_variance,
    squared_lean,
    squared_lean_without,
)


def expectation(p: list[float], n: int, expected: list[float] | None = None) -> float:
    """The exact mean over all outcomes of n answers."""
    k = len(p)
    outcomes = [c for c in product(range(n + 1), repeat=k) if sum(c) == n]
    weights = scipy_stats.multinomial.pmf(outcomes, n, p)
    return float(weights @ squared_lean(outcomes, expected))


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("p", [[0.5, 0.5], [0.9, 0.1], [0.6, 0.3, 0.1]])
def test_the_mean_over_all_outcomes_is_the_squared_lean(n: int, p: list[float]) -> None:
    k = len(p)
    true = sum((x - 1 / k) ** 2 for x in p) / (1 - 1 / k)
    assert expectation(p, n) == pytest.approx(true)
    r = [0.2] * (k - 1) + [1 - 0.2 * (k - 1)]
    true = sum((x - y) ** 2 for x, y in zip(p, r, strict=True)) / (1 - 1 / k)
    assert expectation(p, n, r) == pytest.approx(true)


def test_too_few_answers_have_no_square_and_padding_changes_nothing() -> None:
    assert np.isnan(squared_lean([[1, 0], [0, 0]])).all()
    expected = np.array([[0.5, 0.5, 0.0], [1 / 3] * 3])
    padded = squared_lean([[7, 3, 0], [4, 3, 3]], expected, classes=[2, 3])
    assert padded == pytest.approx(
        [float(squared_lean(n)) for n in ([7, 3], [4, 3, 3])]
    )


def test_without_one_answer() -> None:
    found = squared_lean_without([7, 3, 0])
    assert found[:2].tolist() == [
        float(squared_lean([6, 3, 0])),
        float(squared_lean([7, 2, 0])),
    ]
    assert np.isnan(found[2])
    # The mean over the answers is the square itself, as for every U-statistic.
    assert (7 * found[0] + 3 * found[1]) / 10 == pytest.approx(
        float(squared_lean([7, 3, 0]))
    )


def test_the_pseudo_variance_counts_shared_images_once() -> None:
    codes = np.array([[0, 0]] * 7 + [[1, 1]] * 3)
    even, both = np.full((2, 2), 0.5), (np.array([2, 2]), np.full(2, 0.5))
    one = pseudo_variance(codes[:, :1], even[:1], np.array([2]), np.ones(1))
    mixed = codes.copy()
    mixed[:, 1] = np.random.default_rng(0).permutation(codes[:, 1])
    assert pseudo_variance(codes, even, *both) == pytest.approx(one, rel=0.1)
    assert pseudo_variance(mixed, even, *both) < 0.8 * one
    codes[5:, 1] = -1  # without an answer to the second question
    assert np.isfinite(pseudo_variance(codes, even, *both))


def test_the_critical_value_is_the_largest_that_is_not_rejected() -> None:
    null = np.random.default_rng(0).integers(0, 50, 1999).astype(float)
    critical = critical_value(null, 0.95)
    assert p_value(null, critical, "greater", exact=False) >= 0.05
    assert p_value(null, critical + 1, "greater", exact=False) < 0.05
