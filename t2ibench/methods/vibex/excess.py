"""The headline: how much further concepts lean than reference words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtr

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.headline import Headline, Inference, Part, Question
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.reference import Nearness, squares, squares_without_each
from t2ibench.stats.excess import HIGH_END, excess, typical_square
from t2ibench.stats.relatedness import (
    Relatedness,
    positive_definite,
    related_draws,
    relatedness_across,
)
from t2ibench.stats.rounding import settled
from t2ibench.stats.student import fieller

_NOTHING = 1e-30  # of a mean square that is none
ALIKE = "the pictures do not differ beyond what the prompts say, so concepts cannot lean on it"


@dataclass(frozen=True, slots=True)
class Squares:
    """Squared effects of m concepts and r reference words, unbiased, as one encoder sees them."""

    concepts: Float64Array
    reference: Float64Array
    on_concepts: Influence  # how each image moves the concepts' mean
    on_reference: Influence  # how each image moves the reference's mean
    related: Float64Array  # how the concepts' effects correlate, shape (m, m)
    dimensions: int  # in which the anchors can differ: one less than there are

    @classmethod
    def of(
        cls,
        found: Nearness,
        related: Float64Array,
        strata: Sequence[str],
        units: IntArray,
    ) -> Squares:
        """From the images beside m concepts and, after them, the reference, by the jackknife."""
        m, values = len(related), squares(found)
        without = squares_without_each(found, (slice(0, m), slice(m, None)))
        concepts, others = (
            Influence.of_jackknife(strata, found.labels, units, estimates)
            for estimates in without
        )
        return cls(values[:m], values[m:], concepts, others, related, found.k - 1)


def related_concepts(
    found: Nearness, texts: Float64Array, reference: Float64Array
) -> Float64Array:
    """How m concepts' effects correlate, as everyday words of these cosines do, (m, m)."""
    means = found.means - found.means.mean(axis=0)
    curve = Relatedness.learnt(reference, means[:, len(texts) :].T)
    if curve is None:
        nowhere = np.zeros(texts.shape[1])
        return positive_definite(
            relatedness_across(texts - reference.mean(axis=0), nowhere)
        )
    return positive_definite(curve.of(texts))


def excess_headline(
    parts: Sequence[Squares], level: float, rng: np.random.Generator, n_draws: int
) -> Headline:
    """The excess of concepts over reference words.

    With V the mean squared effect of the concepts and W that of the reference, the headline is
    (V / c - W) / (V / c + W). c makes it 0 on average over random sets of as many words that are
    related as the concepts are (`typical_square`): the mean of few squares is below its
    expectation more often than above. Several encoders' squares are averaged, each in units of its
    own V + W.

    Concepts like these: one-sided, whether V is above the mean squares of such sets, and the
    interval of the factor by which concepts' squares exceed a set; what the images' own variation
    allows is included, so both tests have to reject. Its lower end is above 0 where p < 1 - level.
    These concepts: the interval by Fieller's set. It has no test: what these very words read
    where a model is fair is the encoder's, and not known.
    """
    if not all(
        np.isfinite(p.on_concepts.variance + p.on_reference.variance) for p in parts
    ):
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
        np.mean([part.related for part in parts], axis=0),
        parts[0].dimensions,
    )
    images = _fixed_prompts(pooled, level)
    if images.ci_low is None:
        undefined = Headline.undefined(ALIKE, "excess")
        inference: dict[Question, Inference] = {"fixed_prompts": images}
        return replace(
            undefined, question="prompt_population", inference=inference, test="rank"
        )
    ratios, typical = _random_sets(pooled, rng, n_draws)
    pooled = replace(
        pooled,
        concepts=pooled.concepts / typical,
        on_concepts=pooled.on_concepts.scaled(1.0 / typical),
    )
    fixed_prompts = replace(_fixed_prompts(pooled, level), p=None)
    prompt_population, fair = _prompt_population(pooled, ratios / typical, level)
    v, w = (
        max(float(pooled.concepts.mean()), 0.0),
        max(float(pooled.reference.mean()), 0.0),
    )
    of_v, of_w = pooled.on_concepts, pooled.on_reference
    # The bias of a ratio whose parts vary with the images, to second order.
    bent = v * of_w.variance - w * of_v.variance + (v - w) * of_v.covariance(of_w)
    # An estimate lies in its interval.
    low, high = fixed_prompts.interval or (-1.0, 1.0)
    value = float(np.clip(float(excess(v, w)) - 2.0 * bent / (v + w) ** 3, low, high))
    slope = 2.0 / (v + w) ** 2
    influence = Influence.combined([(slope * w, of_v), (-slope * v, of_w)])
    return Headline(
        value,
        "excess",
        "prompt_population",
        {"fixed_prompts": fixed_prompts, "prompt_population": prompt_population},
        fair,
        (Part("", value, influence),),
        "rank",
    )


def _fixed_prompts(pooled: Squares, level: float) -> Inference:
    """Fieller's set of (V - W) / (V + W), and the test that V - W is 0."""
    top = Influence.combined([(1.0, pooled.on_concepts), (-1.0, pooled.on_reference)])
    bottom = Influence.combined([(1.0, pooled.on_concepts), (1.0, pooled.on_reference)])
    v, w = float(pooled.concepts.mean()), float(pooled.reference.mean())
    covariance = [[top.variance, top.covariance(bottom)], [0.0, bottom.variance]]
    low, high, p = fieller(v - w, v + w, covariance, top.df, level)
    if not np.isfinite(low):
        return Inference(p=p, df=top.df, reason=ALIKE)
    return Inference(float(np.clip(low, -1, 1)), float(np.clip(high, -1, 1)), p, top.df)


def _prompt_population(
    pooled: Squares, ratios: Float64Array, level: float
) -> tuple[Inference, tuple[float, float]]:
    """Concepts among random sets of words; the inference and the band of such sets.

    Sets scale: if concepts' squares are f times those of a random set, V / W over f lies between
    the sets' quantiles (of `ratios`, ascending) with probability `level`.
    """
    n_draws = len(ratios)
    v, w = float(pooled.concepts.mean()), float(pooled.reference.mean())
    ratio = max(v, 0.0) / max(w, _NOTHING)
    beyond = n_draws - int(
        np.searchsorted(settled(ratios), settled(ratio), side="left")
    )
    p = (1 + beyond) / (n_draws + 1)
    upper = max(1, int((1 - level) * (n_draws + 1)))
    lower = max(1, int((1 - level) / HIGH_END * (n_draws + 1)))
    least, most = float(ratios[lower - 1]), float(ratios[-upper])
    low = float(excess(ratio, most)) if ratio > 0 else -1.0
    high = float(excess(ratio, least)) if least > 0 else 1.0
    images = _fixed_prompts(pooled, level)
    one_sided = _fixed_prompts(pooled, 2 * level - 1)
    ends = (
        -1.0 if one_sided.ci_low is None else one_sided.ci_low,
        images.ci_high or 0.0,
    )
    tail = 0.5 * (images.p or 1.0)
    p_images = tail if v > w else 1.0 - tail
    inference = Inference(min(low, ends[0]), max(high, ends[1]), max(p, p_images))
    return inference, (-1.0, float(excess(most, 1.0)))


def _random_sets(
    pooled: Squares, rng: np.random.Generator, n_draws: int
) -> tuple[Float64Array, float]:
    """V / W of random sets of related words, ascending, and c for normal effects.

    The place of a word among all is that of a squared normal vector among its distribution; the
    vectors of a set correlate as the concepts' effects do.
    """
    words = np.sort(np.concatenate([pooled.concepts, pooled.reference]))
    m, r, k = len(pooled.concepts), len(pooled.reference), pooled.dimensions
    vectors = np.stack([related_draws(pooled.related, n_draws, rng) for _ in range(k)])
    drawn = (vectors**2).sum(axis=0)
    places = (chdtr(k, drawn) * len(words)).astype(np.int64)
    chosen = words[np.minimum(places, len(words) - 1)].mean(axis=1)
    others = np.maximum((words.sum() - m * chosen) / r, _NOTHING)
    return np.sort(np.maximum(chosen, 0.0) / others), typical_square(
        drawn.mean(axis=1) / k
    )
