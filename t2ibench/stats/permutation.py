"""Permutation tests that move whole clusters (prompts), exact where that is possible.

Every statistic here is a function of sums over clusters, so all draws are one product of a matrix
of labels with a small table of cluster sums: there is no Python loop over draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import stats

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_BLOCK_CELLS = 1_000_000  # random numbers held at a time: they should stay in the cache


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """A statistic and its distribution under the null.

    Attributes:
        observed: The statistic of the data.
        p: Exact: share of all partitions that are as extreme, the observed one included.
            Monte Carlo: (1 + as extreme) / (1 + draws). Never 0; nan where `observed` is nan.
        null: The statistic of each partition looked at, signed, shape (n_draws,).
        exact: Whether all partitions were looked at.
        n_partitions: How many partitions there are.
        n_draws: How many were looked at.
    """

    observed: float
    p: float
    null: FloatArray
    exact: bool
    n_partitions: int
    n_draws: int


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over one side, for many partitions: arrays of shape (draws,), or numbers."""

    n: FloatArray
    total: FloatArray
    squares: FloatArray
    ranks: FloatArray
    means: FloatArray
    clusters: int


@dataclass(frozen=True, slots=True)
class _Table:
    """One row a cluster: n, sum, sum of squares, sum of midranks, mean. Values are centred."""

    rows: FloatArray
    in_x: BoolArray
    spread: float  # SD of all values, ddof 1
    spread_0: float  # the same with ddof 0

    def side(self, sums: FloatArray, clusters: int) -> _Sums:
        n, total, squares, ranks, means = sums.T
        return _Sums(n, total, squares, ranks, means, clusters)


def _ratio(top: FloatArray, bottom: FloatArray | float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = np.divide(top, bottom)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _mean_difference(x: _Sums, y: _Sums, _: _Table) -> FloatArray:
    return x.total / x.n - y.total / y.n


def _prompt_mean_difference(x: _Sums, y: _Sums, _: _Table) -> FloatArray:
    return x.means / x.clusters - y.means / y.clusters


def _cohens_d(x: _Sums, y: _Sums, table: _Table) -> FloatArray:
    within = (x.squares - x.total**2 / x.n) + (y.squares - y.total**2 / y.n)
    variance = _ratio(np.maximum(within, 0.0), x.n + y.n - 2)
    # Sums of squares leave a little dust where the values of both sides do not vary.
    variance = np.where(variance <= 1e-13 * table.spread_0**2, 0.0, variance)
    return _ratio(_mean_difference(x, y, table), np.sqrt(variance))


def _weat_d(x: _Sums, y: _Sums, table: _Table) -> FloatArray:
    return _ratio(_mean_difference(x, y, table), table.spread)


def _t2iat_code_d(x: _Sums, y: _Sums, table: _Table) -> FloatArray:
    return _ratio(_mean_difference(x, y, table), table.spread_0)


def _cliffs_delta(x: _Sums, y: _Sums, _: _Table) -> FloatArray:
    wins = x.ranks - x.n * (x.n + 1) / 2
    return 2 * wins / (x.n * y.n) - 1


_STATISTICS: dict[str, Callable[[_Sums, _Sums, _Table], FloatArray]] = {
    "mean_difference": _mean_difference,
    "prompt_mean_difference": _prompt_mean_difference,
    "cohens_d": _cohens_d,
    "weat_d": _weat_d,
    "t2iat_code_d": _t2iat_code_d,
    "cliffs_delta": _cliffs_delta,
}


def p_value(null: FloatArray, observed: float, alternative: str, exact: bool) -> float:
    """Share of null draws at least as extreme as the observed statistic.

    Args:
        null: Statistic of each partition.
        observed: Statistic of the data.
        alternative: 'two-sided' (absolute values on both sides), 'greater' or 'less'.
        exact: Whether the draws are all partitions, the observed one among them.
    """
    if not np.isfinite(observed):
        return math.nan
    # Sums in another order differ in their last bits, and ties with the observed must count.
    slack = 1e-11 * max(float(np.nanmax(np.abs(null), initial=0.0)), abs(observed))
    if alternative == "two-sided":
        extreme = np.abs(null) >= abs(observed) - slack
    elif alternative == "greater":
        extreme = null >= observed - slack
    elif alternative == "less":
        extreme = null <= observed + slack
    else:
        raise ValueError(f"alternative must be two-sided, greater or less, not '{alternative}'")
    count = int(np.count_nonzero(extreme | np.isnan(null)))
    return max(count, 1) / len(null) if exact else (1 + count) / (1 + len(null))


def two_sample_permutation(
    values: npt.ArrayLike,
    in_x: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    statistics: Sequence[str] = ("mean_difference",),
    alternative: str = "two-sided",
    n_draws: int = 100_000,
    max_exact: int = 200_000,
    rng: np.random.Generator,
) -> dict[str, PermutationResult]:
    """Permutation of the labels X and Y over whole clusters.

    The number of clusters on each side stays as it is. All statistics see the same partitions.

    Args:
        values: Shape (n,).
        in_x: Shape (n,), which values belong to X.
        clusters: Shape (n,), labels of the clusters; None makes each value its own.
        statistics: Names: mean_difference, prompt_mean_difference (of cluster means), cohens_d
            (pooled within-group SD), weat_d (SD of all values, ddof 1), t2iat_code_d (ddof 0),
            cliffs_delta (midranks).
        alternative: 'two-sided', 'greater' or 'less'.
        n_draws: Monte Carlo draws, where there are more than `max_exact` partitions.
        max_exact: Enumerate up to so many partitions.
        rng: Source of the draws.

    Raises:
        ValueError: a cluster lies on both sides, or a side is empty.
    """
    table = _cluster_table(
        np.asarray(values, dtype=np.float64), np.asarray(in_x, dtype=bool), clusters
    )
    k, k_x = len(table.rows), int(table.in_x.sum())
    n_partitions = math.comb(k, k_x)
    exact = n_partitions <= max_exact
    everything = table.rows.sum(axis=0)
    observed = _evaluate(table, table.in_x[None, :].astype(np.float64), everything, statistics)
    blocks = _all_labels(k, k_x) if exact else _random_labels(k, k_x, n_draws, rng)
    parts = [_evaluate(table, labels, everything, statistics) for labels in blocks]
    results = {}
    for name in statistics:
        null = np.concatenate([part[name] for part in parts])
        value = float(observed[name][0])
        p = p_value(null, value, alternative, exact)
        results[name] = PermutationResult(value, p, null, exact, n_partitions, len(null))
    return results


def _cluster_table(values: FloatArray, in_x: BoolArray, clusters: npt.ArrayLike | None) -> _Table:
    if in_x.all() or not in_x.any():
        raise ValueError("each side needs at least one value")
    centred = values - values.mean()
    labels = np.arange(len(values))
    if clusters is not None:
        labels = np.unique(np.asarray(clusters), return_inverse=True)[1]
    k = int(labels.max()) + 1
    n = np.bincount(labels, minlength=k).astype(np.float64)
    inside = np.bincount(labels, weights=in_x.astype(np.float64), minlength=k)
    if not np.all((inside == 0) | (inside == n)):
        raise ValueError("a cluster has values on both sides")
    total = np.bincount(labels, weights=centred, minlength=k)
    squares = np.bincount(labels, weights=centred**2, minlength=k)
    ranks = np.bincount(labels, weights=stats.rankdata(centred), minlength=k)
    constant = bool(np.ptp(values) <= 1e-14 * np.abs(values).max())
    spread = 0.0 if constant or len(values) < 2 else float(values.std(ddof=1))
    spread_0 = 0.0 if constant else float(values.std())
    rows = np.stack([n, total, squares, ranks, total / n], axis=1)
    return _Table(rows, inside > 0, spread, spread_0)


def _evaluate(
    table: _Table, labels: FloatArray, everything: FloatArray, statistics: Sequence[str]
) -> dict[str, FloatArray]:
    """Statistics of many partitions; labels has shape (draws, clusters)."""
    inside = labels @ table.rows
    k_x = int(table.in_x.sum())
    x = table.side(inside, k_x)
    y = table.side(everything - inside, len(table.rows) - k_x)
    found = {}
    for name in statistics:
        if name not in _STATISTICS:
            raise ValueError(f"unknown statistic '{name}'; known: {', '.join(_STATISTICS)}")
        found[name] = _STATISTICS[name](x, y, table)
    return found


def _all_labels(k: int, k_x: int) -> Iterator[FloatArray]:
    chosen = np.array(list(combinations(range(k), k_x)), dtype=np.int64)
    size = max(1, _BLOCK_CELLS // k)
    for start in range(0, len(chosen), size):
        block = chosen[start : start + size]
        labels = np.zeros((len(block), k))
        np.put_along_axis(labels, block, 1.0, axis=1)
        yield labels


def _random_labels(
    k: int, k_x: int, n_draws: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Random partitions: the k_x smallest of k random keys, so labels never repeat in a draw."""
    size = max(1, _BLOCK_CELLS // k)
    for start in range(0, n_draws, size):
        keys = rng.random((min(size, n_draws - start), k), dtype=np.float32)
        largest = np.partition(keys, k_x - 1, axis=1)[:, k_x - 1]
        chosen = keys <= largest[:, None]
        for row in np.flatnonzero(chosen.sum(axis=1) != k_x):  # two keys alike, very rarely
            chosen[row] = False
            chosen[row, np.argsort(keys[row], kind="stable")[:k_x]] = True
        yield chosen.astype(np.float64)


def sign_flip_permutation(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    alternative: str = "two-sided",
    n_draws: int = 100_000,
    max_exact: int = 200_000,
    rng: np.random.Generator,
) -> PermutationResult:
    """Test of a mean of 0 by flipping the signs of whole clusters.

    Args:
        values: Shape (n,); symmetric about 0 under the null.
        clusters: Shape (n,); None makes each value its own cluster.
        alternative: 'two-sided', 'greater' or 'less'.
        n_draws: Monte Carlo draws.
        max_exact: Enumerate up to so many sign patterns.
        rng: Source of the draws.
    """
    data = np.asarray(values, dtype=np.float64)
    labels = np.arange(len(data))
    if clusters is not None:
        labels = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(labels, weights=data)
    k, n = len(sums), len(data)
    exact = k < 63 and 2**k <= max_exact
    parts = []
    count = 2**k if exact else n_draws
    size = max(1, _BLOCK_CELLS // k)
    for start in range(0, count, size):
        rows = min(size, count - start)
        if exact:
            bits = (np.arange(start, start + rows)[:, None] >> np.arange(k)) & 1
        else:
            bits = rng.integers(0, 2, (rows, k), dtype=np.int8)
        parts.append((2.0 * bits - 1.0) @ sums / n)
    null = np.concatenate(parts)
    observed = float(data.mean())
    return PermutationResult(
        observed, p_value(null, observed, alternative, exact), null, exact, 2**k, len(null)
    )


def share_positive_test(values: npt.ArrayLike) -> float:
    """Exact two-sided binomial p-value of P(value > 0) = 1/2; zeros do not count."""
    data = np.asarray(values, dtype=np.float64)
    n = int(np.count_nonzero(data))
    if n == 0:
        return 1.0
    return float(stats.binomtest(int(np.count_nonzero(data > 0)), n, 0.5).pvalue)


def null_abs_two_p_minus_one(n: int) -> float:
    """Expected |2 K / n - 1| of K ~ Binomial(n, 1/2): what a fair model scores on n images."""
    k = np.arange(n + 1)
    return float(np.sum(stats.binom.pmf(k, n, 0.5) * np.abs(2 * k / n - 1)))


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
    """Permutation test of a correlation.

    Args:
        x: Shape (n,).
        y: Shape (n,).
        method: 'spearman' or 'pearson'.
        alternative: 'two-sided', 'greater' or 'less'.
        n_draws: Monte Carlo draws.
        max_exact: Enumerate up to so many orders.
        rng: Source of the draws.
    """
    if method not in {"spearman", "pearson"}:
        raise ValueError(f"method must be spearman or pearson, not '{method}'")
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if method == "spearman":
        a, b = stats.rankdata(a), stats.rankdata(b)
    a, b = a - a.mean(), b - b.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    n = len(a)
    n_orders = math.factorial(n)
    exact = n_orders <= max_exact
    parts = []
    for orders in _orders(n, n_draws, exact, rng):
        parts.append(_ratio(a[orders] @ b, scale))
    null = np.concatenate(parts)
    observed = float(_ratio(np.asarray(a @ b), scale))
    return PermutationResult(
        observed, p_value(null, observed, alternative, exact), null, exact, n_orders, len(null)
    )


def _orders(n: int, n_draws: int, exact: bool, rng: np.random.Generator) -> Iterator[IntArray]:
    if exact:
        from itertools import permutations

        yield np.array(list(permutations(range(n))), dtype=np.int64)
        return
    size = max(1, _BLOCK_CELLS // n)
    for start in range(0, n_draws, size):
        yield np.argsort(rng.random((min(size, n_draws - start), n)), axis=1)
