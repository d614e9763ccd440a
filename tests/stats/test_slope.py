"""The slope of generated shares on reference shares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from t2ibench.stats import logit_slope, share_slope
from t2ibench.stats.slope import Slope

REFERENCE = np.array([0.02, 0.1, 0.3, 0.5, 0.6, 0.8, 0.95])


@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_many_answers_give_the_planted_slope(slope: float) -> None:
    n = np.full(len(REFERENCE), 1e7)
    found = logit_slope(n * expit(0.3 + slope * logit(REFERENCE)), n, REFERENCE)
    assert found.value == pytest.approx(slope, abs=1e-4)
    assert found.intercept == pytest.approx(0.3, abs=1e-4)


def test_separated_shares_stay_finite() -> None:
    hits = np.where(REFERENCE > 0.5, 10, 0)
    found = logit_slope(hits, np.full(len(hits), 10), REFERENCE)
    low, high = found.interval()
    assert 1.0 < found.value < 20 and np.isfinite([low, high]).all()
    # shares of 0 and 1 are clipped
    assert logit_slope([0, 10], [10, 10], [0.0, 1.0]).value > 0
    assert np.isnan(logit_slope([0, 10], [10, 10], [0.2, 0.8]).variance)


def test_firths_correction_by_hand() -> None:
    """One free parameter: two stimuli are a saturated table, where Firth adds half an answer."""
    found = logit_slope([2, 7], [10, 10], [0.25, 0.75])
    gap = logit(7.5 / 11) - logit(2.5 / 11)
    assert found.value == pytest.approx(gap / (logit(0.75) - logit(0.25)))


def test_share_slope_is_least_squares_with_hc3() -> None:
    rng = np.random.default_rng(3)
    hits = rng.binomial(20, REFERENCE)
    found = share_slope(hits, np.full(len(hits), 20), REFERENCE)
    x = REFERENCE - REFERENCE.mean()
    assert found.value == pytest.approx(float(np.polyfit(REFERENCE, hits / 20, 1)[0]))
    residuals = hits / 20 - found.intercept - found.value * REFERENCE
    leverage = 1 / len(x) + x**2 / (x @ x)
    hc3 = ((x * residuals / (1 - leverage)) ** 2).sum() / (x @ x) ** 2
    assert found.variance == pytest.approx(float(hc3))
    assert found.df == len(hits) - 2


def test_equal_reference_shares_have_no_slope() -> None:
    with pytest.raises(ValueError, match="all equal"):
        logit_slope([1, 2], [10, 10], [0.5, 0.5])


def test_the_interval_covers_and_no_slope_is_rarely_found() -> None:
    rng, n = np.random.default_rng(5), np.full(40, 10)
    reference = rng.uniform(0.02, 0.98, 40)
    shares = expit(0.2 + rng.normal(size=(200, 40)))
    none = [logit_slope(hits, n, reference) for hits in rng.binomial(10, shares)]
    fair = [logit_slope(rng.binomial(10, reference), n, reference) for _ in range(200)]
    assert 0.01 <= np.mean([one.p() < 0.05 for one in none]) <= 0.1
    assert np.mean([one.p(1.0) > 0.05 for one in fair]) >= 0.9


def test_the_logit_slope_has_hc3_of_weighted_least_squares() -> None:
    """The leverages are those of √w X; the slope's row of (X'W X)⁻¹ X' (x − n p) is shared out."""
    rng = np.random.default_rng(6)
    n = np.array([5, 8, 13, 6, 20, 9, 7])
    hits = rng.binomial(n, expit(0.4 + 0.8 * logit(REFERENCE)))
    result = logit_slope(hits, n, REFERENCE)
    x = np.column_stack([np.ones(7), logit(REFERENCE)])
    p = expit(x @ [result.intercept, result.value])
    root = np.sqrt(n * p * (1 - p))[:, None] * x
    hat = root @ np.linalg.pinv(root)
    leverage = np.diag(hat)
    # Firth's score is 0 at the estimate.
    assert x.T @ (hits - n * p + leverage * (0.5 - p)) == pytest.approx(0.0, abs=1e-6)
    gain = np.linalg.inv(root.T @ root)[1]
    influence = (x @ gain) * (hits - n * p) / (1 - leverage)
    assert result.influence == pytest.approx(influence)
    assert result.variance == pytest.approx(float((influence**2).sum()))
    assert result.df == 5.0


@pytest.mark.parametrize("slope_of", [logit_slope, share_slope])
def test_an_interval_and_a_test_have_the_slopes_degrees_of_freedom(
    slope_of: Callable[..., Slope],
) -> None:
    hits = [1, 2, 9, 8, 14, 15, 19]
    result = slope_of(hits, [20] * 7, REFERENCE)
    error = np.sqrt(result.variance)
    t = stats.t(5)
    assert result.interval(0.9) == pytest.approx(
        (result.value - t.ppf(0.95) * error, result.value + t.ppf(0.95) * error)
    )
    assert result.p() == pytest.approx(2 * t.sf(result.value / error))
    assert result.p(1.0) == pytest.approx(2 * t.sf(abs(result.value - 1) / error))


def test_three_units_have_one_degree_of_freedom_and_two_none() -> None:
    three = share_slope([1, 2, 2], [4, 4, 4], [0.2, 0.5, 0.9])
    assert three.df == 1.0 and three.variance > 0
    two = share_slope([1, 2], [4, 4], [0.2, 0.6])
    assert (two.value, two.df) == (pytest.approx(0.625), 0.0)
    assert np.isnan(two.influence).all() and np.isnan(two.p())
    with pytest.raises(ValueError, match="all equal"):
        share_slope([1], [4], [0.2])


def test_references_of_0_and_1_are_cut_to_half_a_percent() -> None:
    ends = logit_slope([1, 4, 9], [10, 10, 10], [0.0, 0.4, 1.0])
    cut = logit_slope([1, 4, 9], [10, 10, 10], [0.005, 0.4, 0.995])
    assert ends.value == cut.value and ends.intercept == cut.intercept
