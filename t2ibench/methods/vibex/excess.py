"""The headline: how much further concepts lean than reference words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.headline import Headline, Inference, Part
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.reference import Nearness, squares, squares_without_each
from t2ibench.stats.student import fieller

_HIGH_END = 10  # the lower end takes the level's whole error, the upper end a tenth of it
ALIKE = "the pictures do not differ beyond what the prompts say, so concepts cannot lean on it"


@dataclass(frozen=True, slots=True)
class Squares:
    """Squared effects of concepts and of reference words, as one encoder sees them.

    Attributes:
        concepts: Unbiased, shape (m,).
        reference: Unbiased, shape (r,).
        on_concepts: How each image moves the concepts' mean.
        on_reference: How each image moves the reference's mean.
    """

    concepts: Float64Array
    reference: Float64Array
    on_concepts: Influence
    on_reference: Influence

    @classmethod
    def of(cls, found: Nearness, m: int, strata: Sequence[str], units: IntArray) -> Squares:
        """From the images beside m concepts and, after them, the reference.

        Args:
            found: The images beside the texts.
            m: Number of concepts.
            strata: The anchors' prompts, shape (k,).
            units: The number of each image within its anchor, shape (n,).

        Returns:
            The squares with the jackknife's influences.
        """
        values = squares(found)
        without = squares_without_each(found, (slice(0, m), slice(m, None)))
        influences = [
            Influence.of_jackknife(strata, found.labels, units, estimates) for estimates in without
        ]
        return cls(values[:m], values[m:], *influences)


def excess(concepts: Float64Array | float, reference: Float64Array | float) -> Float64Array:
    """(V - W) / (V + W) of two mean squares.

    Examples:
        >>> float(excess(3.0, 1.0))
        0.5
    """
    v, w = np.maximum(concepts, 0.0), np.maximum(reference, 0.0)
    with np.errstate(invalid="ignore"):
        ratio: Float64Array = (v - w) / (v + w)
    return ratio


def excess_headline(
    parts: Sequence[Squares], level: float, rng: np.random.Generator, n_draws: int
) -> Headline:
    """The excess of concepts over reference words.

    With V the mean squared effect of the concepts and W that of the reference, the headline is
    (V - W) / (V + W). Several encoders' squares are averaged, each in units of its own V + W.

    These concepts: V - W is linear in the squares; Student's t tests that it is 0, and Fieller's
    set of (V - W) / (V + W) agrees. Concepts like these: one-sided, whether V is above the mean
    squares of random sets of as many words, and the interval of the factor by which concepts'
    squares exceed such a set; what the images' own variation allows is included, so both tests
    have to reject. Its lower end is above 0 where p < 1 - level.
    """
    if not all(np.isfinite(p.on_concepts.variance + p.on_reference.variance) for p in parts):
        return Headline.undefined("an anchor has fewer than three images", "excess")
    sums = [float(part.concepts.mean() + part.reference.mean()) for part in parts]
    if min(sums) <= 0:
        return Headline.undefined(ALIKE, "excess")
    weights = [1.0 / (len(parts) * total) for total in sums]
    pairs = list(zip(weights, parts, strict=True))
    pooled = Squares(
        np.sum([weight * part.concepts for weight, part in pairs], axis=0),
        np.sum([weight * part.reference for weight, part in pairs], axis=0),
        Influence.combined([(weight, part.on_concepts) for weight, part in pairs]),
        Influence.combined([(weight, part.on_reference) for weight, part in pairs]),
    )
    these = _these(pooled, level)
    if these.ci_low is None:
        return Headline(None, "excess", "like_these", {"these": these}, test="rank", reason=ALIKE)
    like_these, fair = _like_these(pooled, level, rng, n_draws)
    v, w = float(pooled.concepts.mean()), float(pooled.reference.mean())
    # An estimate lies in its interval.
    value = max(
        these.ci_low,
        min(
            float(excess(v, w)) - _curvature(pooled),
            1.0 if these.ci_high is None else these.ci_high,
        ),
    )
    v, w = max(v, 0.0), max(w, 0.0)
    slope = 2.0 / (v + w) ** 2
    influence = Influence.combined(
        [(slope * w, pooled.on_concepts), (-slope * v, pooled.on_reference)]
    )
    return Headline(
        value,
        "excess",
        "like_these",
        {"these": these, "like_these": like_these},
        fair,
        (Part("", value, influence),),
        "rank",
    )


def _curvature(pooled: Squares) -> float:
    """The bias of a ratio whose parts vary with the images, to second order."""
    v = max(float(pooled.concepts.mean()), 0.0)
    w = max(float(pooled.reference.mean()), 0.0)
    of_v, of_w = pooled.on_concepts, pooled.on_reference
    bent = v * of_w.variance - w * of_v.variance + (v - w) * of_v.covariance(of_w)
    return 2.0 * bent / (v + w) ** 3


def _these(pooled: Squares, level: float) -> Inference:
    """Fieller's set of (V - W) / (V + W), and the test that V - W is 0."""
    top = Influence.combined([(1.0, pooled.on_concepts), (-1.0, pooled.on_reference)])
    bottom = Influence.combined([(1.0, pooled.on_concepts), (1.0, pooled.on_reference)])
    v, w = float(pooled.concepts.mean()), float(pooled.reference.mean())
    covariance = [[top.variance, top.covariance(bottom)], [0.0, bottom.variance]]
    low, high, p = fieller(v - w, v + w, covariance, top.df, level)
    if not np.isfinite(low):
        return Inference(p=p, df=top.df, reason=ALIKE)
    return Inference(float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1)), p, top.df)


def _like_these(
    pooled: Squares, level: float, rng: np.random.Generator, n_draws: int
) -> tuple[Inference, tuple[float, float]]:
    """Concepts among random sets of words; the inference and the band of such sets.

    Sets scale: if concepts' squares are f times those of a random set, V / W over f lies between
    the sets' quantiles with probability `level`.
    """
    words = np.concatenate([pooled.concepts, pooled.reference])
    m, r = len(pooled.concepts), len(pooled.reference)
    chosen = np.sort(_set_means(words, m, n_draws, rng))
    others = np.maximum((words.sum() - m * chosen) / r, np.finfo(float).tiny)
    v, w = float(pooled.concepts.mean()), float(pooled.reference.mean())
    p = (1 + int((chosen >= v).sum())) / (n_draws + 1)
    upper = max(1, int((1 - level) * (n_draws + 1)))
    lower = max(1, int((1 - level) / _HIGH_END * (n_draws + 1)))
    ratios = np.maximum(chosen, 0.0) / others
    least, most = float(ratios[lower - 1]), float(ratios[-upper])
    ratio = max(v, 0.0) / max(w, float(np.finfo(float).tiny))
    low = float(excess(ratio, most)) if ratio > 0 else -1.0
    high = float(excess(ratio, least)) if least > 0 else 1.0
    images = _these(pooled, level)
    one_sided = _these(pooled, 2 * level - 1)
    ends = (-1.0 if one_sided.ci_low is None else one_sided.ci_low, images.ci_high or 0.0)
    tail = 0.5 * (images.p or 1.0)
    p_images = tail if v > w else 1.0 - tail
    inference = Inference(min(low, ends[0]), max(high, ends[1]), max(p, p_images))
    return inference, (-1.0, float(excess(most, 1.0)))


def _set_means(
    values: Float64Array, size: int, n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Means of random sets without replacement, shape (n_draws,)."""
    total = len(values)
    if size**2 > total:  # most draws with replacement would hold a word twice
        return np.array([values[rng.permutation(total)[:size]].mean() for _ in range(n_draws)])
    picks = rng.integers(total, size=(n_draws, size))
    while True:
        ordered = np.sort(picks, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(twice):
            means: Float64Array = values[picks].mean(axis=1)
            return means
        picks[twice] = rng.integers(total, size=(len(twice), size))
