"""The slope of generated shares on reference shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from t2ibench.stats import logit_slope, share_slope

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
