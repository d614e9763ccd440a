"""Adjusting p-values for the number of tests. None (no test was made) passes through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy


def _tested_indices(p_values: Sequence[float | None]) -> list[int]:
    return [i for i, p in enumerate(p_values) if p is not None and np.isfinite(p)]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment: controls the probability of any false positive.

    With p_(1) ≤ … ≤ p_(m): p̃_(i) = max over j ≤ i of min(1, (m − j + 1) p_(j))

    Args:
        p_values: p-values in [0, 1]; None or nan if no test was made.

    Returns:
        Adjusted p-values in the same order; None if no test was made.

    Source: Holm 1979, Scandinavian Journal of Statistics 6:65.

    Example:
        The smaller is multiplied by 2, the larger by 1.

        >>> holm([0.25, None, 0.125])
        [0.25, None, 0.25]
    """
    tested = _tested_indices(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(tested, key=lambda i: (p_values[i] or 0.0, i))):
        highest = max(highest, min(1.0, (len(tested) - rank) * (p_values[index] or 0.0)))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's adjustment: controls the expected share of false positives.

    With p_(1) ≤ … ≤ p_(m): p̃_(i) = min over j ≥ i of min(1, m p_(j) / j)

    Args:
        p_values: p-values in [0, 1]; None or nan if no test was made.

    Returns:
        Adjusted p-values in the same order; None if no test was made.

    Raises:
        ValueError: a p-value is outside [0, 1].

    Source: Benjamini & Hochberg 1995, J. R. Stat. Soc. B 57:289.

    Example:
        2 · 0.125 / 1 = 0.25 and 2 · 0.5 / 2 = 0.5.

        >>> benjamini_hochberg([0.5, None, 0.125])
        [0.5, None, 0.25]
    """
    tested = _tested_indices(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    if tested:
        controlled = scipy.stats.false_discovery_control([p_values[i] for i in tested], method="bh")
        for index, value in zip(tested, controlled, strict=True):
            adjusted[index] = float(value)
    return adjusted
