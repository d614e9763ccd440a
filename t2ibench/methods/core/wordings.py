"""What a wording does to the leans: the variance between several ways to ask for an image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import Influence


@dataclass(frozen=True, slots=True)
class Wordings:
    """The wordings' part of the variance of N and D, each a mean over wordings.

    A wording moves the images of every stimulus in its own way, and perhaps all of them in a
    common one.

    Attributes:
        own: Covariance of N and D that the wordings add to that of the images, for one stimulus,
            shape (2, 2).
        common: The part of it that all stimuli have in common, shape (2, 2).
        df: Degrees of freedom of `own`.
        totals: Variance of N and of D of each stimulus, images and wordings together, shape
            (2, stimuli); their mean is the analysis of variance's.
        f_test: Degrees of freedom of the F test of all N; fewer than there are stimuli where the
            wordings move them together.
        residuals: N and D of each wording less their mean, shape (2, stimuli, wordings).
    """

    own: Float64Array
    common: Float64Array
    df: float
    totals: Float64Array
    f_test: tuple[float, float]
    residuals: Float64Array

    @classmethod
    def of(cls, top: Float64Array, bottom: Float64Array, images: Float64Array) -> Wordings:
        """Analyse the variance between wordings.

        Args:
            top: N of each stimulus and wording, shape (stimuli, wordings).
            bottom: D, of the same shape.
            images: Covariance of each stimulus's mean N and D with the wordings fixed, shape
                (stimuli, 2, 2).

        Returns:
            The variances, each no less than 0.
        """
        values = np.stack([top, bottom])
        residuals = values - values.mean(axis=2, keepdims=True)
        k, count = top.shape
        between = np.einsum("ikt,jkt->ij", residuals, residuals) / (k * (count - 1) * count)
        shifts = residuals.mean(axis=1)  # of all stimuli together
        together = shifts @ shifts.T / (count - 1) / count
        apart = residuals - shifts[:, None]
        alone = np.einsum("ikt,jkt->ij", apart, apart) / ((k - 1) * (count - 1) * count)
        common = _positive(together - alone / k)
        own = _positive(between - images.mean(axis=0))
        shared = min(float(common[0, 0]), float(between[0, 0]))
        squares = k * between[0, 0] ** 2 + k * (k - 1) * shared**2
        h = float((k * between[0, 0]) ** 2 / squares) if squares > 0 else float(k)
        h2 = h * (count - 1)
        share = float(own[0, 0] / between[0, 0]) if between[0, 0] > 0 else 1.0
        diagonal = np.stack([images[:, 0, 0], images[:, 1, 1]])
        raw = np.maximum(diagonal + np.diag(between - images.mean(axis=0))[:, None], 0.0)
        sums = raw.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            totals = np.where(sums > 0, raw / sums, 1 / k) * k * np.diag(between)[:, None]
        return cls(
            own,
            _within(common, own),
            max(h2 * min(share, 1.0) ** 2, 1.0),
            totals,
            (h, h2),
            residuals,
        )

    def components(self, top: Float64Array, bottom: Float64Array) -> Float64Array:
        """Two independent parts of what the wordings add to two sums over stimuli.

        Args:
            top: Weights of each stimulus's N and D in the first sum, shape (stimuli, 2).
            bottom: In the second.

        Returns:
            Coefficients of the parts, of unit variance, in both sums, shape (2, 2).
        """
        both = np.stack([top, bottom])
        sums = both.sum(axis=1)
        matrix = np.einsum("aki,ij,bkj->ab", both, self.own - self.common, both)
        matrix += sums @ self.common @ sums.T
        values, vectors = np.linalg.eigh(matrix)
        coefficients: Float64Array = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return coefficients

    def influence(self, number: int, name: str, top: float, bottom: float) -> Influence:
        """How each wording moves top · N - bottom · D of one stimulus."""
        weights = np.array([top, -bottom])
        variance = float(weights @ self.own @ weights)
        moved = weights @ self.residuals[:, number]
        squares = float(moved @ moved)
        count = len(moved)
        value = moved * np.sqrt(variance / squares) if squares > 0 else np.zeros(count)
        return Influence(
            (f"wordings of {name}",), np.zeros(count, np.int64), np.arange(count), value
        )


def _positive(matrix: Float64Array) -> Float64Array:
    """The nearest covariance: without negative variances."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    nearest: Float64Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearest


def _within(part: Float64Array, whole: Float64Array) -> Float64Array:
    """A part of a covariance, made no larger than the whole."""
    limits = np.sqrt(
        np.minimum(np.diag(whole) / np.maximum(np.diag(part), np.finfo(float).tiny), 1.0)
    )
    limited: Float64Array = part * np.outer(limits, limits)
    return limited
