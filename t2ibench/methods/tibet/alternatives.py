"""The mixtures nearest to and farthest from even shares, of all that the answers allow.

The nearest may also lie between two of them: the truth may be anywhere between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.tibet.axis_shares import AxisShares
from t2ibench.methods.tibet.mixture import ROUNDING, Mixture
from t2ibench.stats.rounding import settled


def nearest_to_even(axis: AxisShares) -> AxisShares:
    """Return the mixture nearest to even shares, among those allowed and those in between."""
    between = (
        _between(first, second, _weight_nearest_to_even(first.leans, second.leans))
        for first, second in combinations((axis, *axis.alternatives), 2)
    )
    return min(between, key=_settled_squared_lean, default=axis)


def farthest_from_even(axis: AxisShares) -> AxisShares:
    """Return the mixture farthest from even shares, of all that the answers allow."""
    return max((axis, *axis.alternatives), key=_settled_squared_lean)


def _settled_squared_lean(axis: AxisShares) -> float:
    return float(settled((axis.leans**2).sum()))


def _weight_nearest_to_even(first: Float64Array, second: Float64Array) -> float:
    """Return the weight of the second leans that brings both leans' mean nearest to 0."""
    difference = first - second
    squared_length = float(difference @ difference)
    if not squared_length > ROUNDING:
        return 0.0
    return float(np.clip(settled(first @ difference / squared_length), 0, 1))


def _between(first: AxisShares, second: AxisShares, weight: float) -> AxisShares:
    """Return the weighted mean of two mixtures.

    An image that only one of them includes moves that one alone.

    Args:
        first: One mixture.
        second: The other.
        weight: The weight of the second, from 0 to 1.
    """
    units = [
        np.union1d(set_of_first.units, set_of_second.units)
        for set_of_first, set_of_second in zip(first.sets, second.sets, strict=True)
    ]
    # What follows from a mixture needs the sets' units alone, not their features.
    sets = [
        replace(image_set, units=both)
        for image_set, both in zip(first.sets, units, strict=True)
    ]
    of_first = first.mixture
    of_second = second.mixture
    influences = _weighted_influences(
        units,
        (1 - weight, first, of_first.influences),
        (weight, second, of_second.influences),
    )
    influences_if_even = _weighted_influences(
        units,
        (1 - weight, first, of_first.influences_if_even),
        (weight, second, of_second.influences_if_even),
    )
    influences_tested = _weighted_influences(
        units,
        (1 - weight, first, of_first.influences_tested),
        (weight, second, of_second.influences_tested),
    )
    double_counted = (1 - weight) * of_first.double_counted
    double_counted += weight * of_second.double_counted
    mixed = Mixture(
        shares=(1 - weight) * of_first.shares + weight * of_second.shares,
        influences=influences,
        influences_if_even=influences_if_even,
        influences_tested=influences_tested,
        double_counted=double_counted,
    )
    return replace(first, sets=tuple(sets), mixture=mixed)


def _weighted_influences(
    units: Sequence[IntArray],
    *parts: tuple[float, AxisShares, Sequence[Float64Array]],
) -> tuple[Float64Array, ...]:
    """Return the weighted sum of two mixtures' influences, for each set of images.

    Args:
        units: Indices of the images of either, for each set, ascending.
        *parts: For each of the two its weight, itself, and how its images move the shares.
    """
    n_shares = len(parts[0][1].counterfactuals)
    sums: list[Float64Array] = []
    for number, both in enumerate(units):
        total = np.zeros((len(both) + 1, n_shares))
        for weight, axis, influences in parts:
            places = np.searchsorted(both, axis.sets[number].units)
            # The last row of each is that of the one further image.
            total[np.append(places, len(both))] += weight * influences[number]
        sums.append(total)
    return tuple(sums)
