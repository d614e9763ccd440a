"""Forward queries: how far the anchors' images differ in a concept, and in other words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.probing import similarity
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effect_influence,
    effects,
    image_p,
    nearness,
    place,
)
from t2ibench.methods.core.text_vectors import missing_vectors, with_vector
from t2ibench.methods.vibex.needs import asked_concepts, text_embeddings
from t2ibench.methods.vibex.published import published_scores
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.schema import TestConcept
from t2ibench.methods.vibex.squared_effects import SquaredEffects, related_concepts

# Scores whose null draws are the effects of the reference words.
EFFECTS = ("similarity_difference", "beyond_words")
# Reference words that must have a vector.
_FEWEST_REFERENCE = 20


@dataclass(frozen=True, slots=True)
class Forward:
    """The results of all forward queries of a task.

    Attributes:
        items: The rows of the result.
        squares: The squared effects of concepts and reference words.
        beyond: How near images are to texts, without what distinguishes the anchors' own texts.
        text_only: Effect of each concept and reference word on the anchors' texts, shape (m + r,).
        samples: How near each image is to each concept and anchor.
    """

    items: tuple[Item, ...]
    squares: SquaredEffects
    beyond: Nearness
    text_only: Float64Array
    samples: list[dict[str, Any]]


def forward_queries(
    scene: Scene,
    concepts: Sequence[TestConcept],
    evidence: Evidence,
    warnings: list[str],
) -> tuple[Forward | None, str]:
    """Return the results of all forward queries, or None and the reason for it.

    Args:
        scene: The task and its images.
        concepts: The concepts that an encoder can read.
        evidence: Its embeddings.
        warnings: A warning about reference words that are left out is added to them.
    """
    task = scene.task
    asked = asked_concepts(task, scene.settings)
    if all(concept.query != "forward" for concept in asked):
        return None, "the task has no forward query"
    words = evidence.texts(task.reference.texts).astype(np.float64)
    reference = with_vector(words)
    missing = missing_vectors(
        len(words) - len(reference), len(words), "reference words"
    )
    if missing is not None:
        warnings.append(f"{missing[:1].upper()}{missing[1:]}; they are left out.")
    if not concepts:
        return None, "the encoder has no vectors of the concepts' texts"
    if missing is not None and len(reference) < _FEWEST_REFERENCE:
        return (
            None,
            f"the encoder has vectors of fewer than {_FEWEST_REFERENCE} reference words",
        )
    return forward(scene, concepts, text_embeddings(evidence, concepts), reference), ""


def forward(
    scene: Scene,
    concepts: Sequence[TestConcept],
    texts: Float64Array,
    reference: Float64Array,
) -> Forward:
    """Return how far anchors' images differ in each concept, compared with reference words.

    Args:
        scene: The task and its images.
        concepts: The m concepts.
        texts: Their text embeddings, shape (m, d).
        reference: Those of the r reference words, shape (r, d).
    """
    pool = scene.pool
    plain = nearness(pool.embeddings, scene.labels, scene.k, texts, reference)
    images_beyond = beyond_words(pool.embeddings, scene.anchors)
    beyond = nearness(images_beyond, scene.labels, scene.k, texts, reference)
    text_only = _text_only(scene, texts, reference)
    values = similarity(pool.embeddings, texts)
    items = _items(
        scene,
        concepts,
        nearness_by_effect={"beyond_words": beyond, "similarity_difference": plain},
        text_only=text_only,
        published=published_scores(scene, values),
    )
    related = related_concepts(beyond, texts, reference)
    squares = SquaredEffects.from_nearness(beyond, related, pool.prompts, pool.indices)
    samples = scene.samples(pool)
    for image, sample in enumerate(samples):
        sample["similarities"] = {
            concept.name: float(values[row, image])
            for row, concept in enumerate(concepts)
        }
    return Forward(tuple(items), squares, beyond, text_only, samples)


def _text_only(
    scene: Scene, texts: Float64Array, reference: Float64Array
) -> Float64Array:
    """Return the effect of each concept and reference word on the anchors' texts alone.

    Shape (m + r,), for m concepts and r reference words.
    """
    centred = np.concatenate([texts, reference]) - reference.mean(axis=0)
    cosines = scene.anchors @ centred.T
    text_only: Float64Array = (
        cosines[0] - cosines[1] if scene.k == 2 else np.ptp(cosines, axis=0)
    )
    return text_only


def _items(
    scene: Scene,
    concepts: Sequence[TestConcept],
    nearness_by_effect: Mapping[str, Nearness],
    text_only: Float64Array,
    published: Sequence[Mapping[str, Estimate]],
) -> list[Item]:
    """Return a row of scores for each concept that has a forward query."""
    n_concepts = len(concepts)
    estimates_by_effect = {
        name: effect_scores(scene, table, n_concepts)
        for name, table in nearness_by_effect.items()
    }
    effects_beyond = effects(nearness_by_effect["beyond_words"])
    percentiles, _ = place(effects_beyond[:n_concepts], effects_beyond[n_concepts:])
    items = []
    for index, concept in enumerate(concepts):
        scores = {
            name: estimates[index] for name, estimates in estimates_by_effect.items()
        }
        scores["percentile"] = Estimate(float(percentiles[index]))
        scores["text_only"] = Estimate(float(text_only[index]))
        if scene.k > 2:
            scores |= _anchor_means(scene, nearness_by_effect, index)
        scores |= published[index]
        items.append(Item(concept.name, scores, "forward", len(scene.pool)))
    return items


def _anchor_means(
    scene: Scene, nearness_by_effect: Mapping[str, Nearness], index: int
) -> dict[str, Estimate]:
    """Return each anchor's mean nearness to a concept, as scores, for three or more anchors."""
    return {
        f"{effect}:{anchor}": Estimate(
            float(nearness_by_effect[effect].means[number, index])
        )
        for effect in EFFECTS
        for number, anchor in enumerate(scene.anchor_names)
    }


def effect_scores(
    scene: Scene, nearness_to_texts: Nearness, n_concepts: int
) -> list[Estimate]:
    """Return each concept's effect as a score, with a p-value among reference words.

    p is the larger of two: that the effect is none of the reference's, and that the images' own
    variation does not explain it. A concept has to pass both.

    Args:
        scene: The task and its images.
        nearness_to_texts: How near images are to the concepts and, after them, the reference.
        n_concepts: Number of concepts.
    """
    values = effects(nearness_to_texts)
    _, p_among_words = place(values[:n_concepts], values[n_concepts:])
    p_of_images = image_p(nearness_to_texts.columns(slice(0, n_concepts)))
    estimates = []
    for index, value in enumerate(values[:n_concepts].tolist()):
        influence = effect_influence(
            nearness_to_texts, index, scene.pool.prompts, scene.pool.indices
        )
        estimate = Estimate.from_influence(value, influence, scene.settings.level)
        p = float(max(p_among_words[index], p_of_images[index]))
        estimates.append(replace(estimate, null=values[n_concepts:], p=p, test="rank"))
    return estimates
