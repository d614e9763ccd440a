"""The exact test that two shares are equal (Fisher 1935)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.arrays import Float64Array

# Tables as likely as the observed one count, also where rounding makes them a little likelier.
_ROUNDING = 1e-12


def fisher_exact(table: Sequence[Sequence[int]]) -> float:
    """Return Fisher's exact two-sided p-value that two shares are equal.

    It is the probability, given the sums of rows and columns, of the tables that are at most as
    likely as the observed one. `scipy.stats.fisher_exact` does the same, but importing
    `scipy.stats` takes half a second, and the scores of association tests need nothing of it.

    Args:
        table: Two rows, each with the numbers of items that have a property and that lack it.

    Returns:
        The p-value; 1 where a row or a column is empty.

    Raises:
        ValueError: a number is negative.

    Source: Fisher 1935, The Design of Experiments, section 11.

    Examples:
        >>> round(fisher_exact([[3, 1], [1, 3]]), 6)  # 34 of 70 tables
        0.485714
    """
    (hits, misses), (other_hits, other_misses) = table
    if min(hits, misses, other_hits, other_misses) < 0:
        raise ValueError("numbers of items must not be negative")
    likelihoods, lowest = _likelihoods(
        size=hits + misses,
        other_size=other_hits + other_misses,
        all_hits=hits + other_hits,
    )
    observed = likelihoods[hits - lowest]
    is_as_extreme = likelihoods <= observed * (1 + _ROUNDING)
    return float(likelihoods[is_as_extreme].sum() / likelihoods.sum())


def _likelihoods(size: int, other_size: int, all_hits: int) -> tuple[Float64Array, int]:
    """Return how likely each number of hits in the first row is, relative to the likeliest.

    Args:
        size: Items of the first row.
        other_size: Items of the second row.
        all_hits: Hits of both rows.

    Returns:
        The likelihoods by number of hits, and the lowest number of hits.
    """
    lowest = max(0, all_hits - other_size)
    highest = min(size, all_hits)
    mode = (all_hits + 1) * (size + 1) // (size + other_size + 2)
    hits = np.arange(lowest, highest, dtype=np.float64)
    # How many times as likely one hit more is.
    numerators = (size - hits) * (all_hits - hits)
    denominators = (hits + 1) * (other_size - all_hits + hits + 1)
    above = np.cumprod((numerators / denominators)[mode - lowest :])
    below = np.cumprod((denominators / numerators)[: mode - lowest][::-1])[::-1]
    return np.concatenate([below, [1.0], above]), lowest
