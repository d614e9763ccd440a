"""The headline of a WEAT: Cliff's delta between target words, with the exact test's p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.averages import average_results
from t2ibench.methods.core.estimate import Estimate, MethodResult
from t2ibench.methods.core.headline import Headline, Inference, Part
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.words import WordSet
from t2ibench.settings import Settings
from t2ibench.stats import p_value
from t2ibench.stats.dominance import delta_interval, placements
from t2ibench.stats.permutation import PermutationResult


def delta_influence(x: WordSet, y: WordSet, s_x: Float64Array, s_y: Float64Array) -> Influence:
    """The influence of words on Cliff's delta, near-duplicates counted as one word.

    Args:
        x: The words of X.
        y: The words of Y.
        s_x: Association of each cluster of X, shape (clusters of X,).
        s_y: The same for Y.

    Returns:
        That of the mean placement of X and of Y, whose variances add up.
    """
    of_x, of_y = placements(s_x, s_y)
    return Influence.combined(
        [
            (1.0, Influence.of_mean(x.stratum, x.cluster_numbers(), of_x)),
            (1.0, Influence.of_mean(y.stratum, y.cluster_numbers(), of_y)),
        ]
    )


def delta_estimate(
    test: PermutationResult, influence: Influence, alternative: str, level: float
) -> Estimate:
    """Cliff's delta with its permutation test."""
    delta = Estimate.from_permutation(test, None, alternative)
    return _with_interval(replace(delta, influence=influence), level)


def _with_interval(delta: Estimate, level: float) -> Estimate:
    influence, null = delta.influence, delta.null
    assert influence is not None and null is not None
    if delta.value is None or not np.isfinite(influence.variance):
        return replace(delta, interval=None)
    n, m = np.bincount(influence.stratum, minlength=2).tolist()
    p = p_value(null, delta.value, "two-sided", exact=delta.test == "exact")
    interval = delta_interval(
        delta.value, influence.variance, n, m, level=level, rejected=p <= 1.0 - level
    )
    return replace(delta, interval=interval)


def headline_of(delta: Estimate, level: float) -> Headline:
    """The headline from Cliff's delta."""
    assert delta.value is not None and delta.influence is not None and delta.null is not None
    low, high = delta.interval or (None, None)
    reason = None if delta.interval else "a set has a single word that differs from the others"
    tail = 100 * (1.0 - level) / 2
    fair = np.percentile(delta.null, [tail, 100 - tail])
    parts = (Part("", delta.value, delta.influence),) if delta.interval else ()
    return Headline(
        delta.value,
        "lean",
        "like_these",
        {"like_these": Inference(low, high, delta.p, reason=reason)},
        (float(fair[0]), float(fair[1])),
        parts,
        "exact" if delta.test == "exact" else "monte_carlo",
    )


def combine(task: WeatTask, results: Sequence[MethodResult], settings: Settings) -> MethodResult:
    """The mean of every score over encoders.

    Where all encoders know the same words and find the same near-duplicates, delta is tested by
    the same partitions of words in all of them, so that their mean has an exact test too.
    """
    mean = average_results(results, settings.level)
    deltas = [result.scores.get("cliffs_delta") for result in results]
    alike = all(result.details == results[0].details for result in results)
    if len(results) == 1 or mean.headline.value is None:
        return mean
    nulls = [delta.null for delta in deltas if delta is not None and delta.null is not None]
    if not alike or len({null.shape for null in nulls}) != 1:
        # The encoders were tested by other partitions, so only Student's t is left.
        return replace(mean, headline=replace(mean.headline, test="t"))
    first, averaged = results[0].scores["cliffs_delta"], mean.scores["cliffs_delta"]
    null = np.mean(nulls, axis=0)
    assert averaged.value is not None
    p = p_value(null, averaged.value, task.alternative, exact=first.test == "exact")
    delta = _with_interval(replace(averaged, null=null, p=p, test=first.test), settings.level)
    return replace(
        mean,
        headline=headline_of(delta, settings.level),
        scores={**mean.scores, "cliffs_delta": delta},
    )
