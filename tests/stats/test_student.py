"""Student's t and Fieller's sets; sums by group."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from t2ibench.stats.rounding import sums_by
from t2ibench.stats.student import (
    fieller,
    ratio,
    ratio_of_parts,
    satterthwaite,
    t_interval,
    t_test,
    welch,
)


def test_a_set_excludes_zero_exactly_where_the_test_rejects() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        top, bottom = rng.normal(0, 2), rng.normal(4, 1)
        root = rng.normal(size=(2, 2)) * 0.7
        low, high, p = fieller(top, bottom, root @ root.T, 6)
        assert (low > 0 or high < 0) == (p < 0.05) or np.isinf(low)
        assert low <= top / bottom <= high


def test_a_bottom_that_may_be_zero_bounds_nothing() -> None:
    low, high, p = fieller(3.0, 1.0, np.diag([1.0, 1.0]), 20)
    assert (low, high) == (-np.inf, np.inf)
    assert p == pytest.approx(0.0071, abs=1e-4)  # t = 3 with 20 degrees of freedom
    assert np.isnan(fieller(1.0, 1.0, np.full((2, 2), np.nan), 3)).all()


def test_the_ratio_agrees_with_fieller_for_many_degrees_of_freedom() -> None:
    """With very many degrees of freedom the two are one formula."""
    found = ratio([1.0, 0.0], [0.0, 1.0], [2.0, 5.0], [0.5, 0.2], [1e9, 1e9])
    low, high, p = fieller(2.0, 5.0, np.diag([0.5, 0.2]), 1e9)
    assert (float(found.low), float(found.high)) == pytest.approx((low, high))
    assert float(found.p) == pytest.approx(p)


@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (500,), (500, 1), (500, 2), (500, 37)]
)
def test_one_value_after_the_other(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape) + shape[0])
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-8, 8, shape)
    groups = rng.integers(0, 9, shape[0])
    for numbers in (groups, np.sort(groups)):
        expected = np.zeros((11, *shape[1:]))
        np.add.at(expected, numbers, values)
        assert sums_by(numbers, values, 11).tobytes() == expected.tobytes()


# Of three independent parts: of the variance of N, the covariance, and the variance of D.
PARTS = np.array([[0.5, 0.1, 0.2], [0.3, -0.2, 0.4], [0.2, 0.0, 0.0]])
DFS = np.array([4.0, 7.0, 3.0])


def beyond(t: float, top: float, bottom: float, level: float) -> float:
    """(N − t D)² − q² V(t), with Satterthwaite's degrees of freedom of V(t)."""
    variances = PARTS @ [1.0, -2 * t, t**2]
    df = variances.sum() ** 2 / (variances**2 / DFS).sum()
    quantile = stats.t.ppf((1 + level) / 2, df)
    return float((top - t * bottom) ** 2 - quantile**2 * variances.sum())


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("top", "bottom"), [(2.0, 6.0), (-5.0, 6.0), (0.0, -7.0)])
def test_the_ends_of_a_ratio_are_where_its_contrast_is_just_rejected(
    top: float, bottom: float, level: float
) -> None:
    result = ratio_of_parts(top, bottom, PARTS, DFS, level)
    low, high = float(result.low), float(result.high)
    assert low < top / bottom < high
    for end, outside in ((low, low - 0.01), (high, high + 0.01)):
        assert beyond(end, top, bottom, level) == pytest.approx(0.0, abs=1e-6)
        assert beyond(outside, top, bottom, level) > 0
    assert beyond((low + high) / 2, top, bottom, level) < 0


def test_without_a_level_the_ends_of_a_ratio_are_of_95_percent() -> None:
    result, same = (
        ratio_of_parts(2, 6, PARTS, DFS),
        ratio_of_parts(2, 6, PARTS, DFS, 0.95),
    )
    assert (result.low, result.high) == (same.low, same.high)


def test_the_parts_of_a_ratio_add_up_and_its_test_is_of_its_top() -> None:
    result = ratio_of_parts(2.0, 6.0, PARTS, DFS)
    sums = (result.variance, result.covariance, result.bottom_variance)
    assert sums == pytest.approx((1.0, -0.1, 0.6))
    df = 1.0 / (0.25 / 4 + 0.09 / 7 + 0.04 / 3)
    assert result.df == pytest.approx(df)
    assert result.p == pytest.approx(2 * stats.t.sf(2.0, df))
    assert float(result.value) == pytest.approx(1 / 3)


def test_ratios_of_a_batch_are_those_of_its_rows() -> None:
    tops, bottoms = np.array([2.0, -5.0, 3.0]), np.array([6.0, 6.0, 0.1])
    batch = ratio_of_parts(tops, bottoms, np.tile(PARTS, (3, 1, 1)), DFS)
    for row in range(3):
        alone = ratio_of_parts(tops[row], bottoms[row], PARTS, DFS)
        for name in ("value", "low", "high", "p"):
            assert getattr(batch, name)[row] == pytest.approx(getattr(alone, name))
    assert (batch.low[2], batch.high[2]) == (-np.inf, np.inf)


def test_a_ratio_without_variance_is_exact_and_one_of_nothing_is_zero() -> None:
    nothing = np.zeros((1, 3))
    exact = ratio_of_parts(3.0, 4.0, nothing, [5.0])
    assert (exact.low, exact.value, exact.high) == (0.75, 0.75, 0.75)
    assert ratio_of_parts(0.0, 4.0, nothing, [5.0]).p == 1.0
    only_bottom = ratio_of_parts(0.0, 4.0, [[0.0, 0.0, 0.1]], [5.0])
    assert only_bottom.p == 1.0
    only_top = ratio_of_parts(3.0, 4.0, [[0.04, 0.0, 0.0]], [5.0])
    half = stats.t.ppf(0.975, 5) * 0.2 / 4
    assert (float(only_top.low), float(only_top.high)) == pytest.approx(
        (0.75 - half, 0.75 + half)
    )


def test_the_parts_of_a_ratio_of_contrasts() -> None:
    """N = 2 m₀ − m₁, D = m₁ + m₂: variances 4 v₀ + v₁ and v₁ + v₂, covariance − v₁."""
    result = ratio([2, -1, 0], [0, 1, 1], [3.0, 1.0, 4.0], [0.1, 0.2, 0.3], [5, 6, 7])
    assert (result.top, result.bottom) == (5.0, 5.0)
    sums = (result.variance, result.covariance, result.bottom_variance)
    assert sums == pytest.approx((0.6, -0.2, 0.5))
    assert result.df == pytest.approx(0.36 / (0.16 / 5 + 0.04 / 6))


def test_students_interval_and_test_agree_with_scipy() -> None:
    t = stats.t(7)
    low, high = t_interval(1.5, 0.25, 7, 0.9)
    assert (low, high) == pytest.approx(stats.t.interval(0.9, 7, 1.5, 0.5))
    assert t_interval(0, 1.0, 7) == pytest.approx(stats.t.interval(0.95, 7))
    assert t_interval(1.5, 0.0, float("nan")) == (1.5, 1.5)
    assert t_test(-1.5, 0.25, 7) == pytest.approx(2 * t.sf(3.0))
    assert t_test(0.0, 0.25, 7) == 1.0
    assert t_interval(1.5, 0.0, 7) == (1.5, 1.5)
    assert t_test(0.0, 0.0, 7) == 1.0 and np.isnan(t_test(1.0, 0.0, 7))
    assert np.isnan(t_test(1.0, np.nan, 7))
    assert 0 < t_test(1e200, 1e-200, 1e9) < 1e-300


def test_welchs_degrees_of_freedom_by_hand() -> None:
    """Means of 3 and 5 values: V² / (v₀² / 2 + v₁² / 4), at most that of v = 1/3 and 1/5."""
    total, df = welch([0.001, 0.3], [3, 5])
    assert total == pytest.approx(0.301)
    assert df == pytest.approx(0.301**2 / (1e-6 / 2 + 0.09 / 4))
    _, bounded = welch([0.2, 0.3], [3, 5])
    assert bounded == pytest.approx((1 / 3 + 1 / 5) ** 2 / (1 / 9 / 2 + 1 / 25 / 4))
    assert np.isnan(welch([0.2, 0.3], [1, 5])).all()
    assert np.isfinite(welch([0.2, 0.3], [2, 5])).all()
    assert satterthwaite([0.0, 0.4], [0, 3]) == (0.4, pytest.approx(3.0))
    assert np.isnan(satterthwaite([0.0], [3])[1])
