"""The distance between two sets of images after their labels are shuffled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array

# Images times shuffles that are held at a time, where there are many images.
_CELLS = 4_000_000


def shuffled_distances(
    a: Float64Array, b: Float64Array, draws: int, rng: np.random.Generator
) -> Float64Array:
    """Return the squared distance of two sets of images for each shuffle, shape (draws,).

    Time and memory grow with pairs of images up to as many as an embedding has numbers, and with
    images from there on.
    """
    rows = np.concatenate([a, b])
    count, width = rows.shape
    if count <= width:
        return _distances(_products_of_pairs(rows, len(a), draws, rng), len(a), len(b))
    most = max(_CELLS // count, 1)
    blocks = []
    for start in range(0, draws, most):
        n_draws = min(most, draws - start)
        products = _products_of_sums(rows, len(a), n_draws, rng)
        blocks.append(_distances(products, len(a), len(b)))
    return np.concatenate(blocks)


@dataclass(frozen=True, slots=True)
class _ShuffledProducts:
    """Sums of inner products in each shuffle of two sets of images, shape (draws,).

    Attributes:
        first: Over all pairs of images that are in the first set, each image with itself included.
        cross: Over an image of the first set and one of the second.
        second: Over all pairs in the second set.
        squares_of_first: Of each image of the first set with itself.
        squares_of_second: The same of the second set.
    """

    first: Float64Array
    cross: Float64Array
    second: Float64Array
    squares_of_first: Float64Array
    squares_of_second: Float64Array


def _picked(n: int, count: int, draws: int, rng: np.random.Generator) -> Float64Array:
    """Return 1 for each of `count` images that is among the `n` of the first set in a shuffle."""
    picked = np.zeros((draws, count))
    picked[:, :n] = 1.0
    return rng.permuted(picked, axis=1)


def _products_of_pairs(
    rows: Float64Array, n: int, draws: int, rng: np.random.Generator
) -> _ShuffledProducts:
    """Return the sums of inner products, from those of every pair of images."""
    gram = rows @ rows.T
    picked = _picked(n, len(rows), draws, rng)
    towards = picked @ gram
    first = (towards * picked).sum(axis=1)
    cross = towards.sum(axis=1) - first
    second = float(gram.sum()) - first - 2 * cross
    return _with_squares(first, cross, second, picked, np.diag(gram))


def _products_of_sums(
    rows: Float64Array, n: int, draws: int, rng: np.random.Generator
) -> _ShuffledProducts:
    """Return the sums of inner products, from the sum of each set's embeddings."""
    picked = _picked(n, len(rows), draws, rng)
    sums = picked @ rows
    whole = rows.sum(axis=0)
    first = np.einsum("ij,ij->i", sums, sums)
    cross = sums @ whole - first
    second = float(whole @ whole) - first - 2 * cross
    squares = np.einsum("ij,ij->i", rows, rows)
    return _with_squares(first, cross, second, picked, squares)


def _with_squares(
    first: Float64Array,
    cross: Float64Array,
    second: Float64Array,
    picked: Float64Array,
    squares: Float64Array,
) -> _ShuffledProducts:
    alone = picked @ squares
    return _ShuffledProducts(first, cross, second, alone, squares.sum() - alone)


def _distances(products: _ShuffledProducts, n: int, m: int) -> Float64Array:
    """Return the squared distance of two sets of n and m images in each shuffle."""
    pairs_of_a = products.first - products.squares_of_first
    pairs_of_b = products.second - products.squares_of_second
    within_a = 1.0 - pairs_of_a / (n * (n - 1))
    within_b = 1.0 - pairs_of_b / (m * (m - 1))
    between = 1.0 - products.cross / (n * m)
    beyond: Float64Array = between - (within_a + within_b) / 2
    return beyond
