"""Leans: where the images of a stimulus lie between those with attribute A and those with B.

Each stimulus is measured along a direction that its own images had no part in, so a mean on that
direction is an unbiased mean, whatever the direction is, and its test is one of means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.projections import (
    SIDES,
    Marked,
    Strata,
    differences,
    held_out,
    project,
    summed,
)
from t2ibench.methods.core.wordings import Wordings
from t2ibench.stats.student import Ratio, ratio

TOP = np.array([2.0, -1.0, -1.0])  # N = 2 y - a - b
BOTTOM = np.array([0.0, 1.0, -1.0])  # D = a - b
_FEWEST = 2  # stimuli: one is measured along the direction of the others


@dataclass(frozen=True, slots=True)
class Leans:
    """The leans of several stimuli with one pair of attributes.

    lean_j = N_j / D_j, with N_j = 2 y - a - b and D_j = a - b of the means y, a and b of stimulus
    j's images along v_j, the mean of d_i over the other stimuli i; averaged over wordings.

    Attributes:
        names: Of the stimuli.
        images: The wordings of each.
        directions: v_j, shape (stimuli, d).
        means: y, a and b, shape (stimuli, 3).
        variances: Of the means where the wordings are fixed; nan for a single image.
        dfs: Degrees of freedom of the variances.
        wordings: What the wordings add; None for a single wording.
    """

    names: list[str]
    images: list[list[Marked]]
    directions: Float64Array
    means: Float64Array
    variances: Float64Array
    dfs: Float64Array
    wordings: Wordings | None

    @classmethod
    def of(cls, names: Sequence[str], images: Sequence[Sequence[Marked]]) -> Leans | str:
        """Measure the leans."""
        if len(images) < _FEWEST:
            return (
                "a single stimulus has all of its images, so there are no others whose direction "
                "it could be measured along"
            )
        return cls.along(names, images, held_out(differences(images)))

    @classmethod
    def along(
        cls, names: Sequence[str], images: Sequence[Sequence[Marked]], directions: Float64Array
    ) -> Leans:
        """Measure the leans along directions that are known.

        Args:
            names: Of the stimuli.
            images: The wordings of each, all complete.
            directions: Shape (stimuli, d).

        Returns:
            The leans.
        """
        found = project(images, directions[:, None])
        mean, variance, df = (part[..., 0] for part in (found.mean, found.variance, found.df))
        count = mean.shape[1]
        variances, dfs = summed(variance / count**2, df, axis=1)
        wordings = None
        if count > 1:
            if not np.isfinite(variances).all():  # all that varies, varies between wordings
                variances, dfs = np.zeros_like(variances), np.ones_like(dfs)
            wordings = Wordings.of(mean @ TOP, mean @ BOTTOM, _covariance(variances))
        means = mean.mean(axis=1)
        return cls(
            list(names), [list(one) for one in images], directions, means, variances, dfs, wordings
        )

    @property
    def top(self) -> Float64Array:
        """N, shape (stimuli,)."""
        top: Float64Array = self.means @ TOP
        return top

    @property
    def bottom(self) -> Float64Array:
        """D, shape (stimuli,)."""
        bottom: Float64Array = self.means @ BOTTOM
        return bottom

    @property
    def top_variance(self) -> tuple[Float64Array, Float64Array]:
        """Variance of N with its degrees of freedom; the wordings' is in it."""
        if self.wordings is not None:
            totals: Float64Array = self.wordings.totals[0]
            return totals, np.full(len(totals), self.wordings.f_test[1])
        return summed(self.variances * TOP**2, self.dfs, axis=1)

    @property
    def bottom_variance(self) -> Float64Array:
        """Variance of D; where nothing shows it, that between the stimuli."""
        if self.wordings is not None:
            totals: Float64Array = self.wordings.totals[1]
            return totals
        variance = self.variances @ BOTTOM**2
        between = self.bottom.var(ddof=1)
        known: Float64Array = np.where(np.isfinite(variance), variance, between)
        return known

    @property
    def separation(self) -> float:
        """How clear the distance between A's and B's images is: D summed, over its standard error.

        Every pair of stimuli is in the sum twice, which the 2 stands for.
        """
        return self.separation_of(np.arange(len(self.names)))

    def separation_of(self, at: IntArray) -> float:
        """The same of some of the stimuli."""
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = np.sqrt(2 * self.bottom_variance[at].sum())
            return float(self.bottom[at].sum() / noise)

    def rows(self, level: float, at: npt.ArrayLike = 0.0, *, wordings: bool = True) -> Ratio:
        """The lean of each stimulus with its interval.

        The variance of y is no less than with half an image more at A and half a one at B:
        a few images that are all alike do not show that others would be.

        Args:
            level: Confidence level, in (0, 1).
            at: What is subtracted from the leans, shape () or (stimuli,).
            wordings: Whether other wordings are possible, not only other images.

        Returns:
            One ratio for each stimulus.
        """
        k = len(self.names)
        variances = self._smoothed()
        means, dfs = self.means, self.dfs
        top, bottom = np.tile(TOP, (k, 1)), np.tile(BOTTOM, (k, 1))
        if wordings and self.wordings is not None:
            extra = self.wordings.components(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
            ones = np.ones((k, 1))
            top = np.hstack([top, ones * extra[:, 0]])
            bottom = np.hstack([bottom, ones * extra[:, 1]])
            means = np.hstack([means, np.zeros((k, len(extra)))])
            variances = np.hstack([variances, np.ones((k, len(extra)))])
            dfs = np.hstack([dfs, np.full((k, len(extra)), self.wordings.df)])
        shifted = top - np.broadcast_to(np.asarray(at, np.float64), k)[:, None] * bottom
        return ratio(shifted, bottom, means, variances, dfs, level)

    def _smoothed(self) -> Float64Array:
        """Variances of the means, that of y with half an image more at either end."""
        n = np.array([sum(len(one.neutral) for one in wordings) for wordings in self.images])
        bottom, top = self.bottom, self.top
        room = np.maximum(bottom**2 - self.bottom_variance, 0.0) / 4
        with np.errstate(divide="ignore", invalid="ignore"):
            lean = np.where(bottom > 0, np.clip(top / bottom, -1.0, 1.0), 0.0)
        own = self.variances[:, 0]
        least = ((n - 1) * own + room * (1 + lean**2) / n) / n
        variances: Float64Array = self.variances.copy()
        variances[:, 0] = np.where(np.isfinite(own), np.maximum(own, least), own)
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
        """(Σ w N - Σ l D) / Σ u D, where the stimuli are fixed.

        Args:
            top: Weights w of N, shape (stimuli,).
            bottom: Weights u of D, shape (stimuli,).
            level: Confidence level, in (0, 1).
            less: Weights l of what is subtracted, shape () or (stimuli,).
            wordings: Whether other wordings are possible, not only other images.

        Returns:
            The ratio, of shape ().
        """
        w, u = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
        weights = np.stack([w, -np.broadcast_to(np.asarray(less, np.float64), w.shape)], axis=1)
        below = np.stack([np.zeros_like(u), u], axis=1)
        sides = np.stack([TOP, BOTTOM])
        a, b = (weights @ sides).ravel(), (below @ sides).ravel()
        means, variances, dfs = self.means.ravel(), self.variances.ravel(), self.dfs.ravel()
        if wordings and self.wordings is not None:
            extra = self.wordings.components(weights, below)
            a, b = np.append(a, extra[:, 0]), np.append(b, extra[:, 1])
            means = np.append(means, np.zeros(len(extra)))
            variances = np.append(variances, np.ones(len(extra)))
            dfs = np.append(dfs, np.full(len(extra), self.wordings.df))
        return ratio(a, b, means, variances, dfs, level)

    def influence(
        self, number: int, top: float, bottom: float, *, wordings: bool = True
    ) -> Influence:
        """How each image of one stimulus moves top · N - bottom · D."""
        count = len(self.images[number])
        parts: list[tuple[float, Influence]] = []
        for one in self.images[number]:
            for side, weight in zip(SIDES, top * TOP - bottom * BOTTOM, strict=True):
                images: PromptImages = getattr(one, side)
                strata = Strata.of(images)
                deviations = strata.deviations(images.embeddings @ self.directions[number])[1]
                sizes = strata.sizes[strata.number].astype(np.float64)
                with np.errstate(divide="ignore", invalid="ignore"):
                    value = deviations / np.sqrt(sizes * (sizes - 1)) / len(strata.sizes)
                if self.wordings is not None:
                    value = np.nan_to_num(value)
                names = tuple(strata.names)
                parts.append((weight / count, Influence(names, strata.number, strata.unit, value)))
        if wordings and self.wordings is not None:
            own = self.wordings.influence(number, self.names[number], top, bottom)
            parts.append((1.0, own))
        return Influence.combined(parts)


def _covariance(variances: Float64Array) -> Float64Array:
    """Covariance of N and D of each stimulus, from its images, shape (stimuli, 2, 2)."""
    nn, nd, dd = variances @ TOP**2, variances @ (TOP * BOTTOM), variances @ BOTTOM**2
    matrices: Float64Array = np.stack([nn, nd, nd, dd], axis=-1).reshape(-1, 2, 2)
    return matrices
