"""Related words: correlations learnt from cosines, and the Mann-Whitney test that knows them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from t2ibench.stats import cliffs_delta
from t2ibench.stats.relatedness import (
    Relatedness,
    effective_number,
    noise_correlation,
    related_dominance,
    related_draws,
)


def blocks(clusters: int, size: int, inside: float) -> np.ndarray:
    one = np.full((size, size), inside)
    np.fill_diagonal(one, 1.0)
    return np.kron(np.eye(clusters), one)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_without_relations_the_test_equals_mann_whitney() -> None:
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.8, 1.6):
        x, y = rng.normal(shift, size=6), rng.normal(size=6)
        found = related_dominance(x, y, np.eye(6), np.eye(6), n_draws=20_000, rng=rng)
        assert found.value == pytest.approx(cliffs_delta(x, y))
        assert found.p == pytest.approx(
            mannwhitneyu(x, y, method="exact").pvalue, abs=0.015
        )


def test_the_interval_has_no_zero_where_the_test_rejects() -> None:
    rng = np.random.default_rng(1)
    noise = blocks(4, 3, 0.6)
    rejected = 0
    for number in range(60):
        x, y = (
            related_draws(noise, 2, rng)[0] + number / 30,
            related_draws(noise, 2, rng)[0],
        )
        for level in (0.9, 0.95):
            found = related_dominance(
                x, y, noise, noise, level=level, n_draws=400, rng=rng
            )
            low, high = found.interval
            assert -1 <= low <= found.value <= high <= 1
            assert (low > 0 or high < 0) == (found.p <= 1 - level + 1e-12)
            rejected += found.p <= 1 - level
    assert 20 <= rejected <= 100


@pytest.mark.slow
def test_related_values_are_rejected_no_more_often_and_covered() -> None:
    noise = blocks(6, 4, 0.8)
    rng = np.random.default_rng(2)
    rejected = naive = 0
    for x, y in zip(
        related_draws(noise, 400, rng), related_draws(noise, 400, rng), strict=True
    ):
        rejected += (
            related_dominance(x, y, noise, noise, n_draws=200, rng=rng).p <= 0.05
        )
        unrelated = related_dominance(
            x, y, np.eye(24), np.eye(24), n_draws=200, rng=rng
        )
        naive += unrelated.p <= 0.05
    assert 8 <= rejected <= 34  # 20 of 400 expected
    assert naive > 80


def test_draws_have_the_correlations() -> None:
    noise = blocks(2, 2, 0.7)
    draws = related_draws(noise, 40_001, np.random.default_rng(3))
    assert draws.shape == (40_000, 4)
    assert np.corrcoef(draws.T) == pytest.approx(noise, abs=0.02)
    assert draws.sum(axis=0) == pytest.approx(0, abs=1e-9)


def test_ties_count_half_and_whole_separation_ends_at_one() -> None:
    rng = np.random.default_rng(4)
    tied = related_dominance([1, 2, 2], [2, 3, 1], np.eye(3), np.eye(3), rng=rng)
    assert tied.value == pytest.approx(cliffs_delta([1, 2, 2], [2, 3, 1]))
    assert tied.interval[0] < tied.value < tied.interval[1]
    sets = np.arange(8) + 9, np.arange(8), np.eye(8), np.eye(8)
    greater, less = (
        related_dominance(*sets, alternative=s, rng=rng) for s in ("greater", "less")
    )
    assert 0.3 < greater.interval[0] < 0.9 and greater.interval[1] == 1.0
    assert greater.p < 0.01 and less.p > 0.99


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_curve_is_that_of_the_reference(power: float) -> None:
    rng = np.random.default_rng(5)
    cosines = np.repeat(rng.uniform(0.1, 0.9, 300), 5)[:, None]

    def drawn(shared: np.ndarray, width: int) -> np.ndarray:
        both = np.repeat(rng.normal(size=(300, width)), 5, axis=0)
        return np.sqrt(shared) * both + np.sqrt(1 - shared) * rng.normal(
            size=(1500, width)
        )

    rows, values = unit(drawn(cosines, 600)), drawn(cosines**power, 1)
    curve = Relatedness.learnt(rows + 0.0, values)
    assert curve is not None
    assert (np.diff(curve.correlations) >= 0).all()
    assert curve.correlations[-1] == 1.0
    for cosine in (0.3, 0.5, 0.7):
        found = np.interp(cosine, curve.cosines, curve.correlations)
        assert found == pytest.approx(cosine**power, abs=0.13)


def test_too_few_or_equal_reference_words_teach_nothing() -> None:
    rows = unit(np.random.default_rng(6).normal(size=(120, 5)))
    assert Relatedness.learnt(rows[:99], rows[:99, 0]) is None
    assert Relatedness.learnt(rows, np.ones(120)) is None
    assert Relatedness.learnt(rows, rows[:, 0]) is not None


def test_similarity_of_the_whole_set_is_not_noise() -> None:
    shared = 0.5 + 0.5 * blocks(6, 4, 0.6)
    noise = noise_correlation(shared)
    assert noise == pytest.approx(blocks(6, 4, 0.6), abs=1e-6)
    assert effective_number(noise) == pytest.approx(24 / (1 + 3 * 0.6))
    assert effective_number(noise_correlation(np.eye(5))) == pytest.approx(5)
    assert noise_correlation(np.ones((1, 1))).tolist() == [[1.0]]
