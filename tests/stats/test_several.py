"""Several independent estimates: are they of one number, and what is their slope?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from t2ibench.results.contrast import Contrast, difference_interval, with_p_of_interval
from t2ibench.results.schema import Score
from t2ibench.stats.several import (
    heterogeneity_of_intervals,
    heterogeneity_of_mean_squares,
    slope_weights,
    weighted_sum_interval,
)


def test_symmetric_intervals_give_cochrans_q() -> None:
    values = np.array([0.1, 0.4, -0.2, 0.3])
    errors = np.array([0.1, 0.05, 0.2, 0.1])
    half = stats.norm.ppf(0.975) * errors
    test = heterogeneity_of_intervals(values, values - half, values + half, 0.95)
    weights = 1 / errors**2
    mean = (weights @ values) / weights.sum()
    q = weights @ (values - mean) ** 2
    assert test is not None
    assert test.statistic == pytest.approx(q, rel=1e-6)
    assert test.p == pytest.approx(stats.chi2.sf(q, 3), rel=1e-6)


def test_two_estimates_are_compared_as_two_runs_are() -> None:
    first = Score(value=0.5, ci_low=0.2, ci_high=0.6)
    second = Score(value=0.1, ci_low=0.0, ci_high=0.35)
    ends = difference_interval(first, second)
    pair = with_p_of_interval(Contrast(0.4, *ends), 0.95)
    test = heterogeneity_of_intervals([0.5, 0.1], [0.2, 0.0], [0.6, 0.35], 0.95)
    assert test is not None and test.p == pytest.approx(pair.p, rel=1e-6)
    both = weighted_sum_interval([1, -1], [0.5, 0.1], [0.2, 0.0], [0.6, 0.35])
    assert both == pytest.approx((0.4, *ends))


def test_an_estimate_at_its_own_end_keeps_the_common_number_from_passing_it() -> None:
    # A root at 0 has no room below it; nothing lies there, so that the test is defined.
    test = heterogeneity_of_intervals([0.0, 0.3, 0.2], [0, 0.1, 0], [0.2, 0.5, 0.4])
    assert test is not None and 0.01 < test.p < 1


def test_one_estimate_and_an_interval_without_width_are_not_tested() -> None:
    assert heterogeneity_of_intervals([0.5], [0.4], [0.6]) is None
    assert heterogeneity_of_intervals([0.5, 0.1], [0.5, 0], [0.5, 0.2]) is None


def test_weights_add_up_to_the_slope_of_weighted_least_squares() -> None:
    positions = np.array([1.0, 2.0, 5.0, 9.0])
    sizes = np.array([10, 40, 20, 10])
    values = np.array([0.3, 0.1, 0.5, 0.6])
    weights = slope_weights(positions, sizes)
    line = np.polyfit(positions, values, 1, w=np.sqrt(sizes))
    assert weights @ values == pytest.approx(line[0])
    assert weights.sum() == pytest.approx(0)


def test_mean_squares_are_compared_with_the_widths_of_all_runs() -> None:
    values = np.array([0.1, 0.3, 0.4])
    half = np.array([0.05, 0.2, 0.25])
    test = heterogeneity_of_mean_squares(values, values - half, values + half, [80] * 3)
    variance = (half**2).mean() / stats.norm.ppf(0.975) ** 2
    q = ((values - values.mean()) ** 2).sum() / variance
    assert test is not None
    assert test.statistic == pytest.approx(q)
    assert test.p == pytest.approx(stats.chi2.sf(q, 2))
    # An end that was cut at 0 says nothing of the noise.
    cut = heterogeneity_of_mean_squares(
        values, np.maximum(values - half, 0.2), values + half, [80] * 3
    )
    assert cut is not None and cut.p == pytest.approx(test.p)
    # A run of four times the images has a quarter of the variance.
    more = heterogeneity_of_mean_squares(
        [0.2, 0.4], [0.1, 0.2], [0.3, 0.6], [320, 80], 0.95
    )
    assert more is not None
    common = (320 * 0.1**2 + 80 * 0.2**2) / 2 / stats.norm.ppf(0.975) ** 2
    mean = (320 * 0.2 + 80 * 0.4) / 400
    q = (320 * (0.2 - mean) ** 2 + 80 * (0.4 - mean) ** 2) / common
    assert more.statistic == pytest.approx(q)
    assert (
        heterogeneity_of_mean_squares([0.1, 0.2], [0.1, 0.2], [0.1, 0.2], [9, 9])
        is None
    )
