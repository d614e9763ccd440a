"""Ranks of values."""

from __future__ import annotations

import numpy as np
from scipy import stats as scipy_stats

from t2ibench.stats.ranks import mean_ranks


def test_ranks_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for n_values in (1, 3, 1_000):
        for size in (1, 2, 50):
            values = rng.integers(0, n_values, size) / 7
            assert mean_ranks(values).tolist() == scipy_stats.rankdata(values).tolist()
    assert mean_ranks([]).tolist() == []


def test_nothing_has_a_rank_beside_a_value_that_is_none() -> None:
    assert np.isnan(mean_ranks([1.0, float("nan"), 2.0])).all()
