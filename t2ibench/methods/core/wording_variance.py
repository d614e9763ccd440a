"""The variance of leans that comes from the choice of wordings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import Influence


@dataclass(frozen=True, slots=True)
class WordingVariance:
    """What the choice of wordings adds to the variance of leans' numerators and distances.

    They are N and D, each a mean over wordings.

    A wording moves the images of every stimulus in its own way, and perhaps all of them in a
    common one. With x the N and D of stimulus k of K in wording t of T,

        x_kt = μ_k + c_t + s_kt + e_kt

    where c is common to all stimuli, s is a stimulus's own, and e comes from the images. Let C, S
    and E be what each adds to the covariance of a mean over T wordings. Then

        B, between the wordings of a stimulus                      is C + S + E on average,
        M, between the wordings' means over all stimuli            is C + (S + E) / K,
        A, between wordings without their means over all stimuli   is S + E,

    so C is estimated by M - A / K, and W = C + S, all that the wordings add, by B - E.

    Attributes:
        added: W, for one stimulus, shape (2, 2).
        common: C, shape (2, 2); at most W.
        df: Degrees of freedom of W.
        totals: Variance of N and of D of each stimulus, images and wordings together, shape
            (2, stimuli); their mean over stimuli is B's.
        f_test: Degrees of freedom of the F test of all N; the first is below the number of stimuli
            where the wordings move them together.
        residuals: N and D of each wording less their mean, shape (2, stimuli, wordings).
    """

    added: Float64Array
    common: Float64Array
    df: float
    totals: Float64Array
    f_test: tuple[float, float]
    residuals: Float64Array

    @classmethod
    def of(
        cls, top: Float64Array, bottom: Float64Array, images: Float64Array
    ) -> WordingVariance:
        """Estimate what wordings add to the variance of leans, by analysis of variance.

        Args:
            top: N of each stimulus in each wording, shape (stimuli, wordings).
            bottom: D, the same shape.
            images: Covariance of each stimulus's mean N and D with the wordings fixed, shape
                (stimuli, 2, 2); its mean is E.
        """
        values = np.stack([top, bottom])
        residuals = values - values.mean(axis=2, keepdims=True)
        n_stimuli, n_wordings = top.shape
        between = _summed_products(residuals) / (
            n_stimuli * (n_wordings - 1) * n_wordings
        )
        of_all = residuals.mean(axis=1)
        between_means = of_all @ of_all.T / (n_wordings - 1) / n_wordings
        interaction = _summed_products(residuals - of_all[:, None]) / (
            (n_stimuli - 1) * (n_wordings - 1) * n_wordings
        )
        common = nearest_covariance(between_means - interaction / n_stimuli)
        excess = between - images.mean(axis=0)
        added = nearest_covariance(excess)
        f_test = _degrees_of_f_test(between, common, n_stimuli, n_wordings)
        share = 1.0
        if between[0, 0] > 0:
            share = min(float(added[0, 0] / between[0, 0]), 1.0)
        return cls(
            added=added,
            common=_limited(common, added),
            df=max(f_test[1] * share**2, 1.0),
            totals=_totals(images, between, excess),
            f_test=f_test,
            residuals=residuals,
        )

    def components(self, top: Float64Array, bottom: Float64Array) -> Float64Array:
        """Return two independent parts of what the wordings add to two sums over stimuli.

        Args:
            top: The first sum, as weights of each stimulus's N and D, shape (stimuli, 2).
            bottom: The second sum, the same shape.

        Returns:
            The parts' coefficients, of unit variance, in both sums, shape (2, 2).
        """
        both = np.stack([top, bottom])
        sums = both.sum(axis=1)
        of_stimuli = self.added - self.common
        matrix = np.einsum("aki,ij,bkj->ab", both, of_stimuli, both)
        matrix += sums @ self.common @ sums.T
        values, vectors = np.linalg.eigh(matrix)
        coefficients: Float64Array = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return coefficients

    def append_components(
        self, parts: Float64Array, *arrays: Float64Array
    ) -> list[Float64Array]:
        """Return the arguments of `ratio` with the two components of wordings appended.

        Args:
            parts: Coefficients of the components, as `components` returns them.
            arrays: Coefficients of numerator and denominator, means, variances and degrees of
                freedom, shape (..., c) each.
        """
        shape = (*arrays[0].shape[:-1], len(parts))
        # Components have mean 0 and variance 1.
        additions: list[npt.ArrayLike] = [parts[:, 0], parts[:, 1], 0.0, 1.0, self.df]
        return [
            np.concatenate([array, np.broadcast_to(addition, shape)], axis=-1)
            for array, addition in zip(arrays, additions, strict=True)
        ]

    def influence(self, number: int, name: str, top: float, bottom: float) -> Influence:
        """Return each wording's influence on a weighted difference of a numerator and a distance.

        It is `top` times N less `bottom` times D of one stimulus.
        """
        weights = np.array([top, -bottom])
        variance = float(weights @ self.added @ weights)
        moved = weights @ self.residuals[:, number]
        squares = float(moved @ moved)
        count = len(moved)
        value = np.zeros(count)
        if squares > 0:
            value = moved * np.sqrt(variance / squares)
        strata = (stratum_of_wordings(name),)
        return Influence(strata, np.zeros(count, np.int64), np.arange(count), value)


def stratum_of_wordings(stimulus: str) -> str:
    """Return the name of the stratum whose units are a stimulus's wordings."""
    return f"wordings of {stimulus}"


def nearest_covariance(matrix: Float64Array) -> Float64Array:
    """Return the covariance matrix nearest to a matrix that may have negative variances."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    nearest: Float64Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearest


def _summed_products(residuals: Float64Array) -> Float64Array:
    """Return the products of residuals, summed over stimuli and wordings, shape (2, 2)."""
    products: Float64Array = np.einsum("ikt,jkt->ij", residuals, residuals)
    return products


def _degrees_of_f_test(
    between: Float64Array, common: Float64Array, n_stimuli: int, n_wordings: int
) -> tuple[float, float]:
    """Return both degrees of freedom of the F test of all stimuli's numerators N.

    Of the covariance S of all N, with B on its diagonal and C beside it: h = (tr S)² / tr(S²), and
    (T - 1) h.
    """
    shared = min(float(common[0, 0]), float(between[0, 0]))
    trace = n_stimuli * between[0, 0]
    pairs = n_stimuli * (n_stimuli - 1)
    trace_of_square = n_stimuli * between[0, 0] ** 2 + pairs * shared**2
    h = float(n_stimuli)
    if trace_of_square > 0:
        h = float(trace**2 / trace_of_square)
    return h, h * (n_wordings - 1)


def _totals(
    images: Float64Array, between: Float64Array, excess: Float64Array
) -> Float64Array:
    """Return the variance of each stimulus's numerator and distance, with images and wordings."""
    n_stimuli = len(images)
    of_images = np.stack([images[:, 0, 0], images[:, 1, 1]])
    unscaled = np.maximum(of_images + np.diag(excess)[:, None], 0.0)
    sums = unscaled.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(sums > 0, unscaled / sums, 1 / n_stimuli)
    totals: Float64Array = shares * n_stimuli * np.diag(between)[:, None]
    return totals


def _limited(part: Float64Array, whole: Float64Array) -> Float64Array:
    """Return a part of a covariance, with variances no larger than those of `whole`."""
    variances = np.maximum(np.diag(part), np.finfo(float).tiny)
    limits = np.sqrt(np.minimum(np.diag(whole) / variances, 1.0))
    limited: Float64Array = part * np.outer(limits, limits)
    return limited
