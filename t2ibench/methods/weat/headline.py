"""The headline of a WEAT: Cliff's delta, tested as if related words were correlated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import HeadlineInference, Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.word_sets import WordSets, associations_of_targets
from t2ibench.settings import Settings
from t2ibench.stats import p_value
from t2ibench.stats.error_rate import error_rate
from t2ibench.stats.moments import placements
from t2ibench.stats.relatedness import related_dominance
from t2ibench.stats.rounding import settled

# Draws of the null.
_MOST_DRAWS = 10_000
# Where an end lies that must not contain 0.
_BESIDE_ZERO = 1e-3


def dominance(task: WeatTask, sets: WordSets, settings: Settings) -> Estimate:
    """Return Cliff's delta of the two target sets, with a test that allows for related words."""
    noise_of_x = sets["X"].noise
    noise_of_y = sets["Y"].noise
    assert noise_of_x is not None and noise_of_y is not None
    s_x, s_y = (settled(values) for values in associations_of_targets(sets))
    tested = related_dominance(
        s_x,
        s_y,
        noise_of_x,
        noise_of_y,
        alternative=task.alternative,
        level=settings.level,
        n_draws=min(_MOST_DRAWS, settings.n_permutations),
        rng=settings.rng(task.id, "related words"),
    )
    n = len(s_x)
    m = len(s_y)
    # Related words vary more than the placements of n and m independent ones do.
    factor = float(np.sqrt(tested.null.var() * 3 * n * m / (n + m + 1)))
    influences = [
        (factor, Influence.of_mean(words.stratum, words.numbers, placed))
        for words, placed in zip(
            (sets["X"], sets["Y"]), placements(s_x, s_y), strict=True
        )
    ]
    return Estimate(
        tested.value,
        null=tested.null,
        p=tested.p,
        test="monte_carlo",
        alternative=task.alternative,
        interval=tested.interval,
        influence=Influence.combined(influences),
    )


def headline_of_delta(delta: Estimate, level: float) -> HeadlineEstimate:
    """Return Cliff's delta as the headline, with its fair band from the null draws."""
    assert delta.value is not None and delta.influence is not None
    assert delta.null is not None and delta.interval is not None
    tail = 100 * (1.0 - level) / 2
    fair_low, fair_high = np.percentile(delta.null, [tail, 100 - tail]).tolist()
    low, high = delta.interval
    return HeadlineEstimate(
        value=delta.value,
        scale="lean",
        inference=HeadlineInference(
            by_question={"prompt_population": Inference(low, high, delta.p)},
            question="prompt_population",
            fair=(fair_low, fair_high),
            test="monte_carlo",
        ),
        parts=(Part("", delta.value, delta.influence),),
    )


def delta_over_encoders(
    deltas: Sequence[Estimate], mean: Estimate, task: WeatTask, level: float
) -> Estimate:
    """Return Cliff's delta averaged over encoders, as if these erred together.

    The draws of all encoders are sorted before they are averaged, and the ends of their intervals
    are averaged: what holds where encoders err together, which is cautious where they do not.

    Args:
        deltas: One of each encoder, with its null.
        mean: Their mean, with the influence of the words.
        task: The task.
        level: Confidence level, in (0, 1).
    """
    assert mean.value is not None
    null = np.mean([np.sort(np.asarray(delta.null)) for delta in deltas], axis=0)
    intervals = [delta.interval for delta in deltas if delta.interval]
    low, high = np.mean(intervals, axis=0).tolist()
    p = p_value(null, mean.value, task.alternative, exact=False)
    # Test and interval agree about 0.
    two_sided = p_value(null, mean.value, "two-sided", exact=False)
    if two_sided >= error_rate(level):
        low = min(low, 0.0)
        high = max(high, 0.0)
    elif mean.value > 0:
        low = max(low, _BESIDE_ZERO)
    else:
        high = min(high, -_BESIDE_ZERO)
    return replace(mean, null=null, p=p, test="monte_carlo", interval=(low, high))
