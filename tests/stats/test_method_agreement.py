"""Two methods' leans of the same items: hand cases, planted worlds, what cannot be told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from t2ibench.stats.method_agreement import (
    MethodAgreement,
    _covariances,
    correlate_methods,
)


def found(
    x: object, y: object, noise: object = None, level: float = 0.95, seed: int = 0
) -> MethodAgreement:
    rng = np.random.default_rng(seed)
    return correlate_methods(x, y, noise, level=level, rng=rng)  # type: ignore[arg-type]


def test_measured_correlations_are_those_of_the_field() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 15))
    one = found(x, y)
    assert one.linear.value == pytest.approx(stats.pearsonr(x, y).statistic)
    assert one.rank.value == pytest.approx(stats.spearmanr(x, y).statistic)
    interval = stats.pearsonr(x, y).confidence_interval()
    assert (one.linear.low, one.linear.high) == pytest.approx(
        (interval.low, interval.high)
    )
    assert one.reliability is None and "not known" in str(one.reason)


def test_noise_is_removed_as_spearman_did() -> None:
    """Variances 10 and 10 with 2 and 5 of noise: reliabilities .8 and .5."""
    x = np.array([1, 1, 1, 1, -1, -1, -1, -1]) * np.sqrt(10 * 7 / 8)
    y = np.array([1, 1, 1, -1, 1, -1, -1, -1]) * np.sqrt(10 * 7 / 8)
    one = found(x, y, np.tile(np.diag([2.0, 5.0]), (8, 1, 1)), level=0.5)
    assert one.linear.value == pytest.approx(0.5)
    assert one.reliability == pytest.approx((0.8, 0.5))
    assert one.true.value == pytest.approx(0.5 / np.sqrt(0.8 * 0.5))
    assert one.true.low < one.true.value < one.true.high <= 1


def test_errors_of_the_same_images_are_no_agreement() -> None:
    """Items that do not differ, seen by two readers in the same images."""
    rng = np.random.default_rng(2)
    errors = rng.normal(size=20)
    noise = np.tile(np.ones((2, 2)), (20, 1, 1))
    one = found(errors, errors + 1e-3 * rng.normal(size=20), noise)
    assert one.linear.value > 0.99
    assert np.isnan(one.true.value) and "too noisy" in str(one.reason)


def test_agreement_ignores_scale_shift_and_order_and_follows_the_sign() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=20)
    y = x + 0.3 * rng.normal(size=20)
    noise = np.tile(np.diag([0.1, 0.1]), (20, 1, 1))
    one = found(x, y, noise)
    scaled = np.diag([1, 0.4]) @ noise @ np.diag([1, 0.4])
    for other in (found(x, 0.4 * y + 2, scaled), found(y, x, noise)):
        assert other.true.value == pytest.approx(one.true.value)
        assert other.true.low == pytest.approx(one.true.low, abs=0.05)
    turned = found(x, -y, noise)
    assert turned.true.value == pytest.approx(-one.true.value)
    assert turned.true.high == pytest.approx(-one.true.low, abs=0.05)


def test_without_noise_the_interval_is_fishers() -> None:
    one = found(*np.random.default_rng(4).normal(size=(2, 12)), np.zeros((12, 2, 2)))
    fisher = one.linear
    assert (one.true.low, one.true.high) == pytest.approx(
        (fisher.low, fisher.high), abs=0.06
    )


def test_undefined_agreement_names_the_reason() -> None:
    few = found([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], np.zeros((5, 2, 2)))
    assert "5 items" in str(few.reason) and few.linear.value == pytest.approx(0.8)
    alike = found([1.0] * 9, range(9), np.zeros((9, 2, 2)))
    assert np.isnan(alike.linear.value) and "the same" in str(alike.reason)


@pytest.mark.slow
@pytest.mark.parametrize("worlds", [50, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_intervals_cover_the_planted_correlation(rho: float, worlds: int) -> None:
    """Shares, binomial images; three standard errors of the simulation are allowed for."""
    n, images, rng = 20, 10, np.random.default_rng([20, 10, int(10 * rho)])
    held, values = 0, []
    for _ in range(worlds):
        z = rng.standard_normal((2, n))
        z[1] = rho * z[0] + np.sqrt(1 - rho**2) * z[1]
        lean = np.clip(0.4 * z, -1, 1)
        seen = 2 * rng.binomial(images, (1 + lean) / 2) / images - 1
        variance = (1 - seen**2) / (images - 1)
        noise = np.zeros((n, 2, 2))
        noise[:, 0, 0], noise[:, 1, 1] = variance
        one = correlate_methods(*seen, noise, rng=rng)
        if not one.reason:
            values.append(one.true.value)
            held += one.true.low - 1e-9 <= rho <= one.true.high + 1e-9
    assert len(values) > 0.6 * worlds
    assert held / len(values) > 0.95 - 3 * np.sqrt(0.05 * 0.95 / len(values))
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - rho) < 0.03 + 3 * error


def test_drawn_covariances_are_those_of_triangular_matrices() -> None:
    """T = B Bᵀ with B = L A⁻¹ √df, by matrices; the second half has the methods exchanged."""
    s = np.array([[2.0, 0.6], [0.6, 0.5]])
    drawn = _covariances(s, 9, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    half = len(drawn) // 2
    for number, order in enumerate(([0, 1], [1, 0])):
        diagonals = [np.sqrt(rng.chisquare(df, half)) for df in (9, 8)]
        below = rng.standard_normal(half)
        root = np.linalg.cholesky(s[np.ix_(order, order)])
        for draw in (0, 1, half - 1):
            a = np.diag([diagonal[draw] for diagonal in diagonals])
            a[1, 0] = below[draw]
            b = root @ np.linalg.inv(a) * 3
            expected = (b @ b.T)[np.ix_(order, order)]
            assert drawn[number * half + draw] == pytest.approx(expected)


def test_fishers_interval_of_ranks_is_wider_by_half_of_the_squared_correlation() -> (
    None
):
    """z ± 1.96 √((1 + r² / 2) / (n − 3)) of ranks (Bonett and Wright), 1 for values."""
    x, y = np.random.default_rng(6).normal(size=(2, 9))
    agreement = found(x, y + x, level=0.9)
    quantile = stats.norm.ppf(0.95)
    for correlation, extra in ((agreement.linear, 0.0), (agreement.rank, 0.5)):
        r = correlation.value
        half = quantile * np.sqrt((1 + extra * r**2) / 6)
        assert correlation.low == pytest.approx(np.tanh(np.arctanh(r) - half))
        assert correlation.high == pytest.approx(np.tanh(np.arctanh(r) + half))
    three = found([1, 2, 4], [1, 3, 2])
    assert np.isnan(three.linear.low) and np.isfinite(three.linear.value)
    four = found([1, 2, 4, 5], [1, 3, 2, 6])
    assert np.isfinite(four.linear.low)
    assert np.isnan(found([1, 2, 4, 5], [2, 4, 8, 10]).linear.low)
