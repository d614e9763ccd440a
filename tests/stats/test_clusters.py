"""Resamples against a plain reference that decodes the same random numbers one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from t2ibench.stats import (
    bootstrap_means,
    resample_weights,
    two_sample_bootstrap,
)
from t2ibench.stats.bootstrap import Order, Sample, resampled_dominance
from t2ibench.stats.clusters import Clusters, Resamples, digits, draw_resamples
from t2ibench.stats.moments import STATISTICS, Need
from tests.stats.formulas import two_sample_statistic

ONE_SIZE = [[m] * k for m in (1, 2, 5, 8, 13, 70) for k in (1, 3, 6)]
SEVERAL_SIZES = [[1, 2, 3, 9, 4], [2, 1], [5, 5, 4]]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


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
            values += [(position, clusters.order[clusters.starts[pick] + i]) for i in chosen]
        rows.append(values)
    return rows


def sample(sizes: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and labels, shuffled so that clusters are not contiguous."""
    labels = rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    return np.round(rng(seed + 1).normal(size=len(labels)), 1), labels


@pytest.mark.parametrize("sizes", ONE_SIZE + SEVERAL_SIZES, ids=str)
def test_indices_are_the_decoded_ones(sizes: list[int]) -> None:
    values, labels = sample(sizes, 3)
    clusters = Clusters.of(len(values), labels)
    drawn = draw_resamples(clusters, 7, rng())
    weights, indices = drawn.weights(), drawn.indices()
    for row, reference in enumerate(decoded(drawn)):
        own = indices[row] if weights is None else indices[row][weights[row] > 0]
        assert own.tolist() == [index for _, index in reference]
    counts = np.array(
        [np.bincount([i for _, i in row], minlength=len(values)) for row in decoded(drawn)]
    )
    assert (drawn.counts() == counts).all()
    expected = counts / counts.sum(axis=1, keepdims=True)
    assert resample_weights(labels, 7, rng()) == pytest.approx(expected)


@pytest.mark.parametrize("sizes", ONE_SIZE + SEVERAL_SIZES, ids=str)
@pytest.mark.parametrize("name", STATISTICS)
def test_bootstrap_is_the_statistic_of_the_decoded_values(name: str, sizes: list[int]) -> None:
    (x, labels_x), (y, labels_y) = sample(sizes, 5), sample([4, 4, 4], 6)
    generator = rng(9)
    drawn = [
        decoded(draw_resamples(Clusters.of(len(v), labels), 6, generator))
        for v, labels in ((x, labels_x), (y, labels_y))
    ]
    expected = []
    for of_x, of_y in zip(*drawn, strict=True):
        i_x, i_y = ([index for _, index in row] for row in (of_x, of_y))
        expected.append(two_sample_statistic(x[i_x], y[i_y], name))
    draws = two_sample_bootstrap(
        x, y, labels_x, labels_y, statistics=[name], n_draws=6, rng=rng(9)
    )[name]
    if np.ptp(x) > 0:
        assert draws == pytest.approx(np.array(expected), nan_ok=True)


def test_means_of_the_decoded_values() -> None:
    for sizes in ([5, 5, 5], [1, 2, 3, 9, 4]):
        values, labels = sample(sizes, 8)
        (draws,) = bootstrap_means([values], labels, n_draws=9, rng=rng(2))
        clusters = Clusters.of(len(values), labels)
        for row, reference in enumerate(decoded(draw_resamples(clusters, 9, rng(2)))):
            assert draws[row] == pytest.approx(values[[i for _, i in reference]].mean())


@given(st.integers(2, 9), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_codes_and_digits_are_a_bijection(base: int, length: int) -> None:
    rows = digits(base, length)
    assert len({tuple(row) for row in rows.tolist()}) == base**length
    assert (rows @ base ** np.arange(length) == np.arange(base**length)).all()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 4, 2]])
def test_dominance_counts_every_pair_of_a_resample(ties: bool, sizes: list[int]) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    values = np.random.default_rng(len(sizes)).normal(size=(2, len(labels)))
    x, y = values.round(0) if ties else values
    sides = [Sample(side, labels, Need.ORDER) for side in (x, y)]
    generator = np.random.default_rng(5)
    drawn = [side.draw(40, generator) for side in sides]
    found = resampled_dominance(
        *(side.resample(slice(0, 40), of) for side, of in zip(sides, drawn, strict=True)),
        Order.of(*sides),
    )
    counts_x, counts_y = (of.counts().astype(np.float64) for of in drawn)
    signs = np.sign(x[:, None] - y[None, :])
    pairs = counts_x.sum(axis=1) * counts_y.sum(axis=1)
    assert found.tolist() == (np.einsum("di,ij,dj->d", counts_x, signs, counts_y) / pairs).tolist()


def test_resamples_are_the_same_in_pieces_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(2, 90))
    labels = np.repeat(np.arange(9), 10)

    def draws() -> list[float]:
        names = ["cohens_d", "cliffs_delta"]
        found = two_sample_bootstrap(
            *values, labels, labels, statistics=names, n_draws=300, rng=rng(1)
        )
        return [*found["cohens_d"].tolist(), *found["cliffs_delta"].tolist()]

    whole = draws()
    monkeypatch.setattr("t2ibench.stats.clusters._PIECE_CELLS", 500)
    assert draws() == whole


def test_columns_on_the_same_resamples_are_those_of_each_alone() -> None:
    columns = np.random.default_rng(0).normal(size=(2, 30))
    labels = np.repeat(np.arange(3), 10)
    both = bootstrap_means(columns, labels, n_draws=50, rng=rng(4))
    for column, found in zip(columns, both, strict=True):
        (alone,) = bootstrap_means([column], labels, n_draws=50, rng=rng(4))
        assert alone.tolist() == found.tolist()
