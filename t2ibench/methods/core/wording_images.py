"""The images of a stimulus with and without attributes, and their means along directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.strata import Strata
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


# A mean for each of several directions, its variance, and its degrees of freedom.
Moments = tuple[Float64Array, Float64Array, Float64Array]


@dataclass(frozen=True)
class ImagesAlong:
    """Images of several prompts, with the place of each along one direction.

    Attributes:
        images: The images.
        direction: The direction, shape (d,).
        places: Position of each image along it, shape (n,).
    """

    images: PromptImages
    direction: Float64Array
    places: Float64Array

    @classmethod
    def of(cls, images: PromptImages, direction: Float64Array) -> ImagesAlong:
        """Place images along a direction."""
        return cls(images, direction, images.along(direction))

    @cached_property
    def deviations(self) -> Float64Array:
        """Place of each image less the mean place of its prompt, shape (n,)."""
        _, deviations = self.images.strata.deviations(self.places)
        return deviations

    @property
    def moments(self) -> Moments:
        """Mean place over prompts, its variance and degrees of freedom, each of shape (1,)."""
        return moments(self.images.strata, self.places[:, None])

    def where(self, keep: BoolArray) -> tuple[Strata, Float64Array]:
        """Return the strata and the places of selected images."""
        images = self.images
        strata = Strata.of(images.clusters[keep], images.prompts, images.indices[keep])
        return strata, self.places[keep]


def moments(strata: Strata, places: Float64Array) -> Moments:
    """Return the images' mean position along each of s directions, averaged over prompts.

    With its variance (nan for a single image) and its degrees of freedom.

    Args:
        strata: The prompts of the images.
        places: Positions of the images, shape (n, s).
    """
    means, deviations = strata.deviations(places)
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
        sizes = images.strata.sizes
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
    mean: Float64Array = images.stratum_means.mean(axis=0)
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
            [
                [moments(side.strata, side.along(along.T)) for side in wording.sides]
                for wording in wordings
            ]
        )
    return np.moveaxis(np.array(by_stimulus), 3, 0)


def mean_places(places: Sequence[Sequence[Sequence[ImagesAlong]]]) -> Float64Array:
    """Return the mean position of images along one direction of their stimulus, with variances.

    Args:
        places: The images of each stimulus, wording and side, along its direction.

    Returns:
        Mean, variance and degrees of freedom, shape (3, stimuli, wordings, sides).
    """
    by_stimulus = []
    for wordings in places:
        by_stimulus.append([[side.moments for side in sides] for sides in wordings])
    return np.moveaxis(np.array(by_stimulus), 3, 0)[..., 0]
