"""The table of statistics: effect sizes, bootstrap and permutation test read the same formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from t2ibench.stats import (
    cliffs_delta,
    resample_weights,
    two_sample_bootstrap,
    two_sample_permutation,
)
from t2ibench.stats.moments import STATISTICS, Pair, Values, safe_ratio
from tests.stats.formulas import two_sample_statistic

EVERY = tuple(STATISTICS)
SCALED = ("cohens_d", "union_d", "union_d_ddof0")  # a ratio to an SD
sides = st.lists(st.integers(-20, 20).map(lambda i: i / 4), min_size=2, max_size=8)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(sides, sides, st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_observed_statistics_are_those_of_the_samples(
    x: list[float], y: list[float], size: int
) -> None:
    labels_x, labels_y = np.arange(len(x)) // size, np.arange(len(y)) // size
    observed = two_sample_permutation(
        x + y,
        np.arange(len(x + y)) < len(x),
        np.concatenate([labels_x, 100 + labels_y]),
        statistics=EVERY,
        n_draws=5,
        max_exact=0,
        rng=rng(),
    )
    for name in EVERY:
        direct = two_sample_statistic(x, y, name)
        assert observed[name].observed == pytest.approx(direct, nan_ok=True, abs=1e-12), name


@given(sides, sides)
@settings(max_examples=40, deadline=None)
def test_cliffs_delta_counts_pairs(x: list[float], y: list[float]) -> None:
    assert cliffs_delta(x, y) == pytest.approx(two_sample_statistic(x, y, "cliffs_delta"))


@given(sides, sides)
@settings(max_examples=30, deadline=None)
def test_the_exact_null_has_the_mean_that_theory_gives(x: list[float], y: list[float]) -> None:
    x, y = x[:5], y[:5]
    results = two_sample_permutation(
        x + y, np.arange(len(x + y)) < len(x), statistics=EVERY, rng=rng()
    )
    assert all(result.exact for result in results.values())
    for name in ("mean_difference", "cliffs_delta"):
        assert results[name].null.mean() == pytest.approx(0.0, abs=1e-10), name
    for name in ("mean_x", "mean_y"):
        assert results[name].null.mean() == pytest.approx(np.mean(x + y)), name


@given(st.integers(-8, 8), st.integers(-8, 8), st.integers(1, 5), st.integers(1, 4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_bootstrap_of_constants_is_their_statistic(
    a: int, b: int, k: int, size: int, uneven: bool
) -> None:
    labels = np.concatenate([np.arange(k).repeat(size), [k] * (uneven + 1)])
    x, y = np.full(len(labels), a / 4), np.full(3, b / 4)
    draws = two_sample_bootstrap(x, y, labels, statistics=EVERY, n_draws=4, rng=rng())
    for name in EVERY:
        if name not in SCALED or a == b:
            expected = two_sample_statistic(x, y, name)
            assert draws[name] == pytest.approx(np.full(4, expected), nan_ok=True), name
    assert resample_weights(labels, 4, rng()) @ x == pytest.approx(a / 4)


@pytest.mark.parametrize("sizes", [[4] * 5, [1, 2, 3, 4, 10]])
def test_no_statistic_depends_on_the_others(sizes: list[int]) -> None:
    labels = np.repeat(np.arange(5), sizes)
    x, y = rng(1).normal(size=20), rng(2).normal(size=20)

    def boot(*names: str) -> dict[str, np.ndarray]:
        return two_sample_bootstrap(x, y, labels, labels, statistics=names, n_draws=50, rng=rng())

    def test(*names: str) -> dict[str, np.ndarray]:
        results = two_sample_permutation(
            np.concatenate([x, y]),
            np.arange(40) < 20,
            np.concatenate([labels, labels + 5]),
            statistics=names,
            rng=rng(),
        )
        return {name: result.null for name, result in results.items()}

    drawn, tested = boot(*EVERY), test(*EVERY)
    for name in EVERY:
        assert (test(name)[name] == tested[name]).all(), name
        assert (boot(name)[name] == drawn[name]).all(), name


def test_one_entry_adds_a_statistic_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(pair: Pair) -> Values:
        return safe_ratio(pair.x.squares / (pair.x.n - 1), pair.y.squares / (pair.y.n - 1))

    monkeypatch.setitem(STATISTICS, "variance_ratio", entry)
    x, y = rng(1).normal(5, 2, 12), rng(2).normal(5, 1, 8)
    ratio = x.var(ddof=1) / y.var(ddof=1)
    names, labels = ["variance_ratio"], np.arange(12) // 3
    draws = two_sample_bootstrap(x, y, labels, statistics=names, n_draws=4000, rng=rng())
    assert np.median(draws["variance_ratio"]) == pytest.approx(ratio, rel=0.2)
    result = two_sample_permutation(
        np.concatenate([x, y]), np.arange(20) < 12, statistics=names, n_draws=99, rng=rng()
    )["variance_ratio"]
    assert result.observed == pytest.approx(ratio)


def test_unknown_names_are_refused_before_any_work() -> None:
    generator = rng()
    before = generator.bit_generator.state
    nothing = np.empty(0)  # any work on it would fail otherwise
    known = f"unknown statistic 'glass'; known: {', '.join(STATISTICS)}"
    names = ["mean_difference", "glass"]
    with pytest.raises(ValueError, match=known):
        two_sample_bootstrap(nothing, nothing, statistics=names, rng=generator)
    with pytest.raises(ValueError, match=known):
        two_sample_permutation(nothing, nothing, statistics=names, rng=generator)
    assert generator.bit_generator.state == before
