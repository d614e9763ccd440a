"""Means of images along directions, with their variances: what leans are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.stats.sums import sums_by

SIDES = ("neutral", "a", "b")


@dataclass(frozen=True, slots=True)
class Marked:
    """The images of a stimulus in one wording.

    Attributes:
        neutral: Without an attribute.
        a: With attribute A.
        b: With attribute B.
    """

    neutral: PromptImages
    a: PromptImages
    b: PromptImages

    @property
    def complete(self) -> bool:
        """Whether every prompt has an image: without a word, a side says another thing."""
        return all(images.whole for images in (self.neutral, self.a, self.b))


@dataclass(frozen=True, slots=True)
class Projections:
    """Means of every stimulus's images along directions.

    Attributes:
        mean: Shape (stimuli, wordings, 3 sides, directions).
        variance: Of the mean; nan for a single image.
        df: Degrees of freedom of the variance.
    """

    mean: Float64Array
    variance: Float64Array
    df: Float64Array


@dataclass(frozen=True, slots=True)
class Strata:
    """Images by prompt; a prompt's single image is taken as one of its side.

    Attributes:
        names: Of the prompts.
        number: Which prompt each image is of, shape (n,).
        unit: Its number within the prompt, shape (n,).
        sizes: Images of each prompt.
    """

    names: list[str]
    number: IntArray
    unit: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, images: PromptImages) -> Strata:
        """The strata of some images."""
        present, number = np.unique(images.clusters, return_inverse=True)
        sizes = np.bincount(number)
        names = [images.prompts[cluster] for cluster in present]
        if len(sizes) > 1 and (sizes < 2).any():
            count = len(number)
            zeros = np.zeros(count, np.int64)
            return cls([" | ".join(names)], zeros, np.arange(count), np.array([count]))
        return cls(names, number.astype(np.int64), images.indices, sizes)

    def deviations(self, values: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Mean of each prompt, and each value less the mean of its prompt.

        Args:
            values: Of each image, shape (n, ...).

        Returns:
            Shapes (prompts, ...) and (n, ...).
        """
        sums = sums_by(self.number, values, len(self.sizes))
        means = sums / self.sizes.reshape(-1, *[1] * (values.ndim - 1))
        return means, values - means[self.number]


def moments(
    images: PromptImages, directions: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Mean over prompts of their images' mean along each direction, with its variance.

    Args:
        images: One or more, of several prompts.
        directions: Shape (s, d).

    Returns:
        Mean, its variance (nan for a single image) and its degrees of freedom, shape (s,) each.
    """
    strata = Strata.of(images)
    means, deviations = strata.deviations(images.embeddings @ directions.T)
    squares = sums_by(strata.number, deviations**2, len(strata.sizes))
    sizes = strata.sizes[:, None].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = squares / (sizes * (sizes - 1)) / len(sizes) ** 2
        return means.mean(axis=0), *summed(parts, np.broadcast_to(sizes - 1, parts.shape), 0)


def summed(
    variances: Float64Array, dfs: Float64Array, axis: int
) -> tuple[Float64Array, Float64Array]:
    """Variance of a sum of independent estimates with Satterthwaite's degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total = variances.sum(axis=axis)
        shares = np.where(variances > 0, variances**2 / dfs, variances)
        return total, total**2 / shares.sum(axis=axis)


def differences(images: Sequence[Sequence[Marked]]) -> Float64Array:
    """d_j: the mean of A's images less that of B's, over wordings.

    Args:
        images: The wordings of each stimulus, all complete.

    Returns:
        Shape (stimuli, d).
    """

    def mean(side: PromptImages) -> Float64Array:
        means: Float64Array = Strata.of(side).deviations(side.embeddings)[0].mean(axis=0)
        return means

    return np.array(
        [np.mean([mean(one.a) - mean(one.b) for one in wordings], axis=0) for wordings in images]
    )


def held_out(rows: Float64Array) -> Float64Array:
    """The mean of the other rows.

    Args:
        rows: Shape (k, ...), k at least 2.

    Returns:
        The same shape.

    Examples:
        >>> held_out(np.array([[1.0], [2.0], [6.0]])).tolist()
        [[4.0], [3.5], [1.5]]
    """
    others: Float64Array = (rows.sum(axis=0) - rows) / (len(rows) - 1)
    return others


def project(images: Sequence[Sequence[Marked]], directions: Float64Array) -> Projections:
    """Means along directions, each stimulus's its own.

    Args:
        images: The wordings of each stimulus, all complete, as many of each.
        directions: Shape (stimuli, s, d).

    Returns:
        The means, with their variances.
    """
    found = np.array(
        [
            [[moments(getattr(one, side), along) for side in SIDES] for one in wordings]
            for wordings, along in zip(images, directions, strict=True)
        ]
    )  # stimuli, wordings, sides, (mean, variance, df), directions
    return Projections(found[:, :, :, 0], found[:, :, :, 1], found[:, :, :, 2])
