"""The images of a stimulus with and without attributes, and their means along directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.stats.rounding import sums_by


@dataclass(frozen=True, slots=True)
class WordingImages:
    """The images of a stimulus in one wording: without an attribute, with A, and with B.

    Attributes:
        neutral: Images without an attribute.
        a: Images with attribute A.
        b: Images with attribute B.
    """

    neutral: PromptImages
    a: PromptImages
    b: PromptImages

    @property
    def sides(self) -> tuple[PromptImages, PromptImages, PromptImages]:
        """The three sets of images: without an attribute, with A, and with B."""
        return self.neutral, self.a, self.b

    @property
    def complete(self) -> bool:
        """Whether every prompt has an image, so that each side has all of its words."""
        return all(images.whole for images in self.sides)


@dataclass(frozen=True, slots=True)
class Strata:
    """Images grouped by prompt, or all in one group where a prompt has a single image.

    Attributes:
        names: Names of the prompts.
        number: Number of each image's prompt, shape (n,).
        unit: Number of each image within its prompt, shape (n,).
        sizes: Number of images of each prompt.
    """

    names: list[str]
    number: IntArray
    unit: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, images: PromptImages) -> Strata:
        """Group images by prompt, or all together if a prompt has a single image."""
        clusters, number = np.unique(images.clusters, return_inverse=True)
        sizes = np.bincount(number)
        names = [images.prompts[cluster] for cluster in clusters]
        if len(sizes) > 1 and (sizes < 2).any():
            count = len(number)
            zeros = np.zeros(count, np.int64)
            return cls([" | ".join(names)], zeros, np.arange(count), np.array([count]))
        return cls(names, number.astype(np.int64), images.indices, sizes)

    def deviations(self, values: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return each prompt's mean, and every value less the mean of its prompt."""
        sums = sums_by(self.number, values, len(self.sizes))
        means = sums / self.sizes.reshape(-1, *[1] * (values.ndim - 1))
        return means, values - means[self.number]


def moments(
    images: PromptImages, directions: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Return the images' mean position along each of s directions, averaged over prompts.

    With its variance (nan for a single image) and its degrees of freedom.
    """
    strata = Strata.of(images)
    means, deviations = strata.deviations(images.embeddings @ directions.T)
    squares = sums_by(strata.number, deviations**2, len(strata.sizes))
    sizes = strata.sizes[:, None].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        variances_of_means = squares / (sizes * (sizes - 1))
        parts = variances_of_means / len(sizes) ** 2
        dfs = np.broadcast_to(sizes - 1, parts.shape)
        variances, df = summed(parts, dfs, 0)
        return means.mean(axis=0), variances, df


def summed(
    variances: Float64Array, dfs: Float64Array, axis: int
) -> tuple[Float64Array, Float64Array]:
    """Return the variance of a sum of independent estimates, and its degrees of freedom.

    The degrees of freedom are Satterthwaite's.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        total = variances.sum(axis=axis)
        shares = np.where(variances > 0, variances**2 / dfs, variances)
        return total, total**2 / shares.sum(axis=axis)


def effective_number(wordings: Sequence[PromptImages]) -> float:
    """Return how many images of a single prompt would have a mean that varies as little.

    That is P² / Σ 1/n for a mean over P prompts (and wordings) of n images each.
    """
    inverses = []
    for images in wordings:
        sizes = Strata.of(images).sizes
        inverses.append(float((1.0 / sizes).sum()) / len(sizes) ** 2)
    return len(wordings) ** 2 / sum(inverses)


def differences(images: Sequence[Sequence[WordingImages]]) -> Float64Array:
    """Return the mean of A's images less that of B's, for each stimulus, shape (stimuli, d)."""
    return np.array([_difference(wordings) for wordings in images])


def _difference(wordings: Sequence[WordingImages]) -> Float64Array:
    by_wording = [_mean(images.a) - _mean(images.b) for images in wordings]
    difference: Float64Array = np.mean(by_wording, axis=0)
    return difference


def _mean(images: PromptImages) -> Float64Array:
    """Return the mean over prompts of their images' mean, shape (d,)."""
    of_prompts, _ = Strata.of(images).deviations(images.embeddings)
    mean: Float64Array = of_prompts.mean(axis=0)
    return mean


def held_out(rows: Float64Array) -> Float64Array:
    """Return, for each row, the mean of all other rows; the shape is that of the rows."""
    others: Float64Array = (rows.sum(axis=0) - rows) / (len(rows) - 1)
    return others


def project(
    images: Sequence[Sequence[WordingImages]], directions: Float64Array
) -> Float64Array:
    """Return the mean positions of images along each stimulus's directions, with variances.

    Shapes: directions (stimuli, s, d); result (3, stimuli, wordings, sides, s), where
    the 3 are mean, variance and degrees of freedom.
    """
    by_stimulus = []
    for wordings, along in zip(images, directions, strict=True):
        by_stimulus.append(
            [[moments(side, along) for side in wording.sides] for wording in wordings]
        )
    return np.moveaxis(np.array(by_stimulus), 3, 0)
