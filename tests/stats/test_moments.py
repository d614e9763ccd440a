"""The table of statistics: effect sizes, bootstrap and permutation test read the same formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from t2ibench.stats import (
    cliffs_delta,
    two_sample_bootstrap,
    two_sample_permutation,
)
from t2ibench.stats.moments import STATISTICS
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
