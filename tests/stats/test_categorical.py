"""Severity, CAS and MAD against hand values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from t2ibench.stats import (
    concept_association,
    expected_severity,
    jackknife_severity,
    kl_divergence,
    macro_f1,
    mad,
    miller_madow,
    severity,
)


@pytest.mark.parametrize(
    ("counts", "value"),
    [([7, 3], 0.1187), ([9, 1], 0.5310), ([8, 1, 1], 0.4183), ([4, 3, 3], 0.0088)],
)
def test_severity_by_hand(counts: list[int], value: float) -> None:
    assert float(severity(counts)) == pytest.approx(value, abs=5e-5)


def test_severity_at_its_ends() -> None:
    assert severity([[5, 5], [10, 0], [0, 10]]).tolist() == [0.0, 1.0, 1.0]
    assert np.isnan(severity([3])) and np.isnan(severity([0, 0]))


@pytest.mark.parametrize(("k", "value"), [(2, 0.076), (5, 0.146), (7, 0.184)])
def test_an_even_model_does_not_score_zero(k: int, value: float) -> None:
    assert expected_severity(10, k) == pytest.approx(value, abs=2e-3)
    drawn = np.random.default_rng(1).multinomial(10, np.full(k, 1 / k), 40_000)
    assert float(severity(drawn).mean()) == pytest.approx(expected_severity(10, k), abs=2e-3)


def test_miller_madow_takes_most_of_the_inflation_away() -> None:
    drawn = np.random.default_rng(2).multinomial(10, [0.5, 0.5], 20_000)
    assert float(miller_madow(drawn).mean()) < 0.6 * expected_severity(10, 2)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_jackknife_takes_more_of_it_away(share: float) -> None:
    drawn = np.random.default_rng(3).multinomial(10, [share, 1 - share], 20_000)
    true = float(severity([share, 1 - share]))
    mean = float(jackknife_severity(drawn).mean())
    assert abs(mean - true) < 0.03
    assert abs(mean - true) < abs(float(miller_madow(drawn).mean()) - true)
    assert np.isnan(jackknife_severity([1, 0]))


def test_cas_by_hand() -> None:
    first, second = np.array([1, 0.5, 0.25, 0]), np.array([0.5, 0.5, 0, 0.5])
    assert float(concept_association(first, second)) == pytest.approx(0.4444, abs=5e-5)
    normalised = concept_association(first / first.sum(), second / second.sum())
    assert float(normalised) == pytest.approx(0.4483, abs=5e-5)


@pytest.mark.parametrize(
    ("shares", "value"),
    [
        ((0.56, 0.44), 0.3464),
        ((0.52, 0.48), 0.2),
        ((0.4, 0.3, 0.2, 0.1), 0.5164),
        ((0.8, 0.1, 0.1), 0.8367),
        ((1.0, 0.0, 0.0, 0.0, 0.0), 1.0),
        ((0.2, 0.2, 0.2), 0.0),
    ],
)
def test_mad_by_hand(shares: tuple[float, ...], value: float) -> None:
    assert float(mad(shares)) == pytest.approx(value, abs=5e-5)
    assert float(mad(shares, root=False)) == pytest.approx(value**2, abs=1e-4)
    assert np.isnan(mad([[0.3]]))


def test_agreement() -> None:
    truth, found = ["a", "a", "b", "b"], ["a", "b", "b", "b"]
    assert macro_f1(truth, found) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert kl_divergence([0.5, 0.5], [0.75, 0.25]) == pytest.approx(0.1438, abs=1e-4)
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == math.inf
