"""Related words: correlations of their associations, and tests that allow for these.

A text encoder gives related words related vectors, so whatever is measured along a direction falls
alike for them: 24 words in six clusters are hardly more evidence than six words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from t2ibench.arrays import Float64Array, as_floats
from t2ibench.stats.moments import cliffs_delta
from t2ibench.stats.permutation import p_value

# Of cosines, from -1 to 1.
_BINS = 40
# Of cosines and correlations: which side of an edge they fall on is settled.
_DECIMALS = 9
# Reference words from which a curve is learnt.
_FEWEST = 100
_ROUNDS = 20
# Standard deviations in a median absolute deviation.
_NORMAL = 1.4826
# Least eigenvalue: below it a square root depends on the last bits.
_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Relatedness:
    """The correlation of two words' values as a function of their cosine.

    Attributes:
        centre: Mean of the reference words, which cosines are taken about, shape (d,).
        cosines: Shape (b,), ascending; the last is 1.
        correlations: Of the value at these cosines, shape (b,), ascending; the last is 1.
    """

    centre: Float64Array
    cosines: Float64Array
    correlations: Float64Array

    @classmethod
    def learnt(
        cls, reference: Float64Array, values: npt.ArrayLike
    ) -> Relatedness | None:
        """Estimate from reference words how the correlation of values depends on cosine.

        `reference` are unit rows, shape (r, d), and `values` have the shape (r,) or (r,
        q).

        With z the standardised values, the correlation in a bin of cosines is the sum of z_i z_j
        over its pairs, divided by that of (z_i² + z_j²) / 2; then made monotone (isotonic
        regression, Barlow et al. 1972, weighted by the number of pairs). None from fewer than 100
        words, or where the values do not vary.
        """
        if len(reference) < _FEWEST:
            return None
        columns = as_floats(values).reshape(len(reference), -1)
        z = columns - columns.mean(axis=0)
        centre = reference.mean(axis=0)
        sizes = (z**2).sum(axis=1)
        if not sizes.mean() > _LEAST**2:
            return None
        cosines = _cosines(reference - centre)
        places = (cosines + 1.0) * (_BINS / 2)
        bins = places.astype(np.int16)
        # A word beside itself is no pair: its bin is left out.
        np.fill_diagonal(bins, _BINS + 1)

        def sums(weights: Float64Array | None) -> npt.NDArray[Any]:
            """Return the sum of weights over each bin's pairs; without weights, their number."""
            of_bins = np.bincount(bins.ravel(), weights, minlength=_BINS + 2)
            return of_bins[: _BINS + 1]

        products = z @ z.T
        counts = sums(None)
        cosine_sums = sums(cosines.ravel())
        product_sums = sums(products.ravel())
        size_sums = sums(np.repeat(sizes, len(z)))
        filled = counts > 0
        correlations = product_sums[filled] / size_sums[filled]
        steps = scipy.optimize.isotonic_regression(correlations, weights=counts[filled])
        mean_cosines = cosine_sums[filled] / counts[filled]
        bounded = np.minimum(steps.x, 1.0)
        return cls(
            centre=centre,
            cosines=np.append(mean_cosines, 1.0),
            correlations=np.append(bounded, 1.0),
        )

    def of(self, words: Float64Array) -> Float64Array:
        """Return the correlations that words' values have according to the words' cosines.

        `words` are unit rows, shape (n, d); the result has the shape (n, n).
        """
        cosines = _cosines(words - self.centre)
        correlations = np.interp(cosines, self.cosines, self.correlations)
        return _unit_diagonal(np.round(correlations, _DECIMALS))


def relatedness_across(words: Float64Array, direction: Float64Array) -> Float64Array:
    """Return assumed correlations of words' values along a direction, from their cosines.

    Args:
        words: Unit rows, shape (n, d).
        direction: Shape (d,).

    Returns:
        Cosines of the words without their part along the direction, shape (n, n): what is measured
        along it is taken to be as alike as the rest.

    Examples:
        >>> rows = np.array([[0.6, 0.8], [-0.6, 0.8]])
        >>> relatedness_across(rows, np.array([2.0, 0.0])).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    size = float(direction @ direction)
    across = words
    if size > 0:
        along = np.outer(words @ direction, direction) / size
        across = words - along
    return _unit_diagonal(_cosines(across))


def _cosines(rows: Float64Array) -> Float64Array:
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, sizes, out=np.zeros_like(rows), where=sizes > _LEAST)
    products = np.round(unit @ unit.T, _DECIMALS)
    cosines: Float64Array = np.clip(products, -1.0, 1.0)
    return cosines


def _unit_diagonal(matrix: Float64Array) -> Float64Array:
    np.fill_diagonal(matrix, 1.0)
    return matrix


def noise_correlation(related: Float64Array) -> Float64Array:
    """Return the correlations of words' deviations from the mean of their set.

    What all words of a set share belongs to the mean, which is estimated, and is no noise: with g
    the correlation of unrelated words of the set, the noise correlates by (R - g) / (1 - g). Most
    pairs are unrelated, and related ones lie above them: g is the mean of the pairs that lie
    within a standard deviation of it, taken from those below (a median absolute deviation), and at
    most the mean of all.

    Args:
        related: Correlations R, shape (n, n), with a unit diagonal.

    Returns:
        Shape (n, n), positive definite with a unit diagonal.

    Source: the mean within a window about itself, from the median (Huber 1964, sigma clipping).

    Examples:
        >>> pair = np.array([[1.0, 0.8], [0.8, 1.0]])
        >>> block = np.kron(np.eye(2), pair - 0.2) + 0.2
        >>> noise_correlation(block).round(2)[0].tolist()
        [1.0, 0.75, 0.0, 0.0]
    """
    n = len(related)
    if n == 1:
        return np.ones((1, 1))
    pairs = related[np.triu_indices(n, 1)]
    shared = float(np.median(pairs))
    for _ in range(_ROUNDS):
        below = shared - pairs[pairs <= shared]
        window = _NORMAL * float(np.median(below)) if len(below) else 0.0
        inside = np.abs(pairs - shared) <= window + 10.0**-_DECIMALS
        if not inside.any():
            break
        nearer = round(float(pairs[inside].mean()), _DECIMALS)
        if nearer == shared:
            break
        shared = nearer
    # Words do not count for more than independent ones: the noise has no negative mean.
    mean = float(pairs.mean())
    shared = min(shared, mean, 1.0 - _LEAST)
    noise = (related - shared) / (1.0 - shared)
    return positive_definite(_unit_diagonal(noise))


def positive_definite(related: Float64Array) -> Float64Array:
    """Return a positive definite matrix of correlations near to the given one.

    Args:
        related: Correlations, shape (n, n), with a unit diagonal.

    Returns:
        Shape (n, n), positive definite with a unit diagonal.

    Source: clipped eigenvalues (Higham 2002, "Computing the nearest correlation matrix").
    """
    values, vectors = np.linalg.eigh(related)
    clipped_values = np.maximum(values, _LEAST)
    clipped = (vectors * clipped_values) @ vectors.T
    scale = np.sqrt(np.diag(clipped))
    correlations = clipped / np.outer(scale, scale)
    return _unit_diagonal(np.round(correlations, _DECIMALS))


def effective_number(noise: Float64Array) -> float:
    """Return how many independent words would have a mean as precise as these words' mean.

    It is 1 / mean of the correlations.

    Args:
        noise: Of `noise_correlation`, shape (n, n).

    Returns:
        From 1 to n; words that lean against each other do not count more than once.

    Examples:
        >>> effective_number(np.array([[1.0, 0.6], [0.6, 1.0]]))
        1.25
    """
    return float(min(1.0 / noise.mean(), len(noise)))


def related_draws(
    noise: Float64Array, n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Draw normal values with these correlations; the second half of draws negates the first.

    Args:
        noise: Correlations, shape (n, n).
        n_draws: How many draws; an odd number makes one less.
        rng: Where they come from.

    Returns:
        Shape (draws, n).
    """
    values, vectors = np.linalg.eigh(noise)
    root_values = np.sqrt(np.maximum(values, _LEAST))
    root = (vectors * root_values) @ vectors.T
    independent = rng.normal(size=(n_draws // 2, len(noise)))
    half = independent @ root
    return np.concatenate([half, -half])


@dataclass(frozen=True, slots=True)
class Dominance:
    """Cliff's delta of two sets of related words' values, with its test and interval.

    Attributes:
        value: Delta.
        p: p-value that it is 0.
        null: Delta of draws without a difference, shape (draws,).
        interval: A two-sided test at this level rejects where it has no 0.
    """

    value: float
    p: float
    null: Float64Array
    interval: tuple[float, float]


def related_dominance(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    noise_x: Float64Array,
    noise_y: Float64Array,
    *,
    alternative: str = "two-sided",
    level: float = 0.95,
    n_draws: int = 5000,
    rng: np.random.Generator,
) -> Dominance:
    """Return Cliff's delta of two sets of correlated values, with its test and interval.

    Draws g ~ N(0, K_x) and h ~ N(0, K_y) have deltas δ*; p = (1 + #{|δ*| >= |δ|}) / (draws + 1).
    Exact for every monotone transform of normal values with these correlations; with none of them
    it is the Mann-Whitney test. The interval inverts it: θ of a draw is the shift of g at which its
    delta becomes δ (from below and from above), and the ends are 2 Φ(θ / √2) - 1 at the quantiles
    of θ.

    Args:
        x: Shape (n,).
        y: Shape (m,).
        noise_x: Correlations K_x, shape (n, n).
        noise_y: Correlations K_y, shape (m, m).
        alternative: 'two-sided', 'greater' or 'less'.
        level: Confidence level, in (0, 1); the interval has two sides.
        n_draws: How many draws.
        rng: Where they come from.

    Returns:
        Delta with its test and interval.

    Source: Mann & Whitney 1947; Hodges & Lehmann 1963 for the inversion by pairwise differences.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> delta = related_dominance([3.0, 4.0], [1.0, 2.0], np.eye(2), np.eye(2), rng=rng)
        >>> delta.value, round(delta.p, 1), delta.interval[1]  # 1 of 6 orders on either side
        (1.0, 0.3, 1.0)
    """
    delta = cliffs_delta(x, y)
    g = related_draws(noise_x, n_draws, rng)
    h = related_draws(noise_y, n_draws, rng)
    differences = (h[:, None, :] - g[:, :, None]).reshape(len(g), -1)
    null = -np.sign(differences).mean(axis=1)
    pairs = differences.shape[1]
    # Ties count half.
    wins = round(pairs * (1.0 + delta)) / 2.0
    below = int(np.ceil(wins))
    above = int(np.floor(wins))
    differences.partition([max(below - 1, 0), min(above, pairs - 1)], axis=1)
    # At the level's error a two-sided test rejects where so many draws, or fewer, are beyond 0.
    most_beyond = (1.0 - level) * (len(null) + 1) - 1.0
    outside = max(int(most_beyond // 2), 0)
    lowest_shift = -np.inf
    if below > 0:
        shifts_from_below = np.sort(differences[:, below - 1])
        lowest_shift = shifts_from_below[outside]
    highest_shift = np.inf
    if above < pairs:
        shifts_from_above = np.sort(differences[:, above])
        highest_shift = shifts_from_above[-1 - outside]
    shifts = np.array([lowest_shift, highest_shift])
    ends = 2.0 * scipy.special.ndtr(shifts / np.sqrt(2.0)) - 1.0
    low, high = ends.tolist()
    return Dominance(
        value=delta,
        p=p_value(null, delta, alternative, exact=False),
        null=null,
        interval=(low, high),
    )
