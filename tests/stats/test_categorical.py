"""Severity and MAD: published values, their ends, and what few answers do to severity."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.stats import expected_severity, kl_divergence, mad, severity


def test_ends_and_what_has_no_score() -> None:
    assert severity([[5, 5], [10, 0], [0, 10]]).tolist() == [0.0, 1.0, 1.0]
    nothing = [severity([3]), severity([0, 0]), mad([[0.3]])]
    assert all(np.isnan(value) for value in nothing)
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf


@pytest.mark.parametrize(("k", "value"), [(2, 0.076), (5, 0.146), (7, 0.184)])
def test_an_even_model_does_not_score_zero(k: int, value: float) -> None:
    assert expected_severity(10, k) == pytest.approx(value, abs=2e-3)
    drawn = np.random.default_rng(1).multinomial(10, np.full(k, 1 / k), 40_000)
    assert float(severity(drawn).mean()) == pytest.approx(expected_severity(10, k), abs=2e-3)


@pytest.mark.parametrize(
    ("shares", "value"),
    [((0.56, 0.44), 0.3464), ((0.4, 0.3, 0.2, 0.1), 0.5164), ((1.0, 0, 0), 1.0), ((2, 2, 2), 0.0)],
)
def test_mad_by_hand(shares: tuple[float, ...], value: float) -> None:
    assert float(mad(shares)) == pytest.approx(value, abs=5e-5)
