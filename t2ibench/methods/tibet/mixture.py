"""The shares in which counterfactuals' images best make up the images of a prompt.

Notation: a prompt has k counterfactuals. r holds the scalar products of the prompt's mean features
with each counterfactual's mean, G is the matrix of the scalar products of the counterfactuals'
means with each other (`gram_matrix`), 1/k stands for k even shares, and

    shares = 1/k + P (r - G 1/k),

where P (the `solver`) is the inverse of G among weights that sum to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array

# A length or an eigenvalue below this, relative to the largest, is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Mixture:
    """The shares of k counterfactuals, and each image's influence on them.

    Influences are scaled so that their squares sum to the variance of a share. The last row of each
    is that of one further image, which stands for the least variance that so few images may have.

    Attributes:
        shares: Shape (k,), of sum 1; each may lie outside of 0 to 1 by chance.
        influences: How each of the prompt's images moves the shares, then each image of every
            counterfactual; k + 1 arrays of shape (images + 1, k).
        influences_if_even: The same if all shares are 1 / k.
        influences_tested: The same for the test that all shares are 1 / k: the prompt's images vary
            about an even mixture instead of about their own mean. Eleven equal answers of twelve
            vary little about their mean, but that is no evidence that few would differ in a fair
            model.
        double_counted: Part of the variances' sum that the influences count twice: products of the
            errors of two means, which are the errors of both.
    """

    shares: Float64Array
    influences: tuple[Float64Array, ...]
    influences_if_even: tuple[Float64Array, ...]
    influences_tested: tuple[Float64Array, ...]
    double_counted: float


def mixture(
    start: Float64Array, changed: Sequence[Float64Array], *, invert: bool = True
) -> Mixture:
    """Estimate the shares in which k counterfactuals' images make up a prompt's images.

    Args:
        start: Features of the prompt's images, shape (images, features), two images or more.
        changed: Features of each counterfactual's images, likewise.
        invert: Without it P only takes out the mean. The result is not shares, but needs no
            counterfactuals that differ, and is 1/k likewise where the shares are even.

    Examples:
        Three of four images show a man, and so does every image of the first counterfactual:

        >>> man, woman = [1.0, 0.0], [0.0, 1.0]
        >>> start = np.array([man, man, man, woman])
        >>> mixed = mixture(start, [np.array([man] * 4), np.array([woman] * 4)])
        >>> mixed.shares.round(6).tolist()
        [0.75, 0.25]
    """
    k = len(changed)
    means = np.stack([features.mean(axis=0) for features in changed])
    gram = gram_matrix(changed, means)
    solver = _inverse_among_contrasts(gram) if invert else _centring(k)
    even_shares = np.full(k, 1.0 / k)
    start_mean = start.mean(axis=0)
    shares = even_shares + solver @ (means @ start_mean - gram @ even_shares)

    spread_of_shares = _spread_of_shares(shares)
    influences = _influences(
        start, changed, means, solver, shares if invert else even_shares
    )
    influences_if_even = _influences(start, changed, means, solver, even_shares)
    about_even = (start - even_shares @ means) @ means.T @ solver / len(start)
    influences_tested = [about_even, *influences_if_even[1:]]
    covariance = _covariance_of_products(start, changed)
    return Mixture(
        shares=shares,
        influences=_with_further_image(influences, shares, shares, spread_of_shares),
        influences_if_even=_with_further_image(
            influences_if_even, shares, even_shares, spread_of_shares
        ),
        influences_tested=_with_further_image(
            influences_tested, shares, even_shares, _spread_of_shares(even_shares)
        ),
        double_counted=float(np.trace(solver @ covariance @ solver)),
    )


def contrast_basis(k: int) -> Float64Array:
    """Return an orthonormal basis of the contrasts of k shares (Helmert's), shape (k, k - 1).

    Examples:
        >>> (contrast_basis(2) * np.sqrt(2)).round(9).tolist()
        [[1.0], [-1.0]]
    """
    basis: Float64Array = np.zeros((k, k - 1))
    for column in range(k - 1):
        size = column + 1
        basis[:size, column] = 1.0 / np.sqrt(size * (size + 1))
        basis[size, column] = -np.sqrt(size / (size + 1))
    return basis


def gram_matrix(changed: Sequence[Float64Array], means: Float64Array) -> Float64Array:
    """Return the inner products of the counterfactuals' mean features, without bias.

    Those of a mean with itself are over pairs of different images.
    """
    gram: Float64Array = means @ means.T
    for number, features in enumerate(changed):
        n_images = len(features)
        total = features.sum(axis=0)
        products_of_pairs = total @ total - (features**2).sum()
        gram[number, number] = products_of_pairs / (n_images * (n_images - 1))
    return gram


def _centring(k: int) -> Float64Array:
    """Return the matrix that subtracts the mean of k numbers from each."""
    centring: Float64Array = np.eye(k) - 1.0 / k
    return centring


def _inverse_among_contrasts(gram: Float64Array) -> Float64Array:
    """Return the inverse of a matrix among weights that sum to 0 (P in the module's notes)."""
    basis = contrast_basis(len(gram))
    inverse = np.linalg.pinv(basis.T @ gram @ basis, ROUNDING)
    solver: Float64Array = basis @ inverse @ basis.T
    return solver


def _influences(
    start: Float64Array,
    changed: Sequence[Float64Array],
    means: Float64Array,
    solver: Float64Array,
    weights: Float64Array,
) -> list[Float64Array]:
    """Return each image's influence on the shares, for given weights of counterfactuals.

    An image of the prompt moves r. An image of counterfactual j moves its mean, and with it r and,
    at the weight of j, the j-th column of G.
    """
    start_mean = start.mean(axis=0)
    unexplained = start_mean - weights @ means
    influences = [_on_mean((start - start_mean) @ means.T @ solver)]
    for number, features in enumerate(changed):
        error = features - means[number]
        moves = -weights[number] * (error @ means.T)
        moves[:, number] += error @ unexplained
        influences.append(_on_mean(moves @ solver))
    return influences


def _on_mean(values: Float64Array) -> Float64Array:
    """Return each image's influence on the mean of one set's values."""
    n_images = len(values)
    centred = values - values.mean(axis=0)
    influences: Float64Array = centred / np.sqrt(n_images * (n_images - 1))
    return influences


def _spread_of_shares(shares: Float64Array) -> float:
    """Return the mean squared distance from the shares to each single counterfactual."""
    k = len(shares)
    positive = np.clip(shares, 0.0, None)
    distances = ((np.eye(k) - positive / positive.sum()) ** 2).sum(axis=1)
    return float(distances.mean())


def _with_further_image(
    influences: Sequence[Float64Array],
    shares: Float64Array,
    weights: Float64Array,
    spread_of_shares: float,
) -> tuple[Float64Array, ...]:
    """Return the influences with a last row for one further image of each set.

    Args:
        influences: Of the images of each set.
        shares: The shares.
        weights: The shares at which the influences are taken.
        spread_of_shares: See `_spread_of_shares`.
    """
    k = len(shares)
    squared_distances = [spread_of_shares, *(weights**2 * 2 * (k - 1) / k)]
    directions = [shares - 1.0 / k, *_centring(k)]
    return tuple(map(_with_least_variance, influences, squared_distances, directions))


def _with_least_variance(
    influences: Float64Array, squared_distance: float, direction: Float64Array
) -> Float64Array:
    """Return the influences of one set, with a last row for what another image would add."""
    n_images = len(influences)
    variance = float((influences**2).sum())
    with_one_more = ((n_images - 1) * variance + squared_distance / n_images) / n_images
    missing = max(with_one_more - variance, 0.0)
    length = float(np.sqrt(direction @ direction))
    if length < ROUNDING:
        direction = contrast_basis(len(direction))[:, 0]
        length = 1.0
    return np.vstack([influences, np.sqrt(missing) * direction / length])


def _covariance_of_products(
    start: Float64Array, changed: Sequence[Float64Array]
) -> Float64Array:
    """Return the covariance that products of two means' errors add to the inner products.

    It is that of r - G 1/k (see the module), shape (k, k).
    """
    k = len(changed)
    centred_start = start - start.mean(axis=0)
    centred = [features - features.mean(axis=0) for features in changed]
    covariance: Float64Array = np.zeros((k, k))
    for number in range(k):
        with_start = _product_variance(centred_start, centred[number])
        with_itself = _square_variance(centred[number])
        covariance[number, number] += with_start + with_itself / k**2
        for other in range(k):
            if other != number:
                shared = _product_variance(centred[number], centred[other]) / k**2
                covariance[number, number] += shared
                covariance[number, other] += shared
    return covariance


def _product_variance(first: Float64Array, second: Float64Array) -> float:
    """Return the variance of the inner product of two sets' mean errors.

    It is tr(S T) / (n m), for the covariances S and T of sets of n and m images.
    """
    n = len(first)
    m = len(second)
    return float(((first @ second.T) ** 2).sum()) / ((n - 1) * (m - 1) * n * m)


def _square_variance(centred: Float64Array) -> float:
    """Return an unbiased variance of the squared length of one set's mean error.

    It is 2 tr(S²) / (n (n - 1)) for the covariance S of n images (Bai and Saranadasa
    1996).
    """
    n = len(centred)
    freedom = n - 1
    if freedom < 2:
        return 0.0
    products = centred @ centred.T
    square = float((products**2).sum()) / freedom**2
    trace = float(np.trace(products)) / freedom
    scale = freedom**2 / ((freedom - 1) * (freedom + 2))
    unbiased = scale * (square - trace**2 / freedom)
    return 2.0 * max(unbiased, 0.0) / (n * (n - 1))
