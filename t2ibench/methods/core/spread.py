"""How much the images of a prompt have in common, and embeddings that are made comparable by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.evidence import PromptImages

_CLEAR = 4.0  # standard errors, as of the gate of leans
_SAMPLE = 256  # images of a prompt whose pairs show how much products vary


@dataclass(frozen=True, slots=True)
class Products:
    """Products x_i·x_j of the different images of one prompt."""

    n: int  # images
    mean: float
    rest: float  # squared residuals, over pairs of the first 256
    moved: Float64Array  # how each image moves the mean

    @classmethod
    def of(cls, rows: Float64Array) -> Products:
        """The products of images, shape (n, d)."""
        n = len(rows)
        if n < 2:
            return cls(n, 0.0, 0.0, np.zeros(n))
        means = (rows @ rows.sum(axis=0) - np.einsum("ij,ij->i", rows, rows)) / (n - 1)
        mean = float(means.mean())
        few = rows[:_SAMPLE]
        gram = few @ few.T
        np.fill_diagonal(gram, 0.0)
        usual = gram.sum() / (len(few) * (len(few) - 1))
        np.fill_diagonal(gram, usual)
        gram -= usual
        return cls(n, mean, float(np.vdot(gram, gram)) / 2, 2 * (means - mean))


@dataclass(frozen=True, slots=True)
class CommonSquares:
    """The squared length of the common component of each prompt's images.

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
        >>> [square.round(3).tolist() for square in CommonSquares.of([two]).along()]
        [[0.5]]
    """

    images: Sequence[PromptImages]  # of one kind
    products: list[Products]  # of each prompt

    @classmethod
    def of(cls, images: Sequence[PromptImages]) -> CommonSquares:
        """Compare the images of each prompt."""
        return cls(
            images, [Products.of(rows) for one in images for rows in _by_prompt(one)]
        )

    def along(
        self, directions: Sequence[Float64Array] | None = None
    ) -> list[Float64Array]:
        """The squares of each prompt, with the variance along a direction of each set of images."""
        mixtures = [np.zeros(one.n) for one in self.products]
        if directions is not None:
            pairs = zip(self.images, directions, strict=True)
            mixtures = [
                _mixture(rows, v) for one, v in pairs for rows in _by_prompt(one)
            ]
        ends = np.cumsum([len(one.prompts) for one in self.images])[:-1]
        known = np.array([one.n > 1 for one in self.products])
        if not known.any():
            return np.split(np.ones(len(known)), ends)
        parts = [
            pair for pair in zip(self.products, mixtures, strict=True) if pair[0].n > 1
        ]
        n, mean, rest = np.array([(one.n, one.mean, one.rest) for one, _ in parts]).T
        few = np.minimum(n, _SAMPLE)
        df = float((few * (few - 1) / 2 - 1).sum())
        error = _CLEAR * np.sqrt(rest.sum() / df) if df > 0 else 0.0
        usual = float(mean.mean())
        products = n * (n - 1) / 2
        if not usual > error * np.sqrt((1 / products).sum()) / len(n):
            return np.split(np.zeros(len(known)), ends)
        clear = mean > error / np.sqrt(products)
        squares = np.where(clear, mean, usual) + np.array(
            [one.mean() for _, one in parts]
        )
        whole = np.full(len(known), squares.mean())
        moved = [one.moved + mixture - mixture.mean() for one, mixture in parts]
        whole[known] = _shrunk(squares, n, np.array([one @ one for one in moved]))
        return np.split(whole, ends)


def _by_prompt(images: PromptImages) -> list[Float64Array]:
    """The embeddings of each prompt."""
    return [
        images.embeddings[images.clusters == at] for at in range(len(images.prompts))
    ]


def _mixture(rows: Float64Array, direction: Float64Array) -> Float64Array:
    """The part of each image in the variance along a direction, whose mean it is."""
    if len(rows) < 2 or not direction.any():
        return np.zeros(len(rows))
    places = rows @ direction / np.linalg.norm(direction)
    parts: Float64Array = (places - places.mean()) ** 2 * len(rows) / (len(rows) - 1)
    return parts


def _shrunk(
    squares: Float64Array, n: Float64Array, moved: Float64Array
) -> Float64Array:
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
        rows.var(axis=0, ddof=1).sum()
        for one in images
        for rows in _by_prompt(one)
        if len(rows) > 1
    ]
    return float(np.mean(found)) if found else float("nan")
