"""Shares of clusters, and a difference of two shares: their intervals cover."""

from __future__ import annotations

import math

import numpy as np

from t2ibench.stats.clusters import pooled_proportion, share_difference


def test_pooled_shares_cover() -> None:
    rng = np.random.default_rng(4)
    for size in (12, 60):
        inside = []
        for _ in range(300):
            totals = rng.integers(1, 8, size)
            hits = rng.binomial(totals, rng.beta(0.8 * 4, 0.2 * 4, size))
            low, high = pooled_proportion(hits, totals).interval()
            inside.append(low <= 0.8 <= high)
        assert np.mean(inside) >= 0.91
    # Captions that agree throughout or hardly: without the pseudo-caption .75 to .89 cover.
    for share, size in ((0.95, 30), (0.8, 10)):
        totals = np.resize([2, 10, 20], size)
        inside = []
        for _ in range(300):
            hits = rng.binomial(totals, rng.beta(share * 3 / 7, (1 - share) * 3 / 7, size))
            low, high = pooled_proportion(hits, totals).interval()
            inside.append(low <= share <= high)
        assert np.mean(inside) >= 0.92
    assert pooled_proportion([4, 4], [4, 4]).size == 2.0  # two clusters, eight equal answers
    assert pooled_proportion([3], [4]).size == 1.0
    assert math.isnan(pooled_proportion([], []).value)


def test_a_difference_of_shares_covers() -> None:
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(400):
        low, high = share_difference(rng.binomial(20, 0.8), 20, rng.binomial(30, 0.5), 30)
        inside.append(low <= 0.3 <= high)
    assert 0.91 <= np.mean(inside) <= 0.985
