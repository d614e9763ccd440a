"""Concept probing: how near images of several anchors are to a text (Eschner et al. 2025)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray


def similarity(images: npt.NDArray[Any], texts: npt.NDArray[Any]) -> Float64Array:
    """s(I, T) = (cos(I, T) + 1) / 2 (equation 1).

    Args:
        images: Shape (n, d), unit rows.
        texts: Shape (m, d), unit rows.

    Returns:
        Shape (m, n), from 0 to 1.

    Examples:
        >>> similarity(np.eye(2), np.array([[1.0, 0.0]])).tolist()
        [[1.0, 0.5]]
    """
    cosines: Float64Array = (texts @ images.T).astype(np.float64)  # in the embeddings' precision
    similarities: Float64Array = (cosines + 1.0) / 2.0
    return similarities


def anchor_probabilities(similarities: Float64Array, labels: IntArray, k: int) -> Float64Array:
    """P(anchor | concept) with equal priors (equations 2 and 3).

    P(t | c_j) is the mean of s(I, t) over the images I of anchor j, and
    P(c_j | t) = P(t | c_j) / (sum over i of P(t | c_i)).

    Args:
        similarities: Shape (m, n).
        labels: Shape (n,), the number of each image's anchor.
        k: Number of anchors.

    Returns:
        Shape (m, k), rows of sum 1; nan where an anchor has no image.

    Examples:
        >>> anchor_probabilities(np.array([[0.9, 0.3]]), np.array([0, 1]), 2).round(2).tolist()
        [[0.75, 0.25]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.stack(
            [similarities[:, labels == j].sum(axis=1) / (labels == j).sum() for j in range(k)],
            axis=1,
        )
        probabilities: Float64Array = means / means.sum(axis=1, keepdims=True)
    return probabilities


def distance_margin(sizes: IntArray, level: float) -> float:
    """Half-width of an interval of the largest Kolmogorov-Smirnov distance between two anchors.

    Sampling moves a distance by no more than it moves the difference of the two distribution
    functions: c √(1/n_1 + 1/n_2), with c the quantile of Kolmogorov's distribution. Of more than
    two anchors, Bonferroni's correction for their pairs and the two smallest.

    Args:
        sizes: Images of each anchor, shape (k,).
        level: Confidence level, in (0, 1).

    Returns:
        The half-width; the interval is cautious.

    Examples:
        >>> round(distance_margin(np.array([50, 50]), 0.95), 3)
        0.272
    """
    k = len(sizes)
    smallest = np.sort(sizes)[:2].astype(np.float64)
    alpha = (1.0 - level) / (k * (k - 1) / 2)
    return float(np.sqrt(-np.log(alpha / 2.0) / 2.0) * np.sqrt((1.0 / smallest).sum()))
