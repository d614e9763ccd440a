"""Shares of clustered answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats import Proportion, clustered_proportion


def test_wilsons_interval_and_its_test_agree() -> None:
    for hits in range(11):
        share = Proportion(hits / 10, 10.0, 1e9)
        low, high = share.interval()
        for expected in (0.1, 0.5, 0.72):
            assert (low <= expected <= high) == (share.p(expected) >= 0.05)
    low, high = Proportion(0.9, 10.0, 1e9).interval()
    published = scipy_stats.binomtest(9, 10).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((published.low, published.high), abs=1e-4)
    assert np.isnan(Proportion(0.5, 10.0, 9.0).p(0.0))


def test_unanimous_answers_count_once_each() -> None:
    assert clustered_proportion([10, 10], [10, 10]).size == 20
    # Each caption is unanimous, in opposite ways: precise, but not endlessly so.
    assert 20 < clustered_proportion([10, 0], [10, 10]).size < 200
    assert clustered_proportion([1, 0, 1], [1, 1, 1]).size == 3


def test_coverage_with_captions_that_differ() -> None:
    shares = np.random.default_rng(0).beta(4, 1, (400, 6))
    hits = np.random.default_rng(1).binomial(10, shares)
    ends = np.array([clustered_proportion(row, np.full(6, 10)).interval() for row in hits])
    assert np.mean((ends[:, 0] <= shares.mean(axis=1)) & (shares.mean(axis=1) <= ends[:, 1])) > 0.92
