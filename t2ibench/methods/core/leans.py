"""Leans: positions of a stimulus's images between those with attributes A and B.

Each stimulus is measured along a direction that its own images had no part in, so a mean on that
direction is an unbiased mean, whatever the direction is, and its test is one of means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.mixture_variance import MixtureVariance
from t2ibench.methods.core.pooled_variance import pooled_variance
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.row_test import null_variance, reach_null
from t2ibench.methods.core.spread import CommonSquares, equal_spread
from t2ibench.methods.core.wording_images import (
    ImagesAlong,
    WordingImages,
    differences,
    effective_number,
    held_out,
    mean_places,
    summed,
)
from t2ibench.methods.core.wording_variance import WordingVariance
from t2ibench.stats.student import Ratio, ratio

# N = 2 y - a - b and D = a - b, as weights of y, a and b.
TOP = np.array([2.0, -1.0, -1.0])
BOTTOM = np.array([0.0, 1.0, -1.0])
LONE = (
    "a single stimulus has all of its images, so there are no others whose direction it could be "
    "measured along"
)


@dataclass(frozen=True, slots=True)
class Leans:
    """The leans of several stimuli between one pair of attributes, and what they come from.

    lean_j = N_j / D_j, with N_j = 2 y - a - b and D_j = a - b of the means y, a and b of stimulus
    j's images along v_j, the mean of d_i over the other stimuli i; averaged over wordings.

    Attributes:
        names: Names of the stimuli.
        images: The wordings of each; the embeddings have equal spread (`spread.equal_spread`).
        directions: v_j, shape (stimuli, d).
        places: The neutral, A's and B's images of each wording of each stimulus, along v_j.
        by_wording: y, a and b in each wording, shape (stimuli, wordings, 3).
        means: y, a and b, shape (stimuli, 3).
        variances: Variances of the means where the wordings are fixed; nan for a single image.
        dfs: Degrees of freedom of the variances.
        numbers: How many images of one prompt would have means that vary as little, the same shape.
        wordings: What the wordings add; None for a single wording.
    """

    names: list[str]
    images: list[list[WordingImages]]
    directions: Float64Array
    places: list[list[list[ImagesAlong]]]
    by_wording: Float64Array
    means: Float64Array
    variances: Float64Array
    dfs: Float64Array
    numbers: Float64Array
    wordings: WordingVariance | None

    @classmethod
    def of(
        cls, names: Sequence[str], images: Sequence[Sequence[WordingImages]]
    ) -> Leans:
        """Measure the leans of two stimuli or more, each along the direction of the others."""
        alike = _equally_spread(images)
        return cls.along(names, alike, held_out(differences(alike)))

    @classmethod
    def along(
        cls,
        names: Sequence[str],
        images: Sequence[Sequence[WordingImages]],
        directions: Float64Array,
    ) -> Leans:
        """Measure the leans of stimuli along the given directions."""
        places = [
            _placed(wordings_of_one, direction)
            for wordings_of_one, direction in zip(images, directions, strict=True)
        ]
        by_wording, variance, df = mean_places(places)
        n_wordings = by_wording.shape[1]
        variances, dfs = summed(variance / n_wordings**2, df, axis=1)
        wordings = None
        if n_wordings > 1:
            if not np.isfinite(variances).all():
                # Single images show no variance: all that varies, varies between wordings.
                variances = np.zeros_like(variances)
                dfs = np.ones_like(dfs)
            of_images = _covariances(variances)
            wordings = WordingVariance.of(
                by_wording @ TOP, by_wording @ BOTTOM, of_images
            )
        return cls(
            names=list(names),
            images=[list(wordings_of_one) for wordings_of_one in images],
            directions=directions,
            places=places,
            by_wording=by_wording,
            means=by_wording.mean(axis=1),
            variances=variances,
            dfs=dfs,
            numbers=_effective_numbers(images),
            wordings=wordings,
        )

    @property
    def top(self) -> Float64Array:
        """Numerator of each stimulus's lean: twice how far neutral images are off the middle.

        N = 2 y - a - b, shape (stimuli,).
        """
        top: Float64Array = self.means @ TOP
        return top

    @property
    def bottom(self) -> Float64Array:
        """Distance between the images with A and with B for each stimulus, D = a - b."""
        bottom: Float64Array = self.means @ BOTTOM
        return bottom

    @property
    def pooled(self) -> tuple[Float64Array, Float64Array]:
        """Variances of the neutral, A and B means, pooled over stimuli, with their df.

        What is said of all stimuli together uses these; a row has its own variance. Those of
        several wordings stay: what varies between wordings is pooled over stimuli anyway.
        """
        if self.wordings is not None:
            return self.variances, self.dfs
        return pooled_variance(self.variances, self.dfs, self.numbers)

    @property
    def top_variance(self) -> tuple[Float64Array, Float64Array]:
        """Variance of each lean's numerator N, wordings included, with its degrees of freedom."""
        if self.wordings is not None:
            totals: Float64Array = self.wordings.totals[0]
            return totals, np.full(len(totals), self.wordings.f_test[1])
        variances, dfs = self.pooled
        return summed(variances * TOP**2, dfs, axis=1)

    @property
    def top_variance_along(self) -> Float64Array:
        """Variance of each numerator N as it would be with half an image more at A and at B."""
        variance, _ = self.top_variance
        images, _ = self.pooled
        added = self._smoothed(images)[:, 0] - images[:, 0]
        larger: Float64Array = variance + TOP[0] ** 2 * added
        return larger

    @property
    def bottom_variance(self) -> Float64Array:
        """Variance of each stimulus's distance between its images with A and with B.

        Where single images show none, it is the variance of D between stimuli.
        """
        if self.wordings is not None:
            totals: Float64Array = self.wordings.totals[1]
            return totals
        variance = self.pooled[0] @ BOTTOM**2
        between = self.bottom.var(ddof=1)
        variances: Float64Array = np.where(np.isfinite(variance), variance, between)
        return variances

    @property
    def _true_variance(self) -> float:
        """Variance over stimuli of the true distances between A's and B's images, without noise.

        T = max(0, var(D) - mean U), with U the variance of each D by its images.
        """
        noise = float(self.bottom_variance.mean())
        return max(float(self.bottom.var(ddof=1)) - noise, 0.0)

    @property
    def _shrinkage(self) -> float:
        """Weight of a stimulus's own distance, against the mean distance, in its denominator.

        It is T / (T + mean U), with T and U as in `_true_variance`.
        """
        noise = float(self.bottom_variance.mean())
        if not noise > 0:
            return 1.0
        true = self._true_variance
        return true / (true + noise)

    @property
    def own_share(self) -> float:
        """Weight of a stimulus's own distance in its denominator, with its part in the mean."""
        weight = self._shrinkage
        return weight + (1 - weight) / len(self.names)

    @property
    def denominators(self) -> Float64Array:
        """Denominator of each lean: the distance D, shrunk to the mean D as far as it is noise.

        w D_j + (1 - w) mean(D), w = T / (T + mean U), T = max(0, var(D) - mean U), with the
        variances U of D. The noise of A's images is in D_j and in N_j with opposite signs, so a
        large D_j by chance would go with a lean that is too low.
        """
        weight = self._shrinkage
        shrunk: Float64Array = weight * self.bottom + (1 - weight) * self.bottom.mean()
        return shrunk

    @property
    def separation(self) -> float:
        """Distance between A's and B's images as a z-value: the sum of D over its error.

        Every pair of stimuli is in the sum twice, which the 2 stands for.
        """
        return self.separation_of(np.arange(len(self.names)))

    def separation_of(self, at: IntArray) -> float:
        """Return the z-value of the distance between A's and B's images for chosen stimuli."""
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = np.sqrt(2 * self.bottom_variance[at].sum())
            return float(self.bottom[at].sum() / noise)

    def rows(self, level: float, at: npt.ArrayLike = 0.0) -> Ratio:
        """Return the lean of each stimulus, less `at`, with its interval and its test.

        The variance of y is no less than with half an image more at A and half a one at B: a few
        images that are all alike do not show that others would be. The p-value is the larger one
        of two: with that variance, and with the variance at the lean that is tested (`row_test`).
        Where that does not reject, the interval reaches there.

        `at` is subtracted from the leans, shape () or (stimuli,).
        """
        points = np.broadcast_to(np.asarray(at, np.float64), len(self.names))
        smoothed = self._smoothed(self.variances)
        estimated = self._row_ratios(level, points, smoothed, self.dfs)
        tested = self.rows_at_null(level, points)
        p = np.maximum(estimated.p, tested.p)
        low, high = reach_null(estimated.low, estimated.high, p, level)
        return replace(estimated, p=p, low=low, high=high)

    def rows_at_null(self, level: float, points: Float64Array) -> Ratio:
        """Return each lean less its tested value, with the variance it would have at that value."""
        variances = self.variances.copy()
        dfs = self.dfs.copy()
        variances[:, 0], dfs[:, 0] = self._null_variance(points)
        return self._row_ratios(level, points, variances, dfs)

    def _null_variance(self, points: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return each neutral mean's variance, and its df, as if leans were at these points."""
        square = float((self.bottom**2 - self.bottom_variance).mean())
        mixture = MixtureVariance.of(
            self._directed([0]), self._directed([1, 2]), square
        )
        return null_variance(
            variances=self.variances[:, 0],
            dfs=self.dfs[:, 0],
            numbers=self.numbers[:, 0],
            distances=(self.top - points * self.denominators) / 2,
            mixture=mixture,
            lean=points,
        )

    def _directed(self, sides: Sequence[int]) -> list[ImagesAlong]:
        """Return the images of the given sides (0 neutral, 1 A, 2 B), along their directions."""
        return [
            placed[side]
            for wordings in self.places
            for placed in wordings
            for side in sides
        ]

    def _row_ratios(
        self,
        level: float,
        points: Float64Array,
        variances_of_means: Float64Array,
        dfs_of_means: Float64Array,
    ) -> Ratio:
        """Return each lean less a given value, as a ratio, from the variances of its three means.

        What the other stimuli add to the denominator adds to its variance, and so does how far the
        true D may lie from the mean.
        """
        count = len(self.names)
        weight = self._shrinkage
        # Numerator and denominator are sums of y, a and b of the stimulus, and of what the other
        # stimuli add to the denominator.
        weight_of_others = (1 - weight) / count
        others = weight_of_others * (self.bottom.sum() - self.bottom)
        noise = self.variances @ BOTTOM**2
        noise_of_others = weight_of_others**2 * (noise.sum() - noise)
        variance_of_others = noise_of_others + self._true_variance * (1 - weight)
        means = np.column_stack([self.means, others])
        variances = np.column_stack([variances_of_means, variance_of_others])
        dfs = np.column_stack([dfs_of_means, np.full(count, count - 1.0)])
        top = np.tile(np.append(TOP, 0.0), (count, 1))
        bottom = np.tile(np.append(self.own_share * BOTTOM, 1.0), (count, 1))
        if self.wordings is not None:
            components = self.wordings.components(
                _numerator_weights(count), _denominator_weights(count, weight)
            )
            top, bottom, means, variances, dfs = self.wordings.append_components(
                components, top, bottom, means, variances, dfs
            )
        shifted = top - points[:, None] * bottom
        return ratio(shifted, bottom, means, variances, dfs, level)

    def _smoothed(self, variances_of_means: Float64Array) -> Float64Array:
        """Return the means' variances, neutral ones as with half an image more at A and at B."""
        n_images = np.array(
            [
                sum(len(images.neutral) for images in wordings)
                for wordings in self.images
            ]
        )
        top = self.top
        bottom = self.denominators
        # The square of half the distance between A's and B's images.
        square = np.maximum(bottom**2 - self.bottom_variance, 0.0) / 4
        with np.errstate(divide="ignore", invalid="ignore"):
            lean = np.where(bottom > 0, np.clip(top / bottom, -1.0, 1.0), 0.0)
        observed = variances_of_means[:, 0]
        smoothed = (
            (n_images - 1) * observed + square * (1 + lean**2) / n_images
        ) / n_images
        variances: Float64Array = variances_of_means.copy()
        variances[:, 0] = np.where(
            np.isfinite(observed), np.maximum(observed, smoothed), observed
        )
        return variances

    def contrast(
        self,
        top: npt.ArrayLike,
        bottom: npt.ArrayLike,
        level: float,
        less: npt.ArrayLike = 0.0,
        *,
        wordings: bool = True,
    ) -> Ratio:
        """Return a ratio of weighted sums of leans' numerators and denominators, with its test.

        It is (Σ w N - Σ l D) / Σ u D, with w, u and l as `top`, `bottom` and `less`.
        """
        w = np.asarray(top, np.float64)
        u = np.asarray(bottom, np.float64)
        subtracted = np.broadcast_to(np.asarray(less, np.float64), w.shape)
        # Weights of each stimulus's N and D in numerator and denominator, shape (stimuli, 2), and
        # of its y, a and b.
        of_top = np.stack([w, -subtracted], axis=1)
        of_bottom = np.stack([np.zeros_like(u), u], axis=1)
        sides = np.stack([TOP, BOTTOM])
        a = (of_top @ sides).ravel()
        b = (of_bottom @ sides).ravel()
        means = self.means.ravel()
        variances = self.variances.ravel()
        dfs = self.dfs.ravel()
        if wordings and self.wordings is not None:
            components = self.wordings.components(of_top, of_bottom)
            a, b, means, variances, dfs = self.wordings.append_components(
                components, a, b, means, variances, dfs
            )
        return ratio(a, b, means, variances, dfs, level)

    def influence(
        self, number: int, top: float, bottom: float, *, wordings: bool = True
    ) -> Influence:
        """Return each image's influence on a weighted difference of a numerator and a distance.

        It is `top` times N less `bottom` times D of one stimulus.
        """
        n_wordings = len(self.images[number])
        weights = (top * TOP - bottom * BOTTOM) / n_wordings
        parts = [
            (weight, self._influence_of(side))
            for sides in self.places[number]
            for weight, side in zip(weights, sides, strict=True)
        ]
        if wordings and self.wordings is not None:
            name = self.names[number]
            parts.append((1.0, self.wordings.influence(number, name, top, bottom)))
        return Influence.combined(parts)

    def _influence_of(self, side: ImagesAlong) -> Influence:
        """Return each image's influence on the mean position along a stimulus's direction."""
        strata = side.images.strata
        sizes = strata.sizes[strata.number].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = side.deviations / np.sqrt(sizes * (sizes - 1)) / len(strata.sizes)
        if self.wordings is not None:
            value = np.nan_to_num(value)
        return Influence(tuple(strata.names), strata.number, strata.unit, value)


def _placed(
    wordings: Sequence[WordingImages], direction: Float64Array
) -> list[list[ImagesAlong]]:
    """Return the images of a stimulus along its direction, by wording and side."""
    return [
        [ImagesAlong.of(side, direction) for side in wording.sides]
        for wording in wordings
    ]


def _equally_spread(
    images: Sequence[Sequence[WordingImages]],
) -> list[list[WordingImages]]:
    """Return the images scaled so that those of all prompts have equally much in common.

    They are scaled by the common square alone first, then with the variance along
    directions.
    """
    flat = [wording for wordings in images for wording in wordings]
    kinds = _by_side(flat)
    common = [CommonSquares.of(kind) for kind in kinds]
    counts = [len(wordings) for wordings in images]
    alike = _scaled(kinds, [squares.along() for squares in common], counts)
    directions = np.repeat(held_out(differences(alike)), counts, axis=0)
    along = [squares.along(list(directions)) for squares in common]
    return _scaled(kinds, along, counts)


def _by_side(images: Sequence[WordingImages]) -> list[list[PromptImages]]:
    """Return the images of all wordings in three lists: without attribute, with A and with B."""
    return [
        [wording.neutral for wording in images],
        [wording.a for wording in images],
        [wording.b for wording in images],
    ]


def _scaled(
    kinds: Sequence[Sequence[PromptImages]],
    squares: Sequence[list[Float64Array]],
    counts: Sequence[int],
) -> list[list[WordingImages]]:
    """Return the wordings of each stimulus, every side's images scaled to equal spread."""
    scaled = iter(map(WordingImages, *map(equal_spread, kinds, squares)))
    return [[next(scaled) for _ in range(count)] for count in counts]


def _effective_numbers(images: Sequence[Sequence[WordingImages]]) -> Float64Array:
    """Return how many images of one prompt each neutral, A and B mean is worth.

    Shape (stimuli, 3).
    """
    by_stimulus = []
    for wordings in images:
        sides = zip(*(wording.sides for wording in wordings), strict=True)
        by_stimulus.append([effective_number(side) for side in sides])
    return np.array(by_stimulus)


def _covariances(variances: Float64Array) -> Float64Array:
    """Return the covariance matrix of each stimulus's numerator and distance.

    It follows from the variances of y, a and b.
    """
    top = variances @ TOP**2
    both = variances @ (TOP * BOTTOM)
    bottom = variances @ BOTTOM**2
    flat = np.stack([top, both, both, bottom], axis=-1)
    matrices: Float64Array = flat.reshape(-1, 2, 2)
    return matrices


def _numerator_weights(count: int) -> Float64Array:
    """Return one lean's numerator as weights of all stimuli's numerators and distances.

    Shape (stimuli, 2).

    What the wordings add is the same for every stimulus, so the first stands for any of them.
    """
    weights = np.zeros((count, 2))
    weights[0, 0] = 1.0
    return weights


def _denominator_weights(count: int, shrinkage: float) -> Float64Array:
    """Return one lean's denominator as weights of all stimuli's numerators and distances.

    Shape (stimuli, 2).
    """
    weights = np.zeros((count, 2))
    weights[:, 1] = (1 - shrinkage) / count
    weights[0, 1] += shrinkage
    return weights
