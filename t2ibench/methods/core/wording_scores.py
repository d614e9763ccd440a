"""A score over several wordings: its interval where other wordings are possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.lean_scores import OverStimuli, bounded, over_stimuli
from t2ibench.methods.core.leans import BOTTOM, TOP, Leans
from t2ibench.methods.core.projections import project
from t2ibench.stats.student import fieller, satterthwaite

FEWEST = 3  # wordings; two do not show how others would differ
Groups = Sequence[tuple[str, IntArray, IntArray]]


def in_wordings(leans: Leans, numbers: Sequence[int]) -> Leans:
    """The leans in some of the wordings, along the directions of all."""
    images = [[wordings[number] for number in numbers] for wordings in leans.images]
    return Leans.along(leans.names, images, leans.directions)


@dataclass(frozen=True, slots=True)
class Cells:
    """N and D of every stimulus in every wording.

    Attributes:
        leans: The leans of each wording, along the directions of all wordings together.
        top: N, shape (stimuli, wordings).
        bottom: D, shape (stimuli, wordings).
        noise: Variance of N with the wording fixed, from its images, of the same shape; nan where
            a prompt has a single image.
        images: Variance of 2 x of a single image x without an attribute, of the same shape.
    """

    leans: list[Leans]
    top: Float64Array
    bottom: Float64Array
    noise: Float64Array
    images: Float64Array

    @classmethod
    def of(cls, leans: Leans) -> Cells:
        """Measure each wording by itself."""
        found = project(leans.images, leans.directions[:, None])
        mean, variance = (part[..., 0] for part in (found.mean, found.variance))
        own = [in_wordings(leans, [number]) for number in range(mean.shape[1])]
        counts = np.array([[len(one.neutral) for one in wordings] for wordings in leans.images])
        single = TOP[0] ** 2 * variance[..., 0] * counts
        return cls(own, mean @ TOP, mean @ BOTTOM, variance @ TOP**2, single)


def over_stimuli_and_wordings(
    top: Float64Array, bottom: Float64Array, groups: Groups, level: float
) -> OverStimuli:
    """`over_stimuli` where other wordings are possible, too.

    Stimuli j of a group and wordings t are crossed random factors. With W = N - v D at the value v
    and its mean over a group's stimuli, summed over groups, c_t, the variance of the value is

    variance over stimuli of the means over wordings / stimuli, by group (as in `over_stimuli`)
    + max(0, variance of c_t / wordings - interaction of stimulus and wording)

    The first part holds the interaction once, so it is taken from the second. The degrees of
    freedom of that are those of c_t times the square of the share that is left of it, at least 1;
    both are put together after Satterthwaite.

    Args:
        top: N, with its sign, shape (stimuli, wordings).
        bottom: D, shape (stimuli, wordings).
        groups: Name, positions and numbers of the stimuli of each group.
        level: Confidence level, in (0, 1).

    Returns:
        The ratio of the means; `over_stimuli` itself with fewer than three wordings.

    Source: Cameron, Gelbach and Miller 2011, "Robust inference with multiway clustering";
    Satterthwaite 1946.

    Examples:
        Wordings that all say the same add nothing:

        >>> n, d = np.array([3.0, 5.0, 1.0, 3.0]), np.full(4, 4.0)
        >>> two = [("X", np.arange(2), np.arange(2)), ("Y", np.arange(2, 4), np.arange(2))]
        >>> tiled = over_stimuli_and_wordings(
        ...     np.tile(n[:, None], 3), np.tile(d[:, None], 3), two, 0.95
        ... )
        >>> tiled.inference == over_stimuli(n, d, two, 0.95).inference
        True
    """
    over = over_stimuli(top.mean(axis=1), bottom.mean(axis=1), groups, level)
    count = top.shape[1]
    if count < FEWEST or not np.isfinite(over.half_width):
        return over
    both = np.stack([top, bottom])
    means = np.sum([both[:, at].mean(axis=1) for _, at, _ in groups], axis=0)
    residuals = means - means.mean(axis=1, keepdims=True)
    raw = residuals @ residuals.T / (count * (count - 1))
    extra = _positive(raw - _interaction(both, groups))
    sums = means.mean(axis=1)
    weights = np.array([1.0, -over.value])
    part, whole = float(weights @ extra @ weights), float(weights @ raw @ weights)
    if not part > 0:
        return over
    stimuli = np.sum(
        [np.cov(both[:, at].mean(axis=2)) / len(at) for _, at, _ in groups], axis=0
    )  # of the means of N and of D
    df = max((count - 1) * min(part / whole, 1.0) ** 2, 1.0)
    of_stimuli = float(weights @ stimuli @ weights)
    freedom = satterthwaite([of_stimuli, part], [len(top) - len(groups), df])[1]
    covariance = stimuli + extra
    low, high, p = fieller(float(sums[0]), float(sums[1]), covariance, freedom, level)
    moved = weights @ residuals
    scale = np.sqrt(part / float(moved @ moved)) / sums[1]
    own = Influence(
        ("wordings",), np.zeros(count, np.int64), np.arange(count), np.asarray(moved * scale)
    )
    influence = Influence.combined([(1.0, over.influence), (1.0, own)])
    half = float(stdtrit(freedom, (1 + level) / 2) * np.sqrt(covariance[0, 0]) / abs(sums[1]))
    return OverStimuli(over.value, bounded(low, high, p, freedom), influence, half)


def _interaction(both: Float64Array, groups: Groups) -> Float64Array:
    """What stimulus by wording adds to the covariance of the means over stimuli, shape (2, 2)."""
    count = both.shape[2]
    total = np.zeros((2, 2))
    for _, at, _ in groups:
        part = both[:, at]
        rest = part - part.mean(axis=2, keepdims=True) - part.mean(axis=1, keepdims=True)
        rest += part.mean(axis=(1, 2), keepdims=True)
        squares = np.einsum("ikt,jkt->ij", rest, rest)
        total += squares / ((len(at) - 1) * (count - 1) * len(at) * count)
    return total


def _positive(matrix: Float64Array) -> Float64Array:
    """The nearest covariance: without negative variances."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    nearest: Float64Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearest
