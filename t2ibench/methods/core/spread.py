"""How much the images of a prompt have in common, and embeddings that are made comparable by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.evidence import PromptImages

_CLEAR = 4.0  # standard errors, as of the gate of leans


def common_squares(images: Sequence[PromptImages]) -> list[Float64Array]:
    """What the images of each prompt have in common, as a squared length.

    U = mean over different images i, j of one prompt of x_i·x_j, the squared length of the mean
    of all images that the prompt could have, without bias. Its standard error is that of products
    of unrelated images, whose variance is pooled over the prompts.

    Args:
        images: Of several prompts each, all with the same kind of prompt.

    Returns:
        For each entry an array of shape (prompts,): U; nan for a prompt without two images, 0 where
        U is not 4 standard errors above 0.

    Examples:
        Two images at 60 degrees:

        >>> rows = np.array([[1.0, 0.0], [0.5, 0.75**0.5]])
        >>> two = PromptImages(rows, np.zeros(2, np.int64), ["a cook"], np.arange(2))
        >>> [square.round(3).tolist() for square in common_squares([two])]
        [[0.5]]
    """
    means, pairs, rest = [], [], 0.0
    for one in images:
        mean, count = np.full(len(one.prompts), np.nan), np.zeros(len(one.prompts))
        for number in np.unique(one.clusters):
            rows = one.embeddings[one.clusters == number]
            n = len(rows)
            if n > 1:
                gram = rows @ rows.T
                count[number] = n * (n - 1) / 2
                mean[number] = (gram.sum() - np.trace(gram)) / (n * (n - 1))
                squares = float(((gram - mean[number]) ** 2).sum())
                rest += (squares - float(((np.diag(gram) - mean[number]) ** 2).sum())) / 2
        means.append(mean)
        pairs.append(count)
    df = sum(np.maximum(count - 1, 0.0).sum() for count in pairs)
    variance = max(rest, 0.0) / df if df > 0 else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        unclear = [
            mean <= _CLEAR * np.sqrt(variance / count)
            for mean, count in zip(means, pairs, strict=True)
        ]
    return [np.where(off, 0.0, mean) for off, mean in zip(unclear, means, strict=True)]


def equal_spread(
    images: Sequence[PromptImages], squares: Sequence[Float64Array]
) -> list[PromptImages]:
    """Embeddings divided by the root of what their prompt's images have in common.

    Embeddings have unit length, so the mean of images that vary more is shorter, and it holds less
    of what all images of a stimulus show: differences between prompts would hold that scene. After
    the division, all means hold it alike. A prompt without two images, or whose images have nothing
    clearly in common, is divided as the others of its kind are on average.

    Args:
        images: Of several prompts each, all with the same kind of prompt.
        squares: What the images of each prompt have in common, of shape (prompts,) for each entry;
            see `common_squares`.

    Returns:
        The images, no longer of unit length.
    """
    every = np.concatenate(squares) if squares else np.zeros(0)
    known = every[every > 0]
    usual = float(known.mean()) if len(known) else 1.0
    scaled = []
    for one, square in zip(images, squares, strict=True):
        lengths = np.sqrt(np.where(square > 0, square, usual))
        rows = one.embeddings / lengths[one.clusters][:, None] if len(one) else one.embeddings
        scaled.append(replace(one, embeddings=rows))
    return scaled


def with_mixture(
    images: Sequence[PromptImages],
    squares: Sequence[Float64Array],
    directions: Sequence[Float64Array],
) -> list[Float64Array]:
    """What images have in common, and the variance of what they differ in along a direction.

    A mixture of images like A and like B has less in common than images of A alone, though each of
    them shows as much of its scene. What it lacks is the variance along the direction from B to A.

    Args:
        images: Of several prompts each.
        squares: What the images of each prompt have in common.
        directions: Of any length, one of shape (d,) for each entry.

    Returns:
        The sum, where the first part is above 0.
    """
    found = []
    for one, square, direction in zip(images, squares, directions, strict=True):
        length = np.linalg.norm(direction)
        places = one.embeddings @ direction / (length if length > 0 else 1.0)
        sizes = np.bincount(one.clusters, minlength=len(one.prompts))
        means = np.bincount(one.clusters, places, len(one.prompts)) / np.maximum(sizes, 1)
        rest = np.bincount(one.clusters, (places - means[one.clusters]) ** 2, len(one.prompts))
        found.append(np.where(square > 0, square + rest / np.maximum(sizes - 1, 1), square))
    return found


def trace(images: Sequence[PromptImages]) -> float:
    """Variance of an image about the mean of its prompt, summed over dimensions, over prompts.

    Examples:
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
        >>> trace([PromptImages(rows, np.zeros(2, np.int64), ["a cook"], np.arange(2))])
        1.0
    """
    found = [
        one.embeddings[one.clusters == number].var(axis=0, ddof=1).sum()
        for one in images
        for number, count in enumerate(np.bincount(one.clusters))
        if count > 1
    ]
    return float(np.mean(found)) if found else float("nan")
