"""Fieller's interval of a ratio whose numerator and denominator depend on each other."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.stats.student import Ratio, ratio_of_parts


def ratio_set(
    numerator: float,
    denominator: float,
    of_numerator: Influence,
    of_denominator: Influence,
    level: float,
) -> Ratio:
    """Return a ratio with Fieller's interval and test; its parts may share images or prompts.

    Args:
        numerator: N.
        denominator: D.
        of_numerator: Influence on N.
        of_denominator: Influence on D, of the same units or of others.
        level: Confidence level, in (0, 1).

    Returns:
        The ratio N / D; its ends and p are nan where a variance is unknown.

    Example:
        With a denominator that is known, the interval of the numerator is divided by it.

        >>> influence = Influence.of_mean("a nurse", [0, 1, 2], [1.0, 2.0, 3.0])
        >>> ratio = ratio_set(2.0, 4.0, influence, Influence.none(), 0.95)
        >>> [round(float(x), 3) for x in (ratio.low, ratio.high, ratio.p)]
        [-0.121, 1.121, 0.074]
    """
    # Both combinations have the units of both, in the same order.
    top = Influence.combined([(1.0, of_numerator), (0.0, of_denominator)])
    bottom = Influence.combined([(0.0, of_numerator), (1.0, of_denominator)])
    n_strata = len(top.strata)
    products = (
        top.value * top.value,
        top.value * bottom.value,
        bottom.value * bottom.value,
    )
    sums = [
        np.bincount(top.stratum, weights=product, minlength=n_strata)
        for product in products
    ]
    units = top.stratum[top.unit != FLOOR]
    sizes = np.bincount(units, minlength=n_strata).astype(np.float64)
    dfs = np.maximum(sizes - 1.0, 1.0)
    return ratio_of_parts(numerator, denominator, np.stack(sums, axis=1), dfs, level)
