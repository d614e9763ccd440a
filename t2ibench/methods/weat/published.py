"""The paper's scores: effect size, test statistic, and the effect size of each word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import standardised, standardised_draws
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.word_sets import WordSets, associations_of_targets
from t2ibench.settings import Settings
from t2ibench.stats import (
    resample_weights,
    two_sample_bootstrap,
    two_sample_permutation,
)

_STATISTICS = ("mean_difference", "union_d")
# The letter of an attribute set to the weight of each of its words in each resample, shape (draws,
# words).
Weights = Mapping[str, Float64Array]


def attribute_weights(task: WeatTask, sets: WordSets, settings: Settings) -> Weights:
    """Return the weight of each attribute word in each bootstrap resample, keyed by set."""
    weights = {}
    for side in "AB":
        words = np.arange(len(sets[side].words))
        rng = settings.rng(task.id, f"words {side}")
        weights[side] = resample_weights(words, settings.n_bootstrap, rng)
    return weights


def published_scores(
    task: WeatTask, sets: WordSets, weights: Weights, settings: Settings
) -> dict[str, Estimate]:
    """Return the paper's effect size and differential association, with draws and tests."""
    s_x, s_y = associations_of_targets(sets)
    boot = two_sample_bootstrap(
        _association_draws("X", sets, weights),
        _association_draws("Y", sets, weights),
        statistics=_STATISTICS,
        n_draws=settings.n_bootstrap,
        rng=settings.rng(task.id, "bootstrap"),
    )
    tests = two_sample_permutation(
        np.concatenate([s_x, s_y]),
        np.arange(len(s_x) + len(s_y)) < len(s_x),
        statistics=_STATISTICS,
        alternative=task.alternative,
        n_draws=settings.n_permutations,
        max_exact=settings.max_exact,
        rng=settings.rng(task.id, "permutation"),
    )
    difference, effect_size = (
        Estimate.from_permutation(tests[name], boot[name], task.alternative)
        for name in _STATISTICS
    )
    sums = _difference_of_sums(difference, s_x, s_y)
    return {
        "effect_size": replace(effect_size, as_published=True),
        "differential_association": replace(sums, as_published=True),
    }


def _association_draws(side: str, sets: WordSets, weights: Weights) -> Float64Array:
    """Return the associations of target words with each resample of attribute words.

    Shape (draws, words).
    """
    targets = sets[side].vectors
    to_first = weights["A"] @ (sets["A"].vectors @ targets.T)
    to_second = weights["B"] @ (sets["B"].vectors @ targets.T)
    draws: Float64Array = to_first - to_second
    return draws


def _difference_of_sums(
    difference: Estimate, s_x: Float64Array, s_y: Float64Array
) -> Estimate:
    """Return the paper's difference of sums, S, from the difference of means.

    Where the sets differ in size, it is as if both had their mean size.
    """
    factor = (len(s_x) + len(s_y)) / 2
    value = difference.value
    if value is not None:
        sets_are_even = len(s_x) == len(s_y)
        value = float(s_x.sum() - s_y.sum()) if sets_are_even else value * factor
    return replace(
        difference,
        value=value,
        boot=None if difference.boot is None else difference.boot * factor,
        null=None if difference.null is None else difference.null * factor,
    )


def word_rows(sets: WordSets, weights: Weights) -> list[Item]:
    """Return a row for each target word, with its association and its own effect size."""
    rows = []
    for side in "XY":
        to_first = sets[side].vectors @ sets["A"].vectors.T
        to_second = sets[side].vectors @ sets["B"].vectors.T
        associations = to_first.mean(axis=1) - to_second.mean(axis=1)
        effects = standardised(to_first, to_second)
        effect_draws = standardised_draws(
            to_first, to_second, weights["A"], weights["B"]
        )
        for index, word in enumerate(sets[side].words):
            effect = Estimate(
                float(effects[index]), effect_draws[:, index], as_published=True
            )
            scores = {
                "association": Estimate(float(associations[index])),
                "single_category_effect_size": effect,
            }
            rows.append(Item(word, scores, group=sets[side].name))
    return rows
