"""The headline of a ViBEx task: how much further concepts lean than reference words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import chdtr

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import HeadlineInference, Inference, Question
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.squared_effects import SquaredEffects, pooled_effects
from t2ibench.settings import Settings
from t2ibench.stats.excess import HIGH_END, excess, typical_square
from t2ibench.stats.relatedness import related_draws
from t2ibench.stats.rounding import settled
from t2ibench.stats.student import fieller

# Random sets of reference words.
_MOST_SETS = 20_000
# A mean square that counts as none.
_NO_SQUARE = 1e-30
ALIKE = "the pictures do not differ beyond what the prompts say, so concepts cannot lean on it"


def headline_of_encoders(
    encoders: Sequence[SquaredEffects], task: VibexTask, settings: Settings
) -> HeadlineEstimate:
    """Return the excess of a task's concepts over reference words, averaged over encoders."""
    rng = settings.rng(task.id, "sets of reference words")
    n_sets = min(_MOST_SETS, settings.n_permutations)
    return excess_headline(encoders, settings.level, rng, n_sets)


def excess_headline(
    encoders: Sequence[SquaredEffects],
    level: float,
    rng: np.random.Generator,
    n_draws: int,
) -> HeadlineEstimate:
    """Return the headline: how far concepts' squared effects exceed reference words'.

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

    Args:
        encoders: The squared effects as each encoder sees them.
        level: Confidence level, in (0, 1).
        rng: Random numbers for the sets of words.
        n_draws: Number of sets.
    """
    variances = [
        part.concept_influence.variance + part.reference_influence.variance
        for part in encoders
    ]
    if not np.isfinite(variances).all():
        return HeadlineEstimate.undefined(
            "an anchor has fewer than three images", "excess"
        )
    totals = [float(part.concepts.mean() + part.reference.mean()) for part in encoders]
    if min(totals) <= 0:
        return HeadlineEstimate.undefined(ALIKE, "excess")
    pooled = pooled_effects(encoders, totals)
    images_alone = _fixed_prompts(pooled, level)
    if images_alone.ci_low is None:
        return _undecided_headline(images_alone)
    ratios, typical = _random_sets(pooled, rng, n_draws)
    effects = pooled.in_units_of(typical)
    fixed_prompts = replace(_fixed_prompts(effects, level), p=None)
    prompt_population, fair = _prompt_population(effects, ratios / typical, level)
    value = _unbiased_excess(effects, fixed_prompts)
    return HeadlineEstimate(
        value=value,
        scale="excess",
        inference=HeadlineInference(
            by_question={
                "fixed_prompts": fixed_prompts,
                "prompt_population": prompt_population,
            },
            question="prompt_population",
            fair=fair,
            test="rank",
        ),
        parts=(Part("", value, _influence_on_excess(effects)),),
    )


def _undecided_headline(fixed_prompts: Inference) -> HeadlineEstimate:
    """Return the headline without a value, as perhaps neither concepts nor references lean."""
    inference: dict[Question, Inference] = {"fixed_prompts": fixed_prompts}
    return replace(
        HeadlineEstimate.undefined(ALIKE, "excess"),
        inference=HeadlineInference(
            by_question=inference, question="prompt_population", test="rank"
        ),
    )


def _unbiased_excess(effects: SquaredEffects, fixed_prompts: Inference) -> float:
    """Return the excess of concepts over reference words, corrected for noise of images.

    It is (V - W) / (V + W) less its bias from images that vary, which is of second
    order: 2 (V var W - W var V + (V - W) cov(V, W)) / (V + W)³.
    """
    v = max(effects.concept_mean, 0.0)
    w = max(effects.reference_mean, 0.0)
    on_v = effects.concept_influence
    on_w = effects.reference_influence
    covariance = on_v.covariance(on_w)
    curvature = v * on_w.variance - w * on_v.variance + (v - w) * covariance
    bias = 2.0 * curvature / (v + w) ** 3
    unbiased = float(excess(v, w)) - bias
    # An estimate lies in its interval.
    low, high = fixed_prompts.interval or (-1.0, 1.0)
    return float(np.clip(unbiased, low, high))


def _influence_on_excess(effects: SquaredEffects) -> Influence:
    """Return each image's influence on the excess of concepts over reference words.

    The derivatives of (V - W) / (V + W) are 2 W and -2 V over (V + W)².
    """
    v = max(effects.concept_mean, 0.0)
    w = max(effects.reference_mean, 0.0)
    slope = 2.0 / (v + w) ** 2
    return Influence.combined(
        [
            (slope * w, effects.concept_influence),
            (-slope * v, effects.reference_influence),
        ]
    )


def _fixed_prompts(effects: SquaredEffects, level: float) -> Inference:
    """Return Fieller's interval of the excess, and the p-value that it is 0.

    The excess is (V - W) / (V + W), and the test is that of V - W.
    """
    on_concepts = effects.concept_influence
    on_reference = effects.reference_influence
    difference = Influence.combined([(1.0, on_concepts), (-1.0, on_reference)])
    total = Influence.combined([(1.0, on_concepts), (1.0, on_reference)])
    covariance = [
        [difference.variance, difference.covariance(total)],
        [0.0, total.variance],
    ]
    v = effects.concept_mean
    w = effects.reference_mean
    low, high, p = fieller(v - w, v + w, covariance, difference.df, level)
    if not np.isfinite(low):
        return Inference(p=p, df=difference.df, reason=ALIKE)
    return Inference(
        ci_low=float(np.clip(low, -1, 1)),
        ci_high=float(np.clip(high, -1, 1)),
        p=p,
        df=difference.df,
    )


def _prompt_population(
    effects: SquaredEffects, ratios: Float64Array, level: float
) -> tuple[Inference, tuple[float, float]]:
    """Return the excess's interval and test from random word sets, and the fair band.

    Sets scale: if concepts' squares are f times those of a random set, V / W over f lies between
    the sets' quantiles with probability `level`.

    Args:
        effects: The squared effects, in units of what random sets have.
        ratios: V / W of random sets, ascending.
        level: Confidence level, in (0, 1).
    """
    n_draws = len(ratios)
    v = effects.concept_mean
    w = effects.reference_mean
    ratio = max(v, 0.0) / max(w, _NO_SQUARE)
    rank = np.searchsorted(settled(ratios), settled(ratio), side="left")
    n_below = int(rank)
    p_of_sets = (1 + n_draws - n_below) / (n_draws + 1)
    rank_from_top = max(1, int((1 - level) * (n_draws + 1)))
    rank_from_bottom = max(1, int((1 - level) / HIGH_END * (n_draws + 1)))
    least = float(ratios[rank_from_bottom - 1])
    most = float(ratios[-rank_from_top])
    low_of_sets = float(excess(ratio, most)) if ratio > 0 else -1.0
    high_of_sets = float(excess(ratio, least)) if least > 0 else 1.0
    # What the images' own variation allows; the lower end is one-sided, as the test is.
    images = _fixed_prompts(effects, level)
    one_sided = _fixed_prompts(effects, 2 * level - 1)
    low_of_images = -1.0 if one_sided.ci_low is None else one_sided.ci_low
    high_of_images = images.ci_high or 0.0
    tail = 0.5 * (images.p or 1.0)
    p_of_images = tail if v > w else 1.0 - tail
    inference = Inference(
        ci_low=min(low_of_sets, low_of_images),
        ci_high=max(high_of_sets, high_of_images),
        p=max(p_of_sets, p_of_images),
    )
    return inference, (-1.0, float(excess(most, 1.0)))


def _random_sets(
    effects: SquaredEffects, rng: np.random.Generator, n_draws: int
) -> tuple[Float64Array, float]:
    """Return random word sets' mean squares over other words', ascending, and the typical one.

    The place of a word among all is that of a squared normal vector among its distribution; the
    vectors of a set correlate as the concepts' effects do.
    """
    words = np.sort(np.concatenate([effects.concepts, effects.reference]))
    n_concepts = len(effects.concepts)
    n_reference = len(effects.reference)
    k = effects.dimensions
    vectors = np.stack([related_draws(effects.related, n_draws, rng) for _ in range(k)])
    squared_lengths = (vectors**2).sum(axis=0)
    quantiles = chdtr(k, squared_lengths)
    places = (quantiles * len(words)).astype(np.int64)
    drawn_words = words[np.minimum(places, len(words) - 1)]
    set_means = drawn_words.mean(axis=1)
    sums_of_others = words.sum() - n_concepts * set_means
    other_means = np.maximum(sums_of_others / n_reference, _NO_SQUARE)
    ratios = np.sort(np.maximum(set_means, 0.0) / other_means)
    mean_squares = squared_lengths.mean(axis=1) / k
    return ratios, typical_square(mean_squares)
