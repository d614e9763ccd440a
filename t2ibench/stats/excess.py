"""The excess of one mean square over another, and its typical value by chance."""

from __future__ import annotations

import numpy as np
import scipy

from t2ibench.arrays import Float64Array
from t2ibench.stats.rounding import settled

# the lower end takes the level's whole error, the upper end a tenth of it
HIGH_END = 10


def excess(
    concepts: Float64Array | float, reference: Float64Array | float
) -> Float64Array:
    """Return the excess of one mean square over another, (V - W) / (V + W).

    Args:
        concepts: V; below 0 it counts as 0.
        reference: W, likewise.

    Returns:
        From -1 to 1; nan where both are 0.

    Examples:
        >>> float(excess(3.0, 1.0))
        0.5
    """
    v = np.maximum(concepts, 0.0)
    w = np.maximum(reference, 0.0)
    with np.errstate(invalid="ignore"):
        ratio: Float64Array = (v - w) / (v + w)
    return ratio


def typical_square(draws: Float64Array) -> float:
    """Return the value over which random mean squares have an excess of 0 on average.

    It is the c at which the mean of (q - c) / (q + c) over all draws q is 0.

    Args:
        draws: Mean squares q, of expectation 1, shape (draws,).

    Returns:
        c, below 1.

    Examples:
        >>> round(typical_square(np.array([0.25, 1.0])), 9)
        0.5
    """
    least = float(draws.min())
    largest = float(draws.max())
    centre = scipy.optimize.brentq(
        lambda c: float(excess(draws, c).mean()), least, largest
    )
    return float(settled(centre))
