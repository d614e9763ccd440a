"""The interval of a share of hits covers, also where every one or none is a hit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, binom

from t2ibench.methods.core.estimate import share_estimate


def ends(hits: int, total: int) -> tuple[float, float]:
    estimate = share_estimate(hits, total)
    boot = estimate.boot
    assert boot is not None and estimate.value == hits / total
    low, high = np.quantile(boot, [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize("total", [2, 5, 10, 50])
def test_exact_coverage_of_the_interval_is_near_its_level(total: int) -> None:
    """Coverage is a sum over all outcomes; a bootstrap of the share found has .34 at two images."""
    shares = np.linspace(0.01, 0.99, 99)
    low, high = np.array([ends(hits, total) for hits in range(total + 1)]).T
    inside = (low[:, None] <= shares) & (shares <= high[:, None])
    chances = binom.pmf(np.arange(total + 1)[:, None], total, shares)
    covered = (inside * chances).sum(axis=0)
    assert covered.mean() > 0.94
    assert covered.min() > 0.83


def test_an_interval_of_none_of_five_excludes_only_large_shares() -> None:
    low, high = ends(0, 5)
    assert low == 0.0 and 0.3 < high < 0.5
    assert ends(5, 5) == pytest.approx((1 - high, 1.0), abs=0.01)
    assert ends(7, 10) == pytest.approx(beta(7.5, 3.5).interval(0.95), abs=0.01)
