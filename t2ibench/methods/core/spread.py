"""How much the images of a prompt have in common, and embeddings that are made comparable by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.evidence import PromptImages

_CLEAR = 4.0  # standard errors, as of the gate of leans


def common_squares(
    images: Sequence[PromptImages], directions: Sequence[Float64Array] | None = None
) -> list[Float64Array]:
    """What the images of each prompt have in common, as a squared length.

    U = mean over different images i, j of one prompt of x_i·x_j, the squared length of the mean
    of all images that the prompt could have, without bias. A prompt without two images, or whose U
    is not 4 standard errors above 0, has the mean U of its kind. The standard error is that of
    products of unrelated images, whose variance is pooled over prompts. All are 0 where not even
    their mean is 4 standard errors above 0, and 1 where no prompt has two images.

    A mixture of images like A and like B has less in common than images of A alone, though each of
    them shows as much of its scene. What it lacks is the variance along the direction from B to A,
    which is added to U where directions are given.

    Each U is shrunk to the mean of its kind as far as noise tells them apart: by the share
    T / (T + s²/n), with T their true variance and s² what one of n images adds to U's noise.

    Examples:
        >>> rows = np.array([[1.0, 0.0], [0.5, 0.75**0.5]])  # two images at 60 degrees
        >>> two = PromptImages(rows, np.zeros(2, np.int64), ["a cook"], np.arange(2))
        >>> [square.round(3).tolist() for square in common_squares([two])]
        [[0.5]]
    """
    along = [None] * len(images) if directions is None else directions
    parts = [
        _prompt_square(one.embeddings[one.clusters == number], direction)
        for one, direction in zip(images, along, strict=True)
        for number in range(len(one.prompts))
    ]
    found = np.array(parts)
    ends = np.cumsum([len(one.prompts) for one in images])[:-1]
    known = found[:, 0] > 1
    if not known.any():
        return np.split(np.ones(len(found)), ends)
    n, mean, rest, mixture, moved = found[known].T
    products = n * (n - 1) / 2
    df = float((products - 1).sum())
    error = _CLEAR * np.sqrt(rest.sum() / df) if df > 0 else 0.0
    usual = float(mean.mean())
    if not usual > error * np.sqrt((1 / products).sum()) / len(n):
        return np.split(np.zeros(len(found)), ends)
    clear = mean > error / np.sqrt(products)
    squares = np.where(clear, mean, usual) + mixture
    whole = np.full(len(found), squares.mean())
    whole[known] = _shrunk(squares, n, moved)
    return np.split(whole, ends)


def _prompt_square(
    rows: Float64Array, direction: Float64Array | None
) -> tuple[float, float, float, float, float]:
    """n, U, squared residuals of its products, the mixture, and the images' squared influences."""
    n = len(rows)
    if n < 2:
        return float(n), 0.0, 0.0, 0.0, 0.0
    gram = rows @ rows.T
    products = gram[np.triu_indices(n, 1)]
    mean = float(products.mean())
    moved = 2 * ((gram.sum(axis=1) - np.diag(gram)) / (n - 1) - mean)
    mixture = 0.0
    if direction is not None and direction.any():
        places = rows @ direction / np.linalg.norm(direction)
        squares = (places - places.mean()) ** 2 * n / (n - 1)
        mixture = float(squares.mean())
        moved = moved + squares - mixture
    return float(n), mean, float(((products - mean) ** 2).sum()), mixture, float(moved @ moved)


def _shrunk(squares: Float64Array, n: Float64Array, moved: Float64Array) -> Float64Array:
    """Squares shrunk to their mean; two images alone do not show what is noise."""
    several = n > 2
    df = float((n[several] - 1).sum())
    if len(squares) < 2 or not df > 0:
        return np.full(len(squares), squares.mean())
    noise = moved[several].sum() / df / n
    true = max(float(squares.var(ddof=1) - noise.mean()), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(noise > 0, true / (true + noise), 1.0)
    shrunk: Float64Array = squares.mean() + own * (squares - squares.mean())
    return shrunk


def equal_spread(
    images: Sequence[PromptImages], squares: Sequence[Float64Array]
) -> list[PromptImages]:
    """Embeddings divided by the root of what their prompt's images have in common, where not 0.

    Embeddings have unit length, so the mean of images that vary more is shorter, and it holds less
    of what all images of a stimulus show: differences between prompts would hold that scene. After
    the division, all means hold it alike.
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


def trace(images: Sequence[PromptImages]) -> float:
    """Variance of an image about the mean of its prompt, summed over dimensions, over prompts."""
    found = [
        one.embeddings[one.clusters == number].var(axis=0, ddof=1).sum()
        for one in images
        for number, count in enumerate(np.bincount(one.clusters))
        if count > 1
    ]
    return float(np.mean(found)) if found else float("nan")
