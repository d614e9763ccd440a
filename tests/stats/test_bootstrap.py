"""The two-level bootstrap against theory and against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import (
    bootstrap_means,
    percentile_interval,
    two_sample_bootstrap,
)

ALL = (
    "mean_difference",
    "cohens_d",
    "union_d",
    "union_d_ddof0",
    "cliffs_delta",
    "mean_x",
    "mean_y",
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_standard_error_of_a_clustered_mean() -> None:
    k, m = 40, 10
    clusters = np.repeat(np.arange(k), m)
    values = rng(1).normal(size=k)[clusters] + rng(2).normal(size=k * m)
    draws = bootstrap_means([values], clusters, n_draws=20_000, rng=rng())[0]
    means = values.reshape(k, m).mean(axis=1)
    within = values.reshape(k, m).var(axis=1).mean() / (k * m)
    expected = np.sqrt(means.var() / k + within)
    assert draws.std() == pytest.approx(expected, rel=0.03)
    plain = bootstrap_means([values], n_draws=20_000, rng=rng())[0]
    assert plain.std() < 0.6 * draws.std()  # ignoring prompts is far too sure of itself


def test_intervals_cover() -> None:
    covered = 0
    for seed in range(300):
        generator = rng(seed)
        clusters = np.repeat(np.arange(30), 5)
        values = generator.normal(size=30)[clusters] + generator.normal(size=150)
        draws = bootstrap_means([values], clusters, n_draws=500, rng=generator)[0]
        low, high = percentile_interval(draws)
        covered += low <= 0 <= high
    assert 0.90 <= covered / 300 <= 0.99


def test_resamples_do_not_depend_on_values_or_statistics() -> None:
    clusters = np.repeat(np.arange(6), 4)
    x, y = rng(1).normal(size=24), rng(2).normal(size=24)
    one = two_sample_bootstrap(
        x, y, clusters, clusters, statistics=["mean_difference"], n_draws=300, rng=rng()
    )["mean_difference"]
    two = two_sample_bootstrap(x, y, clusters, clusters, statistics=ALL, n_draws=300, rng=rng())
    assert np.allclose(one, two["mean_difference"])
    tripled = two_sample_bootstrap(3 * x, 3 * y, clusters, clusters, n_draws=300, rng=rng())
    assert np.allclose(tripled["mean_difference"], 3 * one)


@pytest.mark.parametrize("sizes", [[4] * 6, [1, 2, 3, 4, 5, 9]])
def test_values_that_differ_by_draw(sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(6), sizes)
    x, y = rng(1).normal(size=24), rng(2).normal(size=24)
    flat = two_sample_bootstrap(x, y, clusters, clusters, statistics=ALL, n_draws=400, rng=rng())
    tiled = two_sample_bootstrap(
        np.tile(x, (400, 1)),
        np.tile(y, (400, 1)),
        clusters,
        clusters,
        statistics=ALL,
        n_draws=400,
        rng=rng(),
    )
    for name in ALL:
        assert np.allclose(flat[name], tiled[name], atol=1e-6), name


def test_ties_count_half_by_either_way() -> None:
    x, y = np.array([0.0, 1, 1, 2]), np.array([1.0, 1, 0, 3])
    flat = two_sample_bootstrap(x, y, statistics=["cliffs_delta"], n_draws=500, rng=rng())
    tiled = two_sample_bootstrap(
        np.tile(x, (500, 1)),
        np.tile(y, (500, 1)),
        statistics=["cliffs_delta"],
        n_draws=500,
        rng=rng(),
    )
    assert np.allclose(flat["cliffs_delta"], tiled["cliffs_delta"])
    constant = two_sample_bootstrap(
        np.ones((50, 3)), np.ones((50, 3)), statistics=["cliffs_delta"], n_draws=50, rng=rng()
    )
    assert np.allclose(constant["cliffs_delta"], 0)


def test_intervals() -> None:
    assert percentile_interval(np.arange(1001) / 1000, 0.9) == pytest.approx((0.05, 0.95))
    assert percentile_interval([np.nan, 1.0, 1.0]) == (1.0, 1.0)
    assert np.isnan(percentile_interval([np.nan])[0])
