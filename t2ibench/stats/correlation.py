"""Rank correlations: a permutation test, and Kendall's tau with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import IntArray, as_floats
from t2ibench.stats.moments import safe_ratio
from t2ibench.stats.permutation import BLOCK_CELLS, PermutationResult, p_value
from t2ibench.stats.ranks import mean_ranks


def correlation_permutation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    n_draws: int = 100_000,
    max_exact: int = 200_000,
    rng: np.random.Generator,
) -> PermutationResult:
    """Test Spearman's rank correlation of two scores of the same items by permutation.

    r = Σ(a − ā)(b − b̄) / √(Σ(a − ā)² Σ(b − b̄)²), where a, b are the midranks of x
    and y. r is recomputed for all n! orders of x, or for `n_draws` random ones. p as in
    `p_value`.

    Args:
        x: Shape (n,), n ≥ 2.
        y: Shape (n,).
        n_draws: Monte Carlo draws, at least 1, where there are more than `max_exact` orders.
        max_exact: Enumerate all orders up to this number of them.
        rng: Source of the draws.

    Returns:
        r, from −1 to 1, and its null distribution; nan where x or y is constant.

    Source: Pitman 1937, Suppl. J. R. Stat. Soc. 4:225; Spearman 1904.

    Example:
        >>> result = correlation_permutation([1, 2, 3], [4, 5, 7], rng=np.random.default_rng(0))
        >>> round(result.observed, 6), len(result.null), round(result.p, 4)
        (1.0, 6, 0.3333)
    """
    ranks_x = mean_ranks(x)
    ranks_y = mean_ranks(y)
    a = ranks_x - ranks_x.mean()
    b = ranks_y - ranks_y.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    n = len(a)
    exact = math.factorial(n) <= max_exact
    parts = [
        safe_ratio(a[orders] @ b, scale) for orders in _orders(n, n_draws, exact, rng)
    ]
    null = np.concatenate(parts)
    observed = float(safe_ratio(a @ b, scale))
    return PermutationResult(
        observed=observed,
        p=p_value(null, observed, "two-sided", exact),
        null=null,
        exact=exact,
    )


def _orders(
    n: int, n_draws: int, exact: bool, rng: np.random.Generator
) -> Iterator[IntArray]:
    if exact:
        yield np.array(list(permutations(range(n))), dtype=np.int64)
        return
    size = max(1, BLOCK_CELLS // n)
    for start in range(0, n_draws, size):
        n_rows = min(size, n_draws - start)
        yield np.argsort(rng.random((n_rows, n)), axis=1)


_NO_SPREAD = 1e-12


@dataclass(frozen=True, slots=True)
class Kendall:
    """Kendall's tau-b of two scores of the same items; nan where either is constant."""

    tau: float
    # Nan for fewer than 5 pairs, and where tau is the same without each one of them, such as 1:
    # nothing then says how sure it is.
    low: float
    high: float
    p: float  # of independence, exact where nothing is tied and n is small
    n: int


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike, level: float = 0.95) -> Kendall:
    """Return Kendall's tau-b of two scores, with a jackknife interval on Fisher's scale.

    tau_b = Σ_{i<j} sign(x_i − x_j) sign(y_i − y_j) / √((n₀ − n₁)(n₀ − n₂)), where n₁ and n₂ count
    the pairs that are tied in x and in y. The interval is tanh(atanh τ ± t_{n−1} s / (1 − τ²)),
    with s the delete-one jackknife's standard error.

    Args:
        x: One score of each item, shape (n,).
        y: Another, shape (n,).
        level: Confidence level, in (0, 1).

    Returns:
        The correlation.

    Raises:
        ValueError: there are fewer than 2 pairs, or their numbers differ.

    Source: Kendall 1945, "The treatment of ties in ranking problems"; Arvesen 1969 (jackknife).

    Example:
        >>> kendall = kendall_tau([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])  # of ten pairs nine agree
        >>> round(kendall.tau, 6), kendall.low < kendall.tau < kendall.high
        (0.8, True)
    """
    scores_x = as_floats(x)
    scores_y = as_floats(y)
    if scores_x.shape != scores_y.shape or scores_x.ndim != 1 or len(scores_x) < 2:
        raise ValueError("x and y must be two or more pairs")
    n = len(scores_x)
    test = scipy.stats.kendalltau(scores_x, scores_y)
    tau = float(test.statistic)
    taus = []
    for item in range(n):
        fewer_x = np.delete(scores_x, item)
        fewer_y = np.delete(scores_y, item)
        taus.append(scipy.stats.kendalltau(fewer_x, fewer_y).statistic)
    # Of scores that are constant without an item, tau is nan and counts as 0.
    without = np.nan_to_num(taus)
    deviations = without - without.mean()
    spread = float((deviations**2).sum())
    low = float("nan")
    high = float("nan")
    if n >= 5 and abs(tau) < 1 and spread >= _NO_SPREAD:
        df = n - 1
        error = np.sqrt(df / n * spread)
        quantile = scipy.special.stdtrit(df, (1 + level) / 2)
        centre = np.arctanh(tau)
        half = quantile * error / (1 - tau**2)
        low = float(np.tanh(centre - half))
        high = float(np.tanh(centre + half))
    return Kendall(tau=tau, low=low, high=high, p=float(test.pvalue), n=n)
