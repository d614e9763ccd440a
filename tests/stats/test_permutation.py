"""Permutation tests against enumeration, scipy and theory; adjusted p-values by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from t2ibench.stats import (
    benjamini_hochberg,
    correlation_permutation,
    holm,
    sign_flip_permutation,
    two_sample_permutation,
)
from tests.stats.formulas import two_sample_statistic

STATISTICS = ("mean_difference", "cohens_d", "union_d", "union_d_ddof0", "cliffs_delta")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", STATISTICS)
def test_every_partition_has_the_statistic_computed_directly(name: str) -> None:
    values = np.round(rng().normal(size=9), 1)  # rounding makes ties
    in_x = np.arange(9) < 4
    found = two_sample_permutation(values, in_x, statistics=[name], rng=rng())[name]
    direct = []
    for chosen in combinations(range(9), 4):
        inside = np.isin(np.arange(9), chosen)
        direct.append(two_sample_statistic(values[inside], values[~inside], name))
    assert found.exact and len(found.null) == 126
    assert np.allclose(found.null, direct)
    assert found.observed == pytest.approx(two_sample_statistic(values[:4], values[4:], name))
    extreme = np.abs(direct) >= abs(found.observed) - 1e-9
    assert found.p == pytest.approx(extreme.mean())


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_equals_scipys_exact_test(alternative: str) -> None:
    x, y = rng(1).normal(0.8, 1, 7), rng(2).normal(size=6)
    ours = two_sample_permutation(
        np.concatenate([x, y]), np.arange(13) < 7, alternative=alternative, rng=rng()
    )["mean_difference"]
    theirs = scipy_stats.permutation_test(
        (x, y), lambda a, b: a.mean() - b.mean(), n_resamples=np.inf, alternative=alternative
    )
    if alternative == "two-sided":  # scipy doubles the smaller side; here |stat| on both sides
        extreme = np.abs(theirs.null_distribution) >= abs(theirs.statistic) - 1e-12
        assert ours.p == pytest.approx(extreme.mean())
    else:
        assert ours.p == pytest.approx(theirs.pvalue)


def test_monte_carlo_keeps_the_sizes_and_is_never_zero() -> None:
    values = np.concatenate([np.full(30, 5.0), np.zeros(30)])
    values += rng(3).normal(size=60) * 0.01
    found = two_sample_permutation(
        values,
        np.arange(60) < 30,
        statistics=["mean_difference", "cliffs_delta"],
        n_draws=999,
        rng=rng(),
    )
    for result in found.values():
        assert not result.exact and len(result.null) == 999
        assert result.p == pytest.approx(1 / 1000)
    assert found["cliffs_delta"].observed == pytest.approx(1.0)
    # Labels are shuffled, not drawn with replacement: the null mean is 0 and the spread is that
    # of sampling without replacement.
    sd = values.std(ddof=1) * np.sqrt(1 / 30 + 1 / 30)
    assert found["mean_difference"].null.std() == pytest.approx(sd, rel=0.1)


def test_monte_carlo_agrees_with_enumeration() -> None:
    values = np.concatenate([rng(4).normal(0.5, 1, 9), rng(5).normal(0, 1, 9)])
    exact = two_sample_permutation(values, np.arange(18) < 9, rng=rng())["mean_difference"]
    drawn = two_sample_permutation(
        values, np.arange(18) < 9, max_exact=10, n_draws=50_000, rng=rng()
    )["mean_difference"]
    assert exact.exact and not drawn.exact
    assert drawn.p == pytest.approx(exact.p, abs=4 * np.sqrt(exact.p / 50_000))


def test_whole_clusters_move() -> None:
    clusters = np.repeat(np.arange(8), [1, 2, 3, 4, 4, 3, 2, 1])
    values = rng(6).normal(size=20)
    in_x = clusters < 4
    found = two_sample_permutation(values, in_x, clusters, rng=rng())["mean_difference"]
    direct = []
    for chosen in combinations(range(8), 4):
        inside = np.isin(clusters, chosen)
        direct.append(values[inside].mean() - values[~inside].mean())
    assert len(found.null) == 70
    assert np.allclose(found.null, direct)


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_swapping_the_sides_changes_the_sign_only(seed: int, n_x: int, n_y: int) -> None:
    values = np.round(rng(seed).normal(size=n_x + n_y), 1)
    in_x = np.arange(n_x + n_y) < n_x
    one = two_sample_permutation(values, in_x, statistics=STATISTICS, rng=rng())
    other = two_sample_permutation(values, ~in_x, statistics=STATISTICS, rng=rng())
    for name in STATISTICS:
        if np.isfinite(one[name].observed):
            assert one[name].observed == pytest.approx(-other[name].observed)
            assert one[name].p == pytest.approx(other[name].p)
            assert 0 < one[name].p <= 1


def test_constant_values_have_no_effect_size() -> None:
    found = two_sample_permutation(
        np.full(12, 0.3), np.arange(12) < 6, statistics=STATISTICS, rng=rng()
    )
    assert found["mean_difference"].p == 1.0
    assert found["cliffs_delta"].observed == pytest.approx(0.0)
    for name in ("cohens_d", "union_d", "union_d_ddof0"):
        assert np.isnan(found[name].observed) and np.isnan(found[name].p)


def test_the_same_seed_gives_the_same_partitions_whatever_the_values() -> None:
    in_x = np.arange(60) < 30
    values = rng(7).normal(size=60)
    one = two_sample_permutation(values, in_x, n_draws=500, rng=rng(1))["mean_difference"]
    two = two_sample_permutation(2 * values, in_x, n_draws=500, rng=rng(1))["mean_difference"]
    assert np.allclose(2 * one.null, two.null)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="at least one"):
        two_sample_permutation([1.0, 2.0], [True, True], rng=rng())
    with pytest.raises(ValueError, match="both sides"):
        two_sample_permutation([1.0, 2.0, 3.0], [True, False, False], [0, 0, 1], rng=rng())
    with pytest.raises(ValueError, match="unknown statistic"):
        two_sample_permutation([1.0, 2.0], [True, False], statistics=["x"], rng=rng())
    with pytest.raises(ValueError, match="alternative"):
        two_sample_permutation([1.0, 2.0], [True, False], alternative="x", rng=rng())


def test_sign_flips() -> None:
    values = np.array([0.5, 1.0, -0.2, 0.7])
    found = sign_flip_permutation(values, rng=rng())
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
    direct = (signs * values).mean(axis=1)
    assert len(found.null) == 16
    assert found.p == pytest.approx((np.abs(direct) >= abs(values.mean()) - 1e-12).mean())
    pairs = sign_flip_permutation(values, [0, 0, 1, 1], rng=rng())
    assert len(pairs.null) == 4 and pairs.p == pytest.approx(0.5)
    many = sign_flip_permutation(np.full(40, 1.0), n_draws=999, rng=rng())
    assert many.p == pytest.approx(1 / 1000)


def test_correlation() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 5])
    found = correlation_permutation(x, y, rng=rng())
    assert found.exact and len(found.null) == 120
    assert found.observed == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
    assert found.p == pytest.approx(
        scipy_stats.permutation_test(
            (x,), lambda a: scipy_stats.spearmanr(a, y).statistic,
            permutation_type="pairings", n_resamples=np.inf,
        ).pvalue
    )  # fmt: skip
    drawn = correlation_permutation(
        rng(9).normal(size=30), rng(10).normal(size=30), n_draws=2000, rng=rng()
    )
    assert not drawn.exact and 0 < drawn.p <= 1
    assert drawn.null.std() == pytest.approx(1 / np.sqrt(29), rel=0.1)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert holm([0.04, None, 0.01]) == pytest.approx([0.04, None, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_benjamini_hochberg_by_hand() -> None:
    assert benjamini_hochberg([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04] * 4)
    assert benjamini_hochberg([0.01, 0.5, None, 0.03]) == pytest.approx([0.03, 0.5, None, 0.045])
    assert benjamini_hochberg([None]) == [None]
