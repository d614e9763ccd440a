"""Forward queries as they were published (Eschner et al. 2025, equations 2 to 4, appendix B)."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.probing import anchor_probabilities, distance_margin
from t2ibench.methods.vibex.scene import Scene
from t2ibench.stats import cliffs_delta, group_distance, p_value, shuffled_labels

_DRAWS = 5000  # shuffles of the anchors


def published_scores(scene: Scene, values: Float64Array) -> list[dict[str, Estimate]]:
    """D, probabilities and Cliff's delta of each concept.

    Args:
        scene: The anchors.
        values: s(I, T), shape (m, n).

    Returns:
        For each concept its scores, all of them as published.
    """
    distances = group_distance(values, scene.labels)
    n_draws = min(_DRAWS, scene.settings.n_permutations)
    shuffles = shuffled_labels(scene.labels, n_draws, scene.rng("shuffled anchors"))
    nulls = group_distance(values, shuffles)
    probabilities = anchor_probabilities(values, scene.labels, scene.k)
    errors = _probability_errors(values, scene.labels, probabilities)
    margin = distance_margin(np.bincount(scene.labels, minlength=scene.k), scene.level)
    rows = []
    for index, distance in enumerate(distances.tolist()):
        p = p_value(nulls[:, index], distance, "greater", exact=False)
        scores = {
            "D": Estimate(
                distance,
                null=nulls[:, index],
                p=p,
                test="monte_carlo",
                alternative="greater",
                interval=(max(0.0, distance - margin), min(1.0, distance + margin)),
                as_published=True,
            )
        }
        spread = float(np.ptp(probabilities[index]))
        scores["probability_difference"] = Estimate(spread, as_published=True)
        for j, anchor in enumerate(scene.task.anchors):
            value, half = float(probabilities[index, j]), float(1.96 * errors[index, j])
            scores[f"probability:{anchor.name}"] = Estimate(
                value,
                interval=(value - half, value + half) if np.isfinite(half) else None,
                as_published=True,
            )
        if scene.k == 2:
            first, second = (values[index][scene.labels == j] for j in (0, 1))
            scores["delta"] = Estimate(float(cliffs_delta(first, second)), as_published=True)
        rows.append(scores)
    return rows


def _probability_errors(
    values: Float64Array, labels: IntArray, probabilities: Float64Array
) -> Float64Array:
    """Standard errors of P_j = M_j / (sum of M), by the delta method, shape (m, k)."""
    k = probabilities.shape[1]
    groups = [values[:, labels == j] for j in range(k)]
    total = sum(group.mean(axis=1) for group in groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.stack([g.var(axis=1, ddof=1) / g.shape[1] for g in groups], axis=1)
    own = (1.0 - 2.0 * probabilities) * variances
    shared = probabilities**2 * variances.sum(axis=1, keepdims=True)
    errors: Float64Array = np.sqrt(own + shared) / np.asarray(total)[:, None]
    return errors
