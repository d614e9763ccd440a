"""Permutation test of a correlation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import IntArray
from t2ibench.stats.moments import safe_ratio
from t2ibench.stats.permutation import BLOCK_CELLS, PermutationResult, p_value


def correlation_permutation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    method: str = "spearman",
    alternative: str = "two-sided",
    n_draws: int = 100_000,
    max_exact: int = 200_000,
    rng: np.random.Generator,
) -> PermutationResult:
    """Test of no association: x is permuted against y.

    r = Σ(a − ā)(b − b̄) / √(Σ(a − ā)² Σ(b − b̄)²), where a, b are x, y (Pearson) or their midranks
    (Spearman). r is recomputed for all n! orders of x, or for `n_draws` random ones. p as in
    `p_value`.

    Args:
        x: Shape (n,), n ≥ 2.
        y: Shape (n,).
        method: 'spearman' or 'pearson'.
        alternative: 'two-sided', 'greater' or 'less'.
        n_draws: Monte Carlo draws, at least 1, where there are more than `max_exact` orders.
        max_exact: Enumerate all orders up to this number of them.
        rng: Source of the draws.

    Returns:
        r, from −1 to 1, and its null distribution; nan where x or y is constant.

    Raises:
        ValueError: the method or the alternative is unknown.

    Source: Pitman 1937, Suppl. J. R. Stat. Soc. 4:225; Spearman 1904.

    Example:
        Of 3! orders, 1 2 3 and 3 2 1 give |r| = 1.

        >>> result = correlation_permutation([1, 2, 3], [4, 5, 7], rng=np.random.default_rng(0))
        >>> round(result.observed, 6), result.n_partitions, round(result.p, 4)
        (1.0, 6, 0.3333)
    """
    if method not in {"spearman", "pearson"}:
        raise ValueError(f"method must be spearman or pearson, not '{method}'")
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if method == "spearman":
        a, b = scipy.stats.rankdata(a), scipy.stats.rankdata(b)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    n = len(a)
    n_orders = math.factorial(n)
    exact = n_orders <= max_exact
    null = np.concatenate(
        [safe_ratio(a[orders] @ b, scale) for orders in _orders(n, n_draws, exact, rng)]
    )
    observed = float(safe_ratio(a @ b, scale))
    return PermutationResult(
        observed, p_value(null, observed, alternative, exact), null, exact, n_orders, len(null)
    )


def _orders(n: int, n_draws: int, exact: bool, rng: np.random.Generator) -> Iterator[IntArray]:
    if exact:
        yield np.array(list(permutations(range(n))), dtype=np.int64)
        return
    size = max(1, BLOCK_CELLS // n)
    for start in range(0, n_draws, size):
        yield np.argsort(rng.random((min(size, n_draws - start), n)), axis=1)
