"""Tests of whether the images exaggerate known shares, such as labour statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.schema import Reference
from t2ibench.methods.core.score_names import join_score_name
from t2ibench.methods.openbias.answers import BiasAnswers
from t2ibench.settings import Settings
from t2ibench.stats import correlation_permutation, logit_slope

# The fewest stimuli of a slope.
_FEWEST = 4


def amplification_scores(
    answers: Sequence[BiasAnswers], task_id: str, settings: Settings
) -> dict[str, Estimate]:
    """Return scores on how steeply the classes' shares in images follow known shares.

    For each bias and class with known shares there is a slope, on logits, and a rank
    correlation. Their names contain the class where a bias has several, and the bias
    where several biases have known shares.
    """
    with_reference = [
        bias_answers for bias_answers in answers if bias_answers.bias.all_references
    ]
    scores: dict[str, Estimate] = {}
    for bias_answers in with_reference:
        references = bias_answers.bias.all_references
        for number, reference in enumerate(references):
            bias_name = bias_answers.name if len(with_reference) > 1 else ""
            class_name = reference.group if len(references) > 1 else ""
            about = f"{bias_name} {class_name}".strip()
            # The draws of further classes differ from those of the first.
            draws_of = f": {reference.group}" if number else ""
            rng = settings.rng(task_id, f"correlation of {bias_answers.name}{draws_of}")
            of_class = _slope_and_correlation(bias_answers, reference, settings, rng)
            for score, estimate in of_class.items():
                scores[join_score_name(score, about)] = estimate
    return scores


def _slope_and_correlation(
    answers: BiasAnswers,
    reference: Reference,
    settings: Settings,
    rng: np.random.Generator,
) -> dict[str, Estimate]:
    """Return the slope and the rank correlation of a class's shares with its known shares.

    Where fewer than four stimuli have different known shares, the slope alone is
    returned, undefined.
    """
    by_stimulus = answers.by_stimulus
    names = [
        name
        for name, counts in by_stimulus.items()
        if name in reference.shares and counts.sum()
    ]
    known_shares = np.array([reference.shares[name] for name in names])
    if len(names) < _FEWEST or not np.ptp(known_shares) > 0:
        reason = "fewer than four stimuli have different reference shares"
        return {"amplification_slope": Estimate.undefined(reason)}
    counts = np.array([by_stimulus[name] for name in names])
    hits = counts[:, answers.bias.classes.index(reference.group)]
    totals = counts.sum(axis=1)
    correlation = correlation_permutation(
        hits / totals,
        known_shares,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=rng,
    )
    numbers = {name: number for number, name in enumerate(by_stimulus)}
    units = np.array([numbers[name] for name in names], dtype=np.int64)
    stratum = f"stimuli of {answers.name}"
    return {
        "amplification_slope": _slope(
            hits, totals, known_shares, units, stratum, settings.level
        ),
        "reference_spearman": Estimate.from_permutation(correlation, None),
    }


def _slope(
    hits: IntArray,
    totals: IntArray,
    known_shares: Float64Array,
    units: IntArray,
    stratum: str,
    level: float,
) -> Estimate:
    """Return the slope of a class's shares in images on its known shares, both as logits.

    With a slope of 1, the images mirror the known shares.

    Args:
        hits: Answers of the class about each stimulus, shape (stimuli,).
        totals: Answers about each stimulus, shape (stimuli,).
        known_shares: Known share of the class for each stimulus, shape (stimuli,).
        units: Number of each stimulus in the task, shape (stimuli,).
        stratum: Name of the stratum that the stimuli are units of.
        level: Confidence level, in (0, 1).
    """
    slope = logit_slope(hits, totals, known_shares)
    if not (np.isfinite(slope.variance) and slope.variance > 0):
        return Estimate(slope.value)
    influence = Influence(
        strata=(stratum,),
        stratum=np.zeros_like(units),
        unit=units,
        value=slope.influence,
    )
    return Estimate(
        slope.value,
        p=slope.p(0.0),
        test="t",
        interval=slope.interval(level),
        influence=influence,
    )
