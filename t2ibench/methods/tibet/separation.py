"""How well answers distinguish the counterfactuals, without which shares mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.tibet.mixture import ROUNDING, contrast_basis, gram_matrix
from t2ibench.stats.rounding import settled

# The least ratio from which counterfactuals count as distinguished. A squared distance of d
# standard errors of the distance itself is about d / 2 of its own: four of them, as for the other
# families' directions.
GATE = 2.0


@dataclass(frozen=True, slots=True)
class Separation:
    """The measure of how well the counterfactuals' images can be distinguished.

    Attributes:
        ratio: The least squared distance between them over its standard error.
        pair: The numbers of the two nearest counterfactuals; None where every two differ, but one
            is like a mixture of the others.
    """

    ratio: float
    pair: tuple[int, int] | None


def separation(changed: Sequence[Float64Array]) -> Separation:
    """Return how well counterfactuals differ: the least squared distance, in standard errors.

    The squared distance |sum over k of a_k m_k|² of every pair, and of the contrast a in which the
    counterfactuals differ least, is unbiased; its standard error is at least what it would be if
    one more image of each counterfactual were as like the other counterfactuals as its own: two
    sets of three equal answers are not yet two kinds of image. The ratio of two sets of g images
    that differ in every image is g / 2.

    Examples:
        >>> men, women = np.array([[1.0, 0.0]] * 10), np.array([[0.0, 1.0]] * 10)
        >>> round(separation([men, women]).ratio, 6)
        5.0
    """
    k = len(changed)
    means = np.stack([features.mean(axis=0) for features in changed])
    gram = gram_matrix(changed, means)
    pairs = list(combinations(range(k), 2))
    identity = np.eye(k)
    contrasts = [
        (identity[first] - identity[second]) / np.sqrt(2) for first, second in pairs
    ]
    if k > 2:
        contrasts.append(_weakest_contrast(gram))
    ratios = settled([_ratio(contrast, changed, means, gram) for contrast in contrasts])
    weakest = int(np.argmin(ratios))
    return Separation(
        ratio=float(ratios[weakest]),
        pair=pairs[weakest] if weakest < len(pairs) else None,
    )


def _weakest_contrast(gram: Float64Array) -> Float64Array:
    """Return the contrast of counterfactuals in which these differ least, shape (k,)."""
    k = len(gram)
    basis = contrast_basis(k)
    # Answers give equal eigenvalues; among them every processor has to choose alike.
    tie_break = np.diag(np.arange(1.0, k)) * ROUNDING * np.abs(gram).max()
    eigenvectors = np.linalg.eigh(basis.T @ gram @ basis + tie_break)[1]
    contrast: Float64Array = basis @ eigenvectors[:, 0]
    return contrast


def _ratio(
    contrast: Float64Array,
    changed: Sequence[Float64Array],
    means: Float64Array,
    gram: Float64Array,
) -> float:
    """Return a contrast's squared length over its standard error."""
    squared_length = float(contrast @ gram @ contrast)
    if not squared_length > ROUNDING * np.abs(gram).max():
        return -np.inf
    direction = contrast @ means
    positions = means @ direction
    involved = contrast != 0
    variance = 0.0
    for number in np.flatnonzero(involved).tolist():
        n_images = len(changed[number])
        within = float((changed[number] @ direction).var(ddof=1))
        between = float(((positions[involved] - positions[number]) ** 2).mean())
        with_one_more = ((n_images - 1) * within + between) / n_images
        image_variance = max(within, with_one_more)
        variance += 4.0 * float(contrast[number]) ** 2 * image_variance / n_images
    return squared_length / float(np.sqrt(variance))
