"""Inverse queries: which anchor a concept's images are nearest to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item, share_draws
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.nearest import Sides, corrected_shares
from t2ibench.methods.core.probing import similarity
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.vibex.needs import asked_concepts, text_embeddings
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.schema import TestConcept
from t2ibench.stats import sign_flip_permutation

# Sign flips of an inverse query.
_MOST_FLIPS = 20_000


def inverse_queries(
    scene: Scene,
    readable: Sequence[TestConcept],
    evidence: Evidence,
    collector: ImageCollector,
) -> tuple[list[Item], list[dict[str, Any]]]:
    """Return the rows and the samples of all inverse queries.

    The images of concepts without a text vector are collected, and have no row.
    """
    task = scene.task
    n_images = scene.settings.images(task.inverse_images)
    items: list[Item] = []
    samples: list[dict[str, Any]] = []
    for concept in asked_concepts(task, scene.settings):
        if concept.query != "inverse":
            continue
        images = collector.collect([concept.prompt], n_images)
        if concept in readable:
            text = text_embeddings(evidence, [concept])
            item, samples_of_concept = inverse(scene, concept, images, text)
            items.append(item)
            samples += samples_of_concept
    return items, samples


def inverse(
    scene: Scene, concept: TestConcept, pool: PromptImages, text: Float64Array
) -> tuple[Item, list[dict[str, Any]]]:
    """Return the row and samples of one inverse query: which anchor its images are nearest to.

    Args:
        scene: The task and its images.
        concept: The concept.
        pool: Its images.
        text: Its text embedding, shape (1, d).

    Returns:
        The row and the samples.
    """
    if not len(pool):
        scores = {"share": Estimate.undefined("the concept has no image")}
        return Item(concept.name, scores, "inverse", 0), []
    (to_concept,) = similarity(pool.embeddings, text)
    samples = [
        {**sample, "own": float(value)}
        for sample, value in zip(scene.samples(pool), to_concept, strict=True)
    ]
    scores = _corrected_shares(scene, pool) | _published_shares(scene, concept, pool)
    return Item(concept.name, scores, "inverse", len(pool)), samples


def _corrected_shares(scene: Scene, pool: PromptImages) -> dict[str, Estimate]:
    """Return the corrected shares of a concept's images nearest each anchor, and their lean."""
    anchors = scene.pool
    sides = Sides(anchors.embeddings, scene.labels, anchors.prompts, anchors.indices)
    level = scene.settings.level
    shares = corrected_shares(
        sides, pool.embeddings, pool.prompts[0], pool.indices, level
    )
    names = [f"share:{name}" for name in scene.anchor_names]
    if shares.reason:
        return dict.fromkeys(names, Estimate.undefined(shares.reason))
    intervals = list(zip(shares.low.tolist(), shares.high.tolist(), strict=True))
    scores = {
        name: Estimate(float(value), interval=interval)
        for name, value, interval in zip(names, shares.values, intervals, strict=True)
    }
    if shares.lean is not None:
        low, high = intervals[0]
        scores["lean"] = Estimate(
            shares.lean,
            p=shares.p,
            test="t",
            interval=(2 * low - 1, 2 * high - 1),
            influence=shares.influence,
        )
    return scores


def _published_shares(
    scene: Scene, concept: TestConcept, pool: PromptImages
) -> dict[str, Estimate]:
    """Return the share of a concept's images nearest to each anchor's text, as published."""
    settings = scene.settings
    values = similarity(pool.embeddings, scene.anchors)
    nearest = values.argmax(axis=0)
    rng = scene.rng(f"inverse {concept.name}")
    scores = {}
    for number, name in enumerate(scene.anchor_names):
        hits = int((nearest == number).sum())
        boot = share_draws(hits, len(pool), settings.n_bootstrap, rng)
        share = Estimate(hits / len(pool), boot, as_published=True)
        scores[f"share_nearest:{name}"] = share
    if scene.k == 2:
        flips = sign_flip_permutation(
            values[1] - values[0],
            n_draws=min(settings.n_permutations, _MOST_FLIPS),
            max_exact=settings.max_exact,
            rng=rng,
        )
        difference = Estimate.from_permutation(flips, None)
        scores["anchor_similarity_difference"] = replace(difference, as_published=True)
    return scores
