"""Levels of several looks at growing numbers of images, whose errors together stay below alpha.

Lan and DeMets' spending of the O'Brien-Fleming kind, for one-sided boundaries of a process with
independent increments: little is spent at few images, and nearly all is left for the last look.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from scipy.special import ndtr, ndtri

from t2ibench.arrays import Float64Array
from t2ibench.decisions.quantity import ALPHA

_GRID = 1501  # places at which a density is known
_LEAST = 1e-5  # of alpha that a look spends
_FAR = 9.0  # standard deviations that a grid reaches to
_LARGEST = 8.0  # standard errors of a boundary that is never reached


def spent(share: float, alpha: float = ALPHA) -> float:
    """Return how much of alpha may be spent when a share of the images is there.

    alpha*(t) = 2 (1 - Phi(z / sqrt(t))), z the quantile of 1 - alpha / 2.

    Source: Lan and DeMets 1983, "Discrete sequential boundaries for clinical trials".

    Examples:
        >>> round(spent(1.0), 6), round(spent(0.25), 5)
        (0.05, 9e-05)
    """
    quantile = float(ndtri(1 - alpha / 2))
    return 2 * float(ndtr(-quantile / np.sqrt(share)))


def is_worth(share: float, alpha: float = ALPHA) -> bool:
    """Return whether a look at a share of the images can decide anything.

    Examples:
        >>> is_worth(0.125), is_worth(0.25)
        (False, True)
    """
    return spent(share, alpha) > _LEAST


def look_levels(shares: Sequence[float], alpha: float = ALPHA) -> list[float]:
    """Return the one-sided level of each look, at growing shares of the largest number of images.

    The probability that any look up to the k-th is beyond its boundary, at the limit, is
    alpha*(t_k): the density of the process below all earlier boundaries is carried from look to
    look on a grid (Armitage, McPherson and Rowe 1969).

    Args:
        shares: Share of the largest number of images at each look; grows to 1. Of looks at which
            nothing may be spent (`is_worth`), there is none.
        alpha: Of a wrong pass, and of a wrong fail, over all looks.

    Examples:
        >>> [round(level, 4) for level in look_levels([0.25, 0.5, 1.0])]
        [0.0001, 0.0055, 0.0482]
    """
    levels: list[float] = []
    places: Float64Array = np.zeros(1)
    weights: Float64Array = np.ones(1)
    before = 0.0
    spent_before = 0.0
    for share in shares:
        allowed = spent(share, alpha)
        error = np.sqrt(share - before)
        boundary = _boundary(places, weights, error, allowed - spent_before)
        levels.append(float(ndtr(-boundary / np.sqrt(share))))
        places, weights = _below(places, weights, error, boundary, share)
        before = share
        spent_before = allowed
    return levels


def _boundary(
    places: Float64Array, weights: Float64Array, error: float, allowed: float
) -> float:
    """Return the boundary that is crossed for the first time with a probability."""

    def excess(boundary: float) -> float:
        crossing = float((weights * ndtr(-(boundary - places) / error)).sum())
        return crossing - allowed

    largest = float(places.max()) + _LARGEST * error
    return float(scipy.optimize.brentq(excess, -largest, largest, xtol=1e-10))


def _below(
    places: Float64Array,
    weights: Float64Array,
    error: float,
    boundary: float,
    share: float,
) -> tuple[Float64Array, Float64Array]:
    """Return the process at a look where no boundary was crossed, as places and weights."""
    grid = np.linspace(-_FAR * np.sqrt(share), boundary, _GRID)
    step = grid[1] - grid[0]
    distances = (grid[:, None] - places[None, :]) / error
    densities = np.exp(-0.5 * distances**2) / (error * np.sqrt(2 * np.pi))
    density = densities @ weights
    trapezoid = np.full(_GRID, step)
    trapezoid[[0, -1]] /= 2
    return grid, density * trapezoid
