"""Intersections of a ViBEx task: images with much of two concepts at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item, share_draws
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.probing import similarity
from t2ibench.methods.core.text_vectors import has_vector
from t2ibench.methods.vibex.needs import text_embeddings
from t2ibench.methods.vibex.scene import Scene
from t2ibench.stats import shuffled_labels

# Shuffles of the anchors' labels.
_MOST_SHUFFLES = 5000


def intersections(scene: Scene, evidence: Evidence) -> list[Item]:
    """Return a row for each pair of concepts if both of their texts have vectors."""
    concepts = {concept.name: concept for concept in scene.task.concepts}
    items = []
    for first, second in scene.task.intersections:
        texts = text_embeddings(evidence, [concepts[first], concepts[second]])
        if has_vector(texts).all():
            items.append(intersection(scene, first, second, texts))
    return items


def intersection(scene: Scene, first: str, second: str, texts: Float64Array) -> Item:
    """Return the row of two concepts: the share of each anchor's images with much of both.

    Args:
        scene: The task and its images.
        first: A concept's name.
        second: Another one's.
        texts: Their text embeddings, shape (2, d).
    """
    values = similarity(scene.pool.embeddings, texts)
    usual = np.median(values, axis=1)[:, None]
    shows_both: Float64Array = np.all(values > usual, axis=0).astype(np.float64)
    of_anchors = [shows_both[scene.labels == number] for number in range(scene.k)]
    shares = np.array([of_anchor.mean() for of_anchor in of_anchors])
    sizes = [len(of_anchor) for of_anchor in of_anchors]
    rng = scene.rng(f"intersection of {first} and {second}")
    n_shuffles = min(_MOST_SHUFFLES, scene.settings.n_permutations)
    shuffles = shuffled_labels(scene.labels, n_shuffles, rng)
    shuffled_shares = np.stack(
        [
            (shows_both * (shuffles == number)).sum(axis=1) / size
            for number, size in enumerate(sizes)
        ]
    )
    spread = float(shares.max() - shares.min())
    null = shuffled_shares.max(axis=0) - shuffled_shares.min(axis=0)
    difference = Estimate.from_null(spread, None, null)
    scores = {"difference": replace(difference, as_published=True)}
    for number, name in enumerate(scene.anchor_names):
        hits = int(of_anchors[number].sum())
        boot = share_draws(hits, sizes[number], scene.settings.n_bootstrap, rng)
        share = Estimate(float(shares[number]), boot, as_published=True)
        scores[f"share_both:{name}"] = share
    return Item(f"{first} & {second}", scores, "intersection", len(shows_both))
