"""Related words: correlations learnt from cosines, and the Mann-Whitney test that knows them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import mannwhitneyu

from t2ibench.stats import cliffs_delta
from t2ibench.stats.relatedness import (
    _BINS,
    _DECIMALS,
    Relatedness,
    effective_number,
    noise_correlation,
    positive_definite,
    related_dominance,
    related_draws,
    relatedness_across,
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
@pytest.mark.parametrize(
    ("draws", "least", "most"),
    [(100, 1, 11), pytest.param(400, 8, 34, marks=pytest.mark.nightly)],
)
def test_related_values_are_rejected_no_more_often_and_covered(
    draws: int, least: int, most: int
) -> None:
    """In one of twenty of the draws, and in more than a fifth where relations are ignored."""
    noise = blocks(6, 4, 0.8)
    rng = np.random.default_rng(2)
    rejected = naive = 0
    for x, y in zip(
        related_draws(noise, draws, rng), related_draws(noise, draws, rng), strict=True
    ):
        rejected += (
            related_dominance(x, y, noise, noise, n_draws=200, rng=rng).p <= 0.05
        )
        unrelated = related_dominance(
            x, y, np.eye(24), np.eye(24), n_draws=200, rng=rng
        )
        naive += unrelated.p <= 0.05
    assert least <= rejected <= most
    assert naive > draws / 5


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


def test_the_learnt_curve_is_that_of_bins_of_cosines() -> None:
    """Bin by bin of 100 words, over ordered pairs; then the nearest that ascends."""
    rng = np.random.default_rng(3)
    words = unit(rng.normal(size=(120, 3)))
    values = words @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(120, 2))
    result = Relatedness.learnt(words, values)
    assert result is not None
    centre = words.mean(axis=0)
    about = unit(words - centre)
    z = values - values.mean(axis=0)
    sums: dict[int, list[float]] = {}
    for first in range(120):
        for second in range(120):
            if first == second:
                continue
            cosine = round(float(about[first] @ about[second]), _DECIMALS)
            totals = sums.setdefault(int((cosine + 1) * _BINS / 2), [0.0] * 4)
            size = (z[first] @ z[first] + z[second] @ z[second]) / 2
            for place, part in enumerate((1, cosine, z[first] @ z[second], size)):
                totals[place] += part
    n, cosines, products, sizes = np.array([sums[place] for place in sorted(sums)]).T
    curve = isotonic_regression(products / sizes, weights=n).x
    assert result.centre == pytest.approx(centre)
    assert result.cosines == pytest.approx([*cosines / n, 1.0])
    assert result.correlations == pytest.approx([*np.minimum(curve, 1.0), 1.0])


def test_words_are_as_related_as_what_lies_across_a_direction() -> None:
    """Without the first coordinate (3, 4, 0) is (0, 4, 0) and (1, 2, 2) is (0, 2, 2): cos = √½."""
    rows = unit(np.array([[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]]))
    result = relatedness_across(rows, np.array([5.0, 0.0, 0.0]))
    assert result[0, 1] == pytest.approx(0.5**0.5, abs=1e-6)
    along_none = relatedness_across(rows, np.zeros(3))
    assert along_none[0, 1] == pytest.approx(11 / 15, abs=1e-6)
    assert np.diag(result).tolist() == [1.0, 1.0]


def test_what_unrelated_words_share_is_the_mean_about_the_median() -> None:
    """Pairs of .1 to .3 and a related one of .9: within a deviation of the median, below .9.

    The lower half lies .0 to .1 below the median of .2, so the window is its median times 1.48.
    """
    n = 5
    related = np.eye(n)
    values = [0.1, 0.15, 0.18, 0.19, 0.2, 0.21, 0.22, 0.25, 0.3, 0.9]
    for (first, second), value in zip(combinations(range(n), 2), values, strict=True):
        related[first, second] = related[second, first] = value
    shared = float(np.median(values))
    for _ in range(100):
        below = [shared - value for value in values if value <= shared]
        window = 1.4826 * np.median(below)
        inside = [value for value in values if abs(value - shared) <= window + 1e-6]
        if abs(np.mean(inside) - shared) < 1e-9:
            break
        shared = float(np.mean(inside))
    expected = (related - shared) / (1 - shared)
    np.fill_diagonal(expected, 1.0)
    assert np.linalg.eigvalsh(expected).min() > 1e-3
    assert noise_correlation(related) == pytest.approx(expected, abs=1e-6)
    assert noise_correlation(np.ones((1, 1))).tolist() == [[1.0]]


def test_the_nearest_positive_definite_correlations_clip_eigenvalues() -> None:
    broken = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    values, vectors = np.linalg.eigh(broken)
    clipped = vectors @ np.diag(np.maximum(values, 1e-6)) @ vectors.T
    sizes = np.sqrt(np.diag(clipped))
    expected = clipped / sizes[:, None] / sizes[None, :]
    assert positive_definite(broken) == pytest.approx(expected, abs=1e-5)
    whole = blocks(1, 3, 0.4)
    assert positive_definite(whole) == pytest.approx(whole)


def test_the_effective_number_of_words_by_hand() -> None:
    assert effective_number(blocks(2, 2, 0.5)) == pytest.approx(16 / 6)
    assert effective_number(blocks(1, 3, -0.4)) == 3.0
