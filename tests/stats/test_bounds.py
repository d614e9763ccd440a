"""Shares between two bounds: their ends near 0 and 1, and how much they cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from t2ibench.stats.bounds import BoundedProportion
from t2ibench.stats.clusters import Proportion


def share_of(hits: int, size: int = 40) -> Proportion:
    """The share of independent answers, with nearly normal quantiles."""
    return Proportion(value=hits / size, size=float(size), df=1e9)


def bounded(least: int, most: int, size: int = 40) -> BoundedProportion:
    middle = (least + most) / 2 / size
    return BoundedProportion(
        value=middle,
        least=share_of(least, size),
        most=share_of(most, size),
    )


@pytest.mark.parametrize(("hits", "size"), [(2, 40), (37, 40), (0, 12), (12, 12)])
def test_ends_near_0_and_1_are_clopper_and_pearsons(hits: int, size: int) -> None:
    exact = scipy_stats.binomtest(hits, size).proportion_ci(method="exact")
    result = bounded(hits, hits, size).interval()
    assert result == pytest.approx((exact.low, exact.high), abs=1e-6)


@pytest.mark.parametrize("hits", [6, 20, 34])
def test_ends_of_middle_shares_are_wilsons(hits: int) -> None:
    wilson = scipy_stats.binomtest(hits, 40).proportion_ci(method="wilson")
    result = bounded(hits, hits).interval()
    assert result == pytest.approx((wilson.low, wilson.high), abs=1e-4)


def test_each_end_is_of_its_own_share() -> None:
    """Far apart, each end has one side only: .05 of each, so both are of the level .9."""
    exact = scipy_stats.binomtest(2, 40).proportion_ci(0.9, method="exact")
    wilson = scipy_stats.binomtest(30, 40).proportion_ci(0.9, method="wilson")
    result = bounded(2, 30).interval()
    assert result == pytest.approx((exact.low, wilson.high), abs=1e-4)


@pytest.mark.parametrize("level", [0.4, 0.95])
def test_the_level_of_both_ends_is_that_at_which_together_they_cover(
    level: float,
) -> None:
    """The share may lie at either bound: Φ(c + Δ / s) − Φ(−c) = level (Imbens and Manski).

    The standard errors s are those with two more answers of the class and two of others.
    """
    result = bounded(16, 18)
    errors = [np.sqrt(p * (1 - p) / 44) for p in (18 / 44, 20 / 44)]
    widths = np.linspace(0.0, 2.0, 200_001)
    normal = scipy_stats.norm
    covered = normal.cdf(widths + 2 / 40 / max(errors)) - normal.cdf(-widths)
    of_each = 2 * normal.cdf(widths[np.searchsorted(covered, level)]) - 1
    low = scipy_stats.binomtest(16, 40).proportion_ci(of_each, method="wilson").low
    high = scipy_stats.binomtest(18, 40).proportion_ci(of_each, method="wilson").high
    assert result.interval(level) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(("hits", "expected"), [(2, 0.2), (2, 0.01), (38, 0.8)])
def test_the_test_of_a_share_near_0_or_1_doubles_an_exact_tail(
    hits: int, expected: float
) -> None:
    alternative = "less" if hits / 40 < expected else "greater"
    tail = scipy_stats.binomtest(hits, 40, expected, alternative).pvalue
    assert bounded(hits, hits).p(expected) == pytest.approx(2 * tail, rel=1e-6)


def test_a_share_of_0_or_1_cannot_be_tested_near_the_other_end() -> None:
    share = bounded(2, 2)
    assert np.isnan(share.p(0.0)) and np.isnan(share.p(1.0))
    assert bounded(2, 4).p(0.05) == bounded(2, 4).p(0.1) == 1.0


def test_far_apart_a_share_outside_is_tested_on_one_side() -> None:
    below = bounded(2, 30).p(0.01)
    tail = scipy_stats.binomtest(2, 40, 0.01, "greater").pvalue
    assert below == pytest.approx(tail, rel=1e-3)
    above = bounded(2, 30).p(0.9)
    assert above == pytest.approx(share_of(30).p(0.9) / 2, rel=1e-3)
