"""The two-level bootstrap against theory, and against the same random numbers read one by one."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import resample_weights, two_sample_bootstrap
from t2ibench.stats.bootstrap import percentile_interval
from t2ibench.stats.clusters import Clusters, Resamples, draw_resamples
from t2ibench.stats.moments import STATISTICS
from tests.stats.formulas import two_sample_statistic

ALL = tuple(STATISTICS)
SIZES = [[m] * k for m in (1, 2, 5, 8, 13, 70) for k in (1, 3, 6)]
SIZES += [[1, 2, 3, 9, 4], [2, 1], [5, 5, 4]]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_standard_error_of_a_clustered_mean() -> None:
    k, m = 40, 10
    clusters = np.repeat(np.arange(k), m)
    values = rng(1).normal(size=k)[clusters] + rng(2).normal(size=k * m)
    draws = resample_weights(clusters, 20_000, rng()) @ values
    means = values.reshape(k, m).mean(axis=1)
    within = values.reshape(k, m).var(axis=1).mean() / (k * m)
    expected = np.sqrt(means.var() / k + within)
    assert draws.std() == pytest.approx(expected, rel=0.03)
    plain = resample_weights(np.arange(k * m), 20_000, rng()) @ values
    assert plain.std() < 0.6 * draws.std()  # ignoring prompts is far too sure of itself


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("sizes", [[4] * 6, [1, 2, 3, 4, 5, 9]])
def test_values_that_differ_by_draw(sizes: list[int], ties: bool) -> None:
    clusters = np.repeat(np.arange(6), sizes)
    sides = rng(1).normal(size=(2, 24)).round(0 if ties else 9)
    tiled = [np.tile(side, (400, 1)) for side in sides]
    flat, each = (
        two_sample_bootstrap(
            *both, clusters, clusters, statistics=ALL, n_draws=400, rng=rng()
        )
        for both in (sides, tiled)
    )
    for name in ALL:
        assert np.allclose(flat[name], each[name], atol=1e-6), name


def test_percentiles() -> None:
    assert percentile_interval(np.arange(1001) / 1000, 0.9) == pytest.approx(
        (0.05, 0.95)
    )
    assert percentile_interval([np.nan, 1.0, 1.0]) == (1.0, 1.0)
    assert np.isnan(percentile_interval([np.nan])[0])


def decoded(drawn: Resamples) -> list[list[tuple[int, int]]]:
    """(cluster, index of the value) of every value of every draw, in plain Python."""
    clusters, rows = drawn.clusters, []
    for row, picks in enumerate(drawn.picks):
        values: list[tuple[int, int]] = []
        for position, pick in enumerate(picks):
            m, chosen = int(clusters.sizes[pick]), [0]
            if drawn.uniforms is not None:
                chosen = [int(u * m) for u in drawn.uniforms[row, position, :m]]
            elif drawn.codes:
                chosen = []
                for codes, length in drawn.codes:
                    for code in codes[row, position].tolist():
                        chosen += [code // m**power % m for power in range(length)]
            values += [
                (position, clusters.order[clusters.starts[pick] + i]) for i in chosen
            ]
        rows.append(values)
    return rows


def sample(sizes: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and labels, shuffled so that clusters are not contiguous."""
    labels = rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    return np.round(rng(seed + 1).normal(size=len(labels)), 1), labels


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_counts_and_weights_are_the_decoded_ones(sizes: list[int]) -> None:
    values, labels = sample(sizes, 3)
    drawn = draw_resamples(Clusters.of(len(values), labels), 7, rng())
    rows = [[index for _, index in row] for row in decoded(drawn)]
    counts = np.array([np.bincount(row, minlength=len(values)) for row in rows])
    assert (drawn.counts() == counts).all()
    expected = counts / counts.sum(axis=1, keepdims=True)
    assert resample_weights(labels, 7, rng()) == pytest.approx(expected)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_bootstrap_is_the_statistic_of_the_decoded_values(sizes: list[int]) -> None:
    (x, labels_x), (y, labels_y) = sample(sizes, 5), sample([4, 4, 4], 6)
    generator = rng(9)
    drawn = [
        decoded(draw_resamples(Clusters.of(len(v), labels), 6, generator))
        for v, labels in ((x, labels_x), (y, labels_y))
    ]
    draws = two_sample_bootstrap(
        x, y, labels_x, labels_y, statistics=ALL, n_draws=6, rng=rng(9)
    )
    for name in ALL if np.ptp(x) > 0 else ():
        expected = []
        for of_x, of_y in zip(*drawn, strict=True):
            i_x, i_y = ([index for _, index in row] for row in (of_x, of_y))
            expected.append(two_sample_statistic(x[i_x], y[i_y], name))
        assert draws[name] == pytest.approx(np.array(expected), nan_ok=True), name
