"""Adjusting p-values for the number of tests. None (no test was made) passes through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats


def _known(p_values: Sequence[float | None]) -> list[int]:
    return [i for i, p in enumerate(p_values) if p is not None and np.isfinite(p)]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjustment: controls the chance of any false positive."""
    known = _known(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(known, key=lambda i: (p_values[i] or 0.0, i))):
        highest = max(highest, min(1.0, (len(known) - rank) * (p_values[place] or 0.0)))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's adjustment: controls the expected share of false positives."""
    known = _known(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    if known:
        controlled = stats.false_discovery_control([p_values[i] for i in known], method="bh")
        for place, value in zip(known, controlled, strict=True):
            adjusted[place] = float(value)
    return adjusted
