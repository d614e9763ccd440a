"""Tests of one sample by the signs of its values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from t2ibench.stats.clusters import label_indices
from t2ibench.stats.permutation import BLOCK_CELLS, PermutationResult, p_value


def sign_flip_permutation(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    alternative: str = "two-sided",
    n_draws: int = 100_000,
    max_exact: int = 200_000,
    rng: np.random.Generator,
) -> PermutationResult:
    """Test that the mean is 0, by flipping the signs of whole clusters.

    θ = Σ_c s_c t_c / n, where t_c is the sum of cluster c and s_c = ±1 its sign: all 2^k patterns
    of signs, or `n_draws` random ones. p as in `p_value`.

    Args:
        values: Shape (n,), n ≥ 1; symmetric about 0 under the null hypothesis.
        clusters: Shape (n,), labels; None makes each value its own cluster.
        alternative: 'two-sided', 'greater' or 'less'.
        n_draws: Monte Carlo draws, at least 1, where there are more than `max_exact` patterns.
        max_exact: Enumerate all patterns of signs up to this number of them.
        rng: Source of the draws.

    Returns:
        The mean and its null distribution.

    Raises:
        ValueError: the alternative is unknown.

    Source: Fisher 1935, The Design of Experiments, section 21.

    Example:
        Of 2³ patterns, + + + and − − − give the largest mean magnitude, 2.

        >>> result = sign_flip_permutation([1, 2, 3], rng=np.random.default_rng(0))
        >>> result.observed, result.n_partitions, result.p
        (2.0, 8, 0.25)
    """
    data = np.asarray(values, dtype=np.float64)
    sums = np.bincount(label_indices(len(data), clusters), weights=data)
    k, n = len(sums), len(data)
    exact = k < 63 and 2**k <= max_exact
    parts = []
    count = 2**k if exact else n_draws
    size = max(1, BLOCK_CELLS // k)
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
