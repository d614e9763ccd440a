"""Concept probing, and the conclusion from its two queries (Eschner et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray


def similarity(images: npt.NDArray[Any], texts: npt.NDArray[Any]) -> Float64Array:
    """Return the similarity of each of m texts to each of n images, from 0 to 1, shape (m, n).

    s(I, T) = (cos(I, T) + 1) / 2 (equation 1).

    Examples:
        >>> similarity(np.eye(2), np.array([[1.0, 0.0]])).tolist()
        [[1.0, 0.5]]
    """
    # in the embeddings' precision
    cosines: Float64Array = (texts @ images.T).astype(np.float64)
    return (cosines + 1.0) / 2.0


def anchor_probabilities(
    similarities: Float64Array, labels: IntArray, k: int
) -> Float64Array:
    """Return the probability of each anchor given a concept (equations 2 and 3).

    P(t | c_j) is the mean of s(I, t) over the images I of anchor j, and
    P(c_j | t) = P(t | c_j) / (sum over i of P(t | c_i)).

    Shapes: similarities (m, n), labels (n,); result (m, k), nan where an anchor has no image.

    Examples:
        >>> anchor_probabilities(np.array([[0.9, 0.3]]), np.array([0, 1]), 2).round(2).tolist()
        [[0.75, 0.25]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.stack(
            [
                similarities[:, labels == j].sum(axis=1) / (labels == j).sum()
                for j in range(k)
            ],
            axis=1,
        )
        probabilities: Float64Array = means / means.sum(axis=1, keepdims=True)
    return probabilities


def distance_margin(sizes: IntArray, level: float) -> float:
    """Return half the width of the interval of a Kolmogorov-Smirnov distance between anchors.

    Sampling moves a distance by no more than it moves the difference of the two distribution
    functions: c √(1/n_1 + 1/n_2), with c the quantile of Kolmogorov's distribution. Of more than
    two anchors, Bonferroni's correction for their pairs and the two smallest.

    `sizes` are the images of each anchor; the interval is cautious.

    Examples:
        >>> round(distance_margin(np.array([50, 50]), 0.95), 3)
        0.272
    """
    k = len(sizes)
    smallest = np.sort(sizes)[:2].astype(np.float64)
    alpha = (1.0 - level) / (k * (k - 1) / 2)
    return float(np.sqrt(-np.log(alpha / 2.0) / 2.0) * np.sqrt((1.0 / smallest).sum()))


Outcome = Literal["leans", "no_lean", "inconclusive"]
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Reading:
    """The measurements of one concept, in which an anchor is given as its index."""

    # of its effect beyond the anchors' own words, adjusted for the concepts asked
    p: float
    side: int  # the anchor it is nearest then
    p_plain: float  # of its effect as it is, adjusted for the concepts asked
    plain_side: int  # the anchor it is nearest as it is
    # the anchor whose side more of its own images are on than by chance; None where there is none,
    # or no images
    drawn: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion about one concept: whether it leans, to which anchor, and why."""

    # 'leans'; 'no_lean': no further than everyday words; 'inconclusive'
    outcome: Outcome
    side: int | None  # the anchor it leans to; None without a lean
    says: str  # why, as a clause
    # whether its word and its images lean to different anchors
    contradiction: bool = False


def verdict(reading: Reading, anchors: Sequence[str]) -> Verdict:
    """Return the conclusion about one concept from what was measured.

    Examples:
        >>> verdict(Reading(0.8, 0, 0.001, 1), ["women", "men"]).says
        "the encoder places the word itself nearer 'men', and the images add nothing to that"
        >>> verdict(Reading(0.01, 1, 0.2, 1, drawn=0), ["women", "men"]).outcome
        'inconclusive'
    """
    names = [f"'{name}'" for name in anchors]
    clear, plain = reading.p < _ALPHA, reading.p_plain < _ALPHA
    drawn = (
        ""
        if reading.drawn is None
        else f"; images of it lean to {names[reading.drawn]}"
    )
    word_side = reading.side if clear else reading.plain_side if plain else None
    against = (
        reading.drawn is not None
        and word_side is not None
        and reading.drawn != word_side
    )
    if clear and plain and reading.side != reading.plain_side:
        says = (
            f"nearness as it is points to {names[reading.plain_side]}, and without the anchors' "
            f"own words to {names[reading.side]}"
        )
        return Verdict("inconclusive", None, says + drawn, against)
    if clear and against:
        says = f"its word is nearer images of {names[reading.side]}, but its own images lean to"
        return Verdict(
            "inconclusive", None, f"{says} {names[reading.drawn or 0]}", True
        )
    if clear:
        says = f"images of {names[reading.side]} are nearer to it than everyday words explain"
        return Verdict("leans", reading.side, says + drawn)
    if plain:
        says = (
            f"the encoder places the word itself nearer {names[reading.plain_side]}, and the "
            "images add nothing to that"
        )
        return Verdict("inconclusive", None, says + drawn, against)
    return Verdict("no_lean", None, f"it leans no further than everyday words{drawn}")
