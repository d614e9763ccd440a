"""How much a prompt's images have in common, and embeddings that have equally much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.products import Products
from t2ibench.methods.core.prompt_images import PromptImages

_CLEAR = 4.0  # standard errors, as of the gate of leans


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
        """Compute the squared lengths of what each prompt's images have in common."""
        products = [products for group in images for products in group.products]
        return cls(images, products)

    def along(
        self, directions: Sequence[Float64Array] | None = None
    ) -> list[Float64Array]:
        """Return each prompt's squared common length plus its variance along its direction."""
        ends = np.cumsum([len(group.prompts) for group in self.images])[:-1]
        several = np.array([products.n > 1 for products in self.products])
        if not several.any():
            return np.split(np.ones(len(several)), ends)
        mixtures = self._mixtures(directions)
        parts = [
            (products, mixture)
            for products, mixture in zip(self.products, mixtures, strict=True)
            if products.n > 1
        ]
        common = _common([products for products, _ in parts])
        if common is None:
            return np.split(np.zeros(len(several)), ends)
        squares = common + np.array([mixture.mean() for _, mixture in parts])
        whole = np.full(len(several), squares.mean())
        moved = [
            products.moved + mixture - mixture.mean() for products, mixture in parts
        ]
        n = np.array([float(products.n) for products, _ in parts])
        sums = np.array([changes @ changes for changes in moved])
        whole[several] = _shrunk(squares, n, sums)
        return np.split(whole, ends)

    def _mixtures(
        self, directions: Sequence[Float64Array] | None
    ) -> list[Float64Array]:
        """Return each image's contribution to the variance along its set's direction.

        It is 0 if there are no directions.
        """
        if directions is None:
            return [np.zeros(products.n) for products in self.products]
        pairs = zip(self.images, directions, strict=True)
        return [
            part for group, direction in pairs for part in _mixtures(group, direction)
        ]


def _common(products: Sequence[Products]) -> Float64Array | None:
    """Return the squared common length of each prompt, or the mean where its own is unclear.

    Every prompt has two images or more. None if even the mean is unclear.
    """
    n, mean, squared_residuals, sampled_pairs = np.array(
        [
            (prompt.n, prompt.mean, prompt.squared_residuals, prompt.sampled_pairs)
            for prompt in products
        ]
    ).T
    df = float((sampled_pairs - 1).sum())
    error = _CLEAR * np.sqrt(squared_residuals.sum() / df) if df > 0 else 0.0
    usual = float(mean.mean())
    n_pairs = n * (n - 1) / 2
    error_of_usual = error * np.sqrt((1 / n_pairs).sum()) / len(n)
    if not usual > error_of_usual:
        return None
    clear = mean > error / np.sqrt(n_pairs)
    common: Float64Array = np.where(clear, mean, usual)
    return common


def _mixtures(images: PromptImages, direction: Float64Array) -> list[Float64Array]:
    """Return each image's contribution to the variance along a direction, prompt by prompt.

    Their mean over a prompt is the variance of its images.
    """
    numbers = np.arange(len(images.prompts))
    ends = np.searchsorted(images.clusters, numbers[1:])
    if not direction.any():
        return np.split(np.zeros(len(images)), ends)
    places = images.along(direction) / np.linalg.norm(direction)
    return [_mixture(part) for part in np.split(places, ends)]


def _mixture(places: Float64Array) -> Float64Array:
    """Return the contributions of one prompt's images at these places; 0 of a single image."""
    count = len(places)
    if count < 2:
        return np.zeros(count)
    parts: Float64Array = (places - places.mean()) ** 2 * count / (count - 1)
    return parts


def _shrunk(
    squares: Float64Array, n: Float64Array, moved: Float64Array
) -> Float64Array:
    """Return squares shrunk towards their mean, the more so the more of them is noise."""
    several = n > 2
    df = float((n[several] - 1).sum())
    if len(squares) < 2 or not df > 0:
        return np.full(len(squares), squares.mean())
    noise = moved[several].sum() / df / n
    true = max(float(squares.var(ddof=1) - noise.mean()), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where(noise > 0, true / (true + noise), 1.0)
    shrunk: Float64Array = squares.mean() + weights * (squares - squares.mean())
    return shrunk


def equal_spread(
    images: Sequence[PromptImages], squares: Sequence[Float64Array]
) -> list[PromptImages]:
    """Return images with embeddings divided by the common length of their prompt's images.

    Embeddings have unit length, so the mean of images that vary more is shorter, and it holds less
    of what all images of a stimulus show: differences between prompts would hold that scene. After
    the division, all means hold it alike.
    """
    return [
        group.divided(np.sqrt(np.where(square > 0, square, 1.0)))
        for group, square in zip(images, squares, strict=True)
    ]


def trace(images: Sequence[PromptImages]) -> float:
    """Return the variance of images about their prompt's mean, summed over dimensions.

    It is a mean over prompts with two images or more, and nan without any.
    """
    variances = [
        square / (size - 1)
        for group in images
        for square, size in zip(group.squares, group.sizes, strict=True)
        if size > 1
    ]
    return float(np.mean(variances)) if variances else float("nan")
