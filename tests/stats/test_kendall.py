"""Kendall's tau-b: hand cases, ties, and an interval that covers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from t2ibench.stats.correlation import kendall_tau


def test_by_hand() -> None:
    # Pairs of (1,1) (2,2) (2,3): one is tied in x, the other two agree: 2 / sqrt(2 * 3).
    assert kendall_tau([1, 2, 2], [1, 2, 3]).tau == pytest.approx(2 / math.sqrt(6))
    assert math.isnan(kendall_tau([1, 1, 1], [1, 2, 3]).tau)


@pytest.mark.parametrize("y", [[1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1]])
def test_no_interval_where_every_pair_agrees(y: list[float]) -> None:
    """Six pairs in the same order, or as nearly as ties allow, show no perfect correlation."""
    found = kendall_tau([1, 2, 3, 4, 5, 6], y)
    assert found.tau == pytest.approx(1.0 if y[0] else 9 / math.sqrt(15 * 9))
    assert math.isnan(found.low) and math.isnan(found.high)
    assert found.p < 0.05


@pytest.mark.parametrize(("n", "correlation"), [(8, 0.95), (20, 0.6)])
def test_the_interval_covers(n: int, correlation: float) -> None:
    rng = np.random.default_rng(4)
    truth = 2 / math.pi * math.asin(correlation)
    pairs = rng.multivariate_normal(
        [0, 0], [[1, correlation], [correlation, 1]], (300, n)
    )
    found = [kendall_tau(*pair.T) for pair in pairs]
    shown = [one for one in found if not math.isnan(one.low)]
    assert (
        len(shown) > 200
        and np.mean([one.low <= truth <= one.high for one in shown]) >= 0.93
    )
