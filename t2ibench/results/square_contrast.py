"""Differences of two runs' root mean squares, and a test whether all items lean alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import JointInfluence
from t2ibench.results.contrast import Contrast
from t2ibench.stats.root_difference import root_difference
from t2ibench.stats.squares import SquareNoise


@dataclass(frozen=True, slots=True)
class SquareContrast:
    """How the mean squares of the same items differ between two runs.

    Attributes:
        difference: The difference of the root mean squares; without an interval where no image
            shows how they vary.
        detectable: The least true difference that is detected in 8 of 10 cases.
        p_items: The p-value that every item leans alike in both runs.
    """

    difference: Contrast
    detectable: float | None
    p_items: float | None


def compare_items(
    items: tuple[Sequence[Part], Sequence[Part]],
    squares: tuple[float, float],
    noises: tuple[SquareNoise | None, SquareNoise | None],
    rng: np.random.Generator,
    level: float,
) -> SquareContrast:
    """Return tests of whether the same items lean alike in two runs, and of which run leans less.

    With a and b the leans and S the covariance of a − b, every item leans alike where F = Σ (a −
    b)² / tr S is not large (`Spread` has its degrees of freedom). Which run leans less is for
    `stats.root_difference`; images that both runs have correlate the two mean squares.

    Args:
        items: The leans of the same items in either run, in one order.
        squares: The mean square of either run.
        noises: What each mean square owes to noise; where None, it is read from the influences
            of the items.
        rng: Random numbers of `stats.root_difference`.
        level: Of the interval.
    """
    if are_equal(*items):
        return SquareContrast(Contrast(0.0, 0.0, 0.0, 1.0), None, 1.0)
    parts = [*items[0], *items[1]]
    count = len(items[0])
    leans = np.array([part.value for part in parts])
    joint = JointInfluence([part.influence for part in parts])
    p_items = _p_of_items(joint, leans[:count] - leans[count:])
    value = math.sqrt(max(squares[0], 0.0)) - math.sqrt(max(squares[1], 0.0))
    first_noise = noises[0] or noise_of_items(items[0])
    second_noise = noises[1] or noise_of_items(items[1])
    if not (varies(first_noise) and varies(second_noise)):
        return SquareContrast(Contrast(value), None, p_items)
    moved = joint.rows.toarray()
    first_moved = moved[:count]
    second_moved = moved[count:]
    linear_correlation = shared_correlation(
        leans[:count] @ first_moved, leans[count:] @ second_moved
    )
    square_correlation = shared_correlation(first_moved, second_moved)
    difference = root_difference(
        squares,
        (first_noise, second_noise),
        (linear_correlation, square_correlation),
        rng,
        level,
    )
    contrast = Contrast(difference.value, difference.low, difference.high, difference.p)
    return SquareContrast(contrast, difference.detectable, p_items)


def mean_square_of(parts: Sequence[Part]) -> float:
    """Return the mean of items' squared leans, less what noise adds to it."""
    squares = (part.value**2 - part.influence.variance for part in parts)
    return math.fsum(squares) / len(parts)


def are_equal(first: Sequence[Part], second: Sequence[Part]) -> bool:
    """Return whether two runs have the same leans from the same images."""
    return all(
        part.value == other.value and part.influence.same(other.influence)
        for part, other in zip(first, second, strict=True)
    )


def _p_of_items(joint: JointInfluence, differences: Float64Array) -> float | None:
    """Return the p-value that every item leans alike in both runs, by an F test.

    It is None without variance.
    """
    identity = np.eye(len(differences))
    spread = joint.spread(np.hstack([identity, -identity]))
    trace = np.trace(spread.matrix)
    if not trace > 0:
        return None
    distance = float((differences**2).sum())
    return float(fdtrc(*spread.dfs, distance / trace))


def varies(noise: SquareNoise) -> bool:
    """Return whether images show how a mean square varies."""
    return noise.noise > 0 or noise.slopes[1] > 0


def noise_of_items(
    items: Sequence[Part], direction: Float64Array | None = None
) -> SquareNoise:
    """Return what noise adds to a mean square, estimated from the influences of its items.

    Args:
        items: The items.
        direction: The leans along which noise adds to a mean square that is not 0, shape (items,);
            by default those of the items.
    """
    count = len(items)
    leans = direction
    if leans is None:
        leans = np.array([part.value for part in items])
    joint = JointInfluence([part.influence for part in items])
    spread = joint.spread(np.eye(count))
    noise = float(np.trace(spread.matrix)) / count
    if not noise > 0:
        return SquareNoise(0.0, (0.0, 0.0), 1.0)
    # The variance along the leans: of nothing known, and of the leans as they are.
    least = noise / spread.dfs[0]
    along = least
    squares = float(leans @ leans)
    if squares > 0:
        along = float(leans @ spread.matrix @ leans) / squares / count
    return SquareNoise(noise, (least, along), spread.dfs[1])


def shared_correlation(first: Float64Array, second: Float64Array) -> float:
    """Return the correlation of two runs' estimates, corrected for what independent units give.

    Args:
        first: How each unit moves the first estimate, any shape.
        second: How it moves the second, the same shape.
    """
    scale = float((first**2).sum() * (second**2).sum())
    if not scale > 0:
        return 0.0
    product = first * second
    total = float(product.sum())
    square = (total**2 - float((product**2).sum())) / scale
    return math.copysign(math.sqrt(min(max(square, 0.0), 1.0)), total)
