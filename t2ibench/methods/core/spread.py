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
    of all images that the prompt could have, without bias. A prompt without two images, or whose U
    is not 4 standard errors above 0, has the mean U of its kind. The standard error is that of
    products of unrelated images, whose variance is pooled over prompts.

    Args:
        images: Of several prompts each, all with the same kind of prompt.

    Returns:
        For each entry an array of shape (prompts,): U; 0 for all prompts where not even its mean is
        4 standard errors above 0, and 1 where no prompt has two images.

    Examples:
        Two images at 60 degrees:

        >>> rows = np.array([[1.0, 0.0], [0.5, 0.75**0.5]])
        >>> two = PromptImages(rows, np.zeros(2, np.int64), ["a cook"], np.arange(2))
        >>> [square.round(3).tolist() for square in common_squares([two])]
        [[0.5]]
    """
    means, pairs, rest = [], [], 0.0
    for one in images:
        mean, count = np.zeros(len(one.prompts)), np.zeros(len(one.prompts))
        for number in np.unique(one.clusters):
            rows = one.embeddings[one.clusters == number]
            n = len(rows)
            if n > 1:
                gram = rows @ rows.T
                products = gram[np.triu_indices(n, 1)]
                count[number], mean[number] = len(products), products.mean()
                rest += float(((products - mean[number]) ** 2).sum())
        means.append(mean)
        pairs.append(count)
    known = np.concatenate(pairs) > 0
    if not known.any():
        return [np.ones(len(mean)) for mean in means]
    counts, every = np.concatenate(pairs)[known], np.concatenate(means)[known]
    df = float((counts - 1).sum())
    error = _CLEAR * np.sqrt(rest / df) if df > 0 else 0.0
    usual = float(every.mean())
    if not usual > error * np.sqrt((1 / counts).sum()) / len(counts):
        return [np.zeros(len(mean)) for mean in means]
    with np.errstate(divide="ignore"):
        return [
            np.where((count > 0) & (mean > error / np.sqrt(count)), mean, usual)
            for mean, count in zip(means, pairs, strict=True)
        ]


def equal_spread(
    images: Sequence[PromptImages], squares: Sequence[Float64Array]
) -> list[PromptImages]:
    """Embeddings divided by the root of what their prompt's images have in common.

    Embeddings have unit length, so the mean of images that vary more is shorter, and it holds less
    of what all images of a stimulus show: differences between prompts would hold that scene. After
    the division, all means hold it alike.

    Args:
        images: Of several prompts each, all with the same kind of prompt.
        squares: What the images of each prompt have in common, of shape (prompts,) for each entry;
            see `common_squares`. Where it is 0, nothing is divided.

    Returns:
        The images, no longer of unit length.
    """
    return [
        replace(
            one,
            embeddings=one.embeddings
            / np.sqrt(np.where(square > 0, square, 1.0))[one.clusters][:, None],
        )
        if len(one)
        else one
        for one, square in zip(images, squares, strict=True)
    ]


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
