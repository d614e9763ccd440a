"""The paper's scores of forward queries (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.probing import anchor_probabilities, distance_margin
from t2ibench.methods.vibex.scene import Scene
from t2ibench.stats import cliffs_delta, group_distance, shuffled_labels

# Shuffles of the anchors' labels.
_MOST_SHUFFLES = 5000


def published_scores(scene: Scene, values: Float64Array) -> list[dict[str, Estimate]]:
    """Return the paper's scores of each concept: distance D, probabilities, Cliff's delta.

    Args:
        scene: The task and its images.
        values: s(I, T) of each concept and image, shape (concepts, images).
    """
    distances = _distances(scene, values)
    probabilities = anchor_probabilities(values, scene.labels, scene.k)
    errors = _probability_errors(scene, values, probabilities)
    tables = []
    for index, distance in enumerate(distances):
        scores = {
            "kolmogorov_smirnov_distance": distance,
            "probability_difference": Estimate(float(np.ptp(probabilities[index]))),
        }
        for number, name in enumerate(scene.anchor_names):
            probability = float(probabilities[index, number])
            half = float(1.96 * errors[index, number])
            interval = None
            if np.isfinite(half):
                interval = (probability - half, probability + half)
            scores[f"probability:{name}"] = Estimate(probability, interval=interval)
        if scene.k == 2:
            first = values[index, scene.labels == 0]
            second = values[index, scene.labels == 1]
            scores["cliffs_delta"] = Estimate(cliffs_delta(first, second))
        tables.append(
            {
                name: replace(estimate, as_published=True)
                for name, estimate in scores.items()
            }
        )
    return tables


def mean_distance(tables: Sequence[Mapping[str, Estimate]]) -> dict[str, Estimate]:
    """Return the distance D averaged over all concepts, as a score of the task."""
    values = [scores["kolmogorov_smirnov_distance"].value for scores in tables]
    mean = float(np.mean([value for value in values if value is not None]))
    return {"kolmogorov_smirnov_distance_mean": Estimate(mean, as_published=True)}


def _distances(scene: Scene, values: Float64Array) -> list[Estimate]:
    """Return the largest distance D between anchors for each concept, tested by shuffling."""
    distances = group_distance(values, scene.labels)
    n_shuffles = min(_MOST_SHUFFLES, scene.settings.n_permutations)
    shuffles = shuffled_labels(scene.labels, n_shuffles, scene.rng("shuffled anchors"))
    nulls = group_distance(values, shuffles)
    sizes = np.bincount(scene.labels, minlength=scene.k)
    margin = distance_margin(sizes, scene.settings.level)
    estimates = []
    for index, distance in enumerate(distances.tolist()):
        interval = max(0.0, distance - margin), min(1.0, distance + margin)
        tested = Estimate.from_null(distance, None, nulls[:, index])
        estimates.append(replace(tested, interval=interval))
    return estimates


def _probability_errors(
    scene: Scene, values: Float64Array, probabilities: Float64Array
) -> Float64Array:
    """Return the standard error of each anchor's probability, by the delta method.

    P_j = M_j / (sum of M), with M_j the mean similarity of anchor j; shape (concepts,
    k).
    """
    groups = [values[:, scene.labels == number] for number in range(scene.k)]
    total = np.sum([group.mean(axis=1) for group in groups], axis=0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.stack(
            [group.var(axis=1, ddof=1) / group.shape[1] for group in groups], axis=1
        )
    # M_j moves P_j by (1 - P_j) / total, and every other mean by -P_j / total.
    of_anchor = (1.0 - 2.0 * probabilities) * variances
    of_all = probabilities**2 * variances.sum(axis=1, keepdims=True)
    errors: Float64Array = np.sqrt(of_anchor + of_all) / total
    return errors
