"""Kendall's tau-b: hand cases, ties, and an interval that covers."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from t2ibench.stats.correlation import correlation_permutation, kendall_tau
from t2ibench.stats.permutation import BLOCK_CELLS


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


@pytest.mark.parametrize("samples", [80, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("n", "correlation"), [(8, 0.95), (20, 0.6)])
def test_the_interval_covers(n: int, correlation: float, samples: int) -> None:
    rng = np.random.default_rng(4)
    truth = 2 / math.pi * math.asin(correlation)
    pairs = rng.multivariate_normal(
        [0, 0], [[1, correlation], [correlation, 1]], (samples, n)
    )
    found = [kendall_tau(*pair.T) for pair in pairs]
    shown = [one for one in found if not math.isnan(one.low)]
    assert (
        len(shown) > samples * 2 / 3
        and np.mean([one.low <= truth <= one.high for one in shown]) >= 0.93
    )


def tau_by_pairs(x: list[float], y: list[float]) -> float:
    """Kendall's tau-b, pair by pair."""
    pairs = list(combinations(range(len(x)), 2))
    of_x = [np.sign(x[i] - x[j]) for i, j in pairs]
    of_y = [np.sign(y[i] - y[j]) for i, j in pairs]
    untied = np.count_nonzero(of_x) * np.count_nonzero(of_y)
    return float(np.dot(of_x, of_y) / math.sqrt(untied))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1, 2, 3, 4, 5], [1, 3, 2, 4, 5]),
        ([1, 2, 2, 4, 5, 6, 7], [2, 1, 3, 3, 7, 5, 6]),
        ([3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]),
    ],
)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_is_the_jackknifes_on_fishers_scale(
    x: list[float], y: list[float], level: float
) -> None:
    n = len(x)
    tau = tau_by_pairs(x, y)
    without = [tau_by_pairs(x[:i] + x[i + 1 :], y[:i] + y[i + 1 :]) for i in range(n)]
    error = math.sqrt((n - 1) ** 2 / n * np.var(without, ddof=1))
    half = stats.t.ppf((1 + level) / 2, n - 1) * error / (1 - tau**2)
    result = kendall_tau(x, y, level)
    assert result.tau == pytest.approx(tau)
    assert result.low == pytest.approx(math.tanh(math.atanh(tau) - half))
    assert result.high == pytest.approx(math.tanh(math.atanh(tau) + half))
    assert (result.p, result.n) == (stats.kendalltau(x, y).pvalue, n)


@pytest.mark.filterwarnings("ignore:One or more sample arguments is too small")
def test_four_items_have_no_interval_and_one_no_correlation() -> None:
    few = kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    assert few.tau == pytest.approx(4 / 6) and math.isnan(few.low)
    assert kendall_tau([1, 2], [4, 3]).tau == -1.0
    for x, y in (([1.0], [1.0]), ([1, 2, 3], [1, 2])):
        with pytest.raises(ValueError, match="two or more pairs"):
            kendall_tau(x, y)


def test_spearmans_correlation_in_all_orders() -> None:
    """Of five items, p is the share of all 120 orders with as large a correlation."""
    x, y = [2.0, 1.0, 4.0, 4.0, 9.0], [1.0, 3.0, 2.0, 5.0, 6.0]
    drawn = np.random.default_rng(0)
    result = correlation_permutation(x, y, rng=drawn)
    orders = [stats.spearmanr(order, y).statistic for order in permutations(x)]
    observed = stats.spearmanr(x, y).statistic
    assert result.exact and len(result.null) == 120
    assert result.observed == pytest.approx(observed)
    assert sorted(result.null) == pytest.approx(sorted(orders))
    beyond = np.abs(orders) >= abs(observed) - 1e-9
    assert result.p == pytest.approx(beyond.mean())
    assert result.null[0] == pytest.approx(observed)


def test_many_items_are_correlated_in_random_orders() -> None:
    """More than one block of them; each is an order, and their number is as asked for."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 40))
    n_draws = BLOCK_CELLS // 40 + 7
    result = correlation_permutation(x, y, n_draws=n_draws, rng=rng)
    assert not result.exact and len(result.null) == n_draws
    # The variance of Spearman's correlation of independent scores is 1 / (n - 1).
    assert np.mean(result.null) == pytest.approx(0.0, abs=0.01)
    assert np.var(result.null) == pytest.approx(1 / 39, rel=0.05)
    exact = correlation_permutation(x[:4], y[:4], max_exact=24, rng=rng)
    drawn = correlation_permutation(x[:4], y[:4], max_exact=23, n_draws=50, rng=rng)
    assert exact.exact and not drawn.exact and len(drawn.null) == 50
