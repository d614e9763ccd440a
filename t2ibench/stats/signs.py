"""Tests of one sample by the signs of its values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

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


def share_positive_test(values: npt.ArrayLike) -> float:
    """Sign test: exact two-sided binomial p-value of P(value > 0) = 1/2.

    With K positive of n non-zero values, p is the probability under Binomial(n, 1/2) of all
    outcomes at most as likely as K.

    Args:
        values: Shape (n,); zeros do not count.

    Returns:
        p, in (0, 1]; 1 where no value differs from 0.

    Source: Conover 1999, Practical Nonparametric Statistics, section 3.4.

    Example:
        Five positive of five: 2 of 2⁵ outcomes are as extreme.

        >>> round(share_positive_test([1, 1, 1, 1, 1]), 6)
        0.0625
    """
    data = np.asarray(values, dtype=np.float64)
    n = int(np.count_nonzero(data))
    if n == 0:
        return 1.0
    return float(scipy.stats.binomtest(int(np.count_nonzero(data > 0)), n, 0.5).pvalue)


def null_abs_two_p_minus_one(n: int) -> float:
    """Expected |2p − 1| of a fair model on n images: the share p is off 1/2 by chance alone.

    E|2K/n − 1| = Σ_k C(n, k) 2⁻ⁿ |2k/n − 1|, with K ~ Binomial(n, 1/2)

    Args:
        n: Number of images, at least 1.

    Returns:
        The expectation, in (0, 1]; it falls as √(2 / (π n)).

    Source: direct summation over the binomial distribution.

    Example:
        Two images: |2K/2 − 1| is 1, 0, 1 with probabilities 1/4, 1/2, 1/4.

        >>> round(null_abs_two_p_minus_one(2), 6)
        0.5
    """
    k = np.arange(n + 1)
    return float(np.sum(scipy.stats.binom.pmf(k, n, 0.5) * np.abs(2 * k / n - 1)))
