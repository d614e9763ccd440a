"""The variance of images of which some are like A's and the others like B's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.wording_images import ImagesAlong


@dataclass(frozen=True, slots=True)
class MixtureVariance:
    """The variance of a prompt's images that each show A or B, as a function of their lean.

    Attributes:
        within: Variance of an image of a prompt that shows one of the two alone.
        df: Degrees of freedom of that variance.
        square: D², the squared distance of A's and B's images.
    """

    within: float
    df: float
    square: float

    @classmethod
    def of(
        cls,
        neutral: Sequence[ImagesAlong],
        guided: Sequence[ImagesAlong],
        square: float,
    ) -> MixtureVariance:
        """Estimate the mixture variance; guided images give the variance within a group.

        Images without an attribute may vary more in everything: by the ratio of the variances
        across the direction, of which a mixture of both groups has no part.

        Args:
            neutral: Images without an attribute, of equal spread.
            guided: Images with either attribute.
            square: D², estimated without bias; below 0 it counts as 0.
        """
        of_neutral = VarianceAlong.of(neutral)
        of_guided = VarianceAlong.of(guided)
        ratio = 1.0
        if of_neutral.across > 0 and of_guided.across > 0:
            ratio = of_neutral.across / of_guided.across
        return cls(ratio * of_guided.along, max(of_guided.df, 1.0), max(square, 0.0))

    def at(self, lean: npt.ArrayLike) -> Float64Array:
        """Return the variance that images have in a mixture of A and B with this lean.

        It is within + (1 - lean²) D² / 4.
        """
        leans = np.clip(np.asarray(lean, np.float64), -1.0, 1.0)
        variances: Float64Array = self.within + (1 - leans**2) * self.square / 4
        return variances


@dataclass(frozen=True, slots=True)
class VarianceAlong:
    """The variance of images about their prompts' means, along and across a direction.

    Attributes:
        along: Along the directions; infinity where no prompt has two images.
        across: Across them, summed over dimensions.
        df: Degrees of freedom.
    """

    along: float
    across: float
    df: float

    @classmethod
    def of(cls, images: Sequence[ImagesAlong]) -> VarianceAlong:
        """Return the variance of images about their prompts' means, pooled over prompts."""
        along = 0.0
        total = 0.0
        within_directions = 0.0
        df = 0
        for placed in images:
            squares = float((placed.deviations**2).sum())
            length = float(placed.direction @ placed.direction)
            along += squares
            within_directions += squares / length if length > 0 else 0.0
            total += placed.images.square
            df += len(placed.places) - len(placed.images.strata.sizes)
        if df == 0:
            return cls(float("inf"), 0.0, 0.0)
        return cls(along / df, (total - within_directions) / df, float(df))
