"""The two-level bootstrap against theory and against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import (
    bootstrap_means,
    cliffs_delta,
    percentile_interval,
    resample_weights,
    two_sample_bootstrap,
)
from tests.stats.formulas import two_sample_statistic

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


def plain_loop(
    values: np.ndarray, clusters: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    names = np.unique(clusters)
    parts = []
    for name in generator.choice(names, len(names)):
        own = values[clusters == name]
        parts.append(generator.choice(own, len(own)))
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[5] * 12, [1, 2, 3, 9, 4, 4, 7, 1, 1, 6], [1] * 30, [25]])
def test_has_the_distribution_of_the_plain_loop(sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = rng(1).normal(size=len(sizes))[clusters] + rng(2).normal(size=len(clusters))
    y = rng(3).normal(size=11)
    fast = two_sample_bootstrap(values, y, clusters, statistics=ALL, n_draws=6000, rng=rng(4))
    generator = rng(5)
    slow: dict[str, list[float]] = {name: [] for name in ALL}
    for _ in range(1500):
        a, b = plain_loop(values, clusters, generator), generator.choice(y, len(y))
        slow["mean_difference"].append(a.mean() - b.mean())
        slow["cohens_d"].append(two_sample_statistic(a, b, "cohens_d"))
        slow["union_d"].append(two_sample_statistic(a, b, "union_d"))
        slow["union_d_ddof0"].append(two_sample_statistic(a, b, "union_d_ddof0"))
        slow["cliffs_delta"].append(cliffs_delta(a, b))
        slow["mean_x"].append(a.mean())
        slow["mean_y"].append(b.mean())
    for name in ALL:
        spread = np.std(slow[name])
        assert np.mean(fast[name]) == pytest.approx(np.mean(slow[name]), abs=0.15 * spread), name
        assert np.std(fast[name]) == pytest.approx(spread, rel=0.12), name


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


@pytest.mark.parametrize("sizes", [[3] * 5, [1, 2, 3, 4, 5]])
def test_weights_are_means_of_resamples(sizes: list[int]) -> None:
    clusters = np.repeat(np.arange(5), sizes)
    weights = resample_weights(clusters, 4000, rng())
    assert weights.shape == (4000, 15)
    assert np.allclose(weights.sum(axis=1), 1)
    values = rng(1).normal(size=15)
    draws = bootstrap_means([values], clusters, n_draws=4000, rng=rng(7))[0]
    assert (weights @ values).std() == pytest.approx(draws.std(), rel=0.08)


def test_clusters_need_not_stand_together() -> None:
    order = rng(1).permutation(24)
    clusters = np.repeat(np.arange(6), 4)
    values = rng(2).normal(size=24)
    one = bootstrap_means([values], clusters, n_draws=5000, rng=rng())[0]
    two = bootstrap_means([values[order]], clusters[order], n_draws=5000, rng=rng(3))[0]
    assert one.std() == pytest.approx(two.std(), rel=0.06)


def test_intervals() -> None:
    assert percentile_interval(np.arange(1001) / 1000, 0.9) == pytest.approx((0.05, 0.95))
    assert percentile_interval([np.nan, 1.0, 1.0]) == (1.0, 1.0)
    assert np.isnan(percentile_interval([np.nan])[0])
