"""The null distribution of answers that share images: every image's answers turned together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray

_BLOCK = 200_000  # cells of one block of draws


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers about images: several about one image, in several rows of counts.

    Attributes:
        image: Number of the image, shape (cells,).
        row: The row that the answer is counted in (a question about a prompt), shape (cells,).
        code: Number of the class, shape (cells,).
        expected: Shares of the classes without bias, shape (rows, k), padded with zeros.
        classes: Number of classes of each row, shape (rows,).
    """

    image: IntArray
    row: IntArray
    code: IntArray
    expected: Float64Array
    classes: IntArray

    def counts(self) -> IntArray:
        """Counts of the classes.

        Returns:
            Shape (rows, k).
        """
        counts = np.zeros(self.expected.shape, dtype=np.int64)
        np.add.at(counts, (self.row, self.code), 1)
        return counts


def relabelled_codes(answers: Answers, n_draws: int, rng: np.random.Generator) -> IntArray:
    """Answers as they would be without bias, what they share through their images kept.

    The classes of a row lie on a circle, each as wide as its expected share. An answer is a random
    place within its class (the same one for all answers about an image), and each image's answers
    are turned together by a uniformly random angle. Every answer then has its expected shares,
    and answers about one image still resemble each other.

    Args:
        answers: The answers.
        n_draws: How many draws.
        rng: Source of the draws.

    Returns:
        Codes, shape (draws, cells).

    Source: cyclic relabelling; for uniform shares x → (x + ⌊u k⌋) mod k, derived here.

    Example:
        Two questions that are always answered alike still are:

        >>> both = Answers(
        ...     np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]),
        ...     np.full((2, 2), 0.5), np.array([2, 2]),
        ... )
        >>> codes = relabelled_codes(both, 100, np.random.default_rng(0))
        >>> bool((codes[:, :2] == codes[:, 2:]).all()), 40 < int(codes[:, 0].sum()) < 60
        (True, True)
    """
    edges = np.cumsum(answers.expected, axis=1)
    edges[np.arange(edges.shape[1]) >= answers.classes[:, None] - 1] = (
        2.0  # the last holds the rest
    )
    edges = edges[answers.row]
    below = np.concatenate([np.zeros((len(edges), 1)), edges], axis=1)
    cells = np.arange(len(edges))
    start = below[cells, answers.code]
    width = answers.expected[answers.row, answers.code]
    n_images = int(answers.image.max(initial=-1)) + 1
    place = start + rng.random((n_draws, n_images))[:, answers.image] * width
    place += rng.random((n_draws, n_images))[:, answers.image]
    place %= 1.0
    codes = np.zeros(place.shape, dtype=np.int16)
    for column in range(edges.shape[1] - 1):
        codes += place >= edges[:, column]
    return codes.astype(np.int64)


def relabelled_counts(
    answers: Answers, n_draws: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Counts of `relabelled_codes`, a block of draws at a time.

    Args:
        answers: The answers.
        n_draws: How many draws.
        rng: Source of the draws.

    Yields:
        Shape (draws of the block, rows, k). For one answer an image they are multinomial.
    """
    rows, k = answers.expected.shape
    block = max(1, _BLOCK // max(len(answers.image), 1))
    for first in range(0, n_draws, block):
        n = min(block, n_draws - first)
        codes = relabelled_codes(answers, n, rng)
        places = (np.arange(n)[:, None] * rows + answers.row) * k + codes
        counted = np.bincount(places.ravel(), minlength=n * rows * k)
        yield counted.reshape(n, rows, k)
