"""Inverse and intersectional queries (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item, share_draws
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.nearest import corrected_shares
from t2ibench.methods.core.probing import similarity
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.schema import TestConcept
from t2ibench.stats import shuffled_labels, sign_flip_permutation

_DRAWS = 5000  # shuffles of an intersection
_FLIPS = 20_000  # sign flips of an inverse query


@dataclass(frozen=True, slots=True)
class Inverse:
    """One inverse query.

    Attributes:
        item: Its row.
        samples: A row for each image of the concept.
    """

    item: Item
    samples: list[dict[str, Any]]


def inverse(scene: Scene, concept: TestConcept, pool: PromptImages, text: Float64Array) -> Inverse:
    """On which anchor's side the images of a concept are.

    Args:
        scene: The anchors.
        concept: The concept.
        pool: Its m images.
        text: Its text embedding, shape (1, d).

    Returns:
        See `t2ibench.methods.vibex.score.score`.
    """
    if not len(pool):
        scores = {"share": Estimate.undefined("the concept has no image")}
        return Inverse(Item(concept.name, scores, "inverse", 0), [])
    values = similarity(pool.embeddings, scene.anchors)
    (similarities,) = similarity(pool.embeddings, text)
    samples: list[dict[str, Any]] = [
        {
            "prompt": concept.prompt,
            "index": int(index),
            "anchors": {
                anchor.name: float(values[j, image]) for j, anchor in enumerate(scene.task.anchors)
            },
            "own": float(similarities[image]),
        }
        for image, index in enumerate(pool.indices)
    ]
    scores = _shares(scene, pool) | _published(scene, concept, values)
    return Inverse(Item(concept.name, scores, "inverse", len(pool)), samples)


def _shares(scene: Scene, pool: PromptImages) -> dict[str, Estimate]:
    """Shares of images nearest each anchor's own images, corrected, and their lean."""
    shares = corrected_shares(
        scene.sides, pool.embeddings, pool.prompts[0], pool.indices, scene.level
    )
    names = [anchor.name for anchor in scene.task.anchors]
    if shares.reason:
        return {f"share:{name}": Estimate.undefined(shares.reason) for name in names}
    scores = {
        f"share:{name}": Estimate(
            float(shares.values[j]), interval=(float(shares.low[j]), float(shares.high[j]))
        )
        for j, name in enumerate(names)
    }
    if shares.lean is not None:
        interval = (2 * float(shares.low[0]) - 1, 2 * float(shares.high[0]) - 1)
        scores["lean"] = Estimate(
            shares.lean, p=shares.p, test="t", interval=interval, influence=shares.influence
        )
    return scores


def _published(scene: Scene, concept: TestConcept, values: Float64Array) -> dict[str, Estimate]:
    """Which anchor's text each image is nearest, and by how much, as published."""
    settings, total = scene.settings, values.shape[1]
    nearest = values.argmax(axis=0)
    rng = scene.rng(f"inverse {concept.name}")
    scores = {}
    for j, anchor in enumerate(scene.task.anchors):
        hits = int((nearest == j).sum())
        share, boot = hits / total, share_draws(hits, total, settings.n_bootstrap, rng)
        scores[f"share_nearest:{anchor.name}"] = Estimate(share, boot, as_published=True)
    if scene.k == 2:
        flips = sign_flip_permutation(
            values[1] - values[0],
            n_draws=min(settings.n_permutations, _FLIPS),
            max_exact=settings.max_exact,
            rng=rng,
        )
        scores["x"] = Estimate(
            flips.observed,
            null=flips.null,
            p=flips.p,
            test="exact" if flips.exact else "monte_carlo",
            as_published=True,
        )
    return scores


def intersection(scene: Scene, first: str, second: str, texts: Float64Array) -> Item:
    """Two concepts at once: each anchor's share of images that show more of both than usual.

    Args:
        scene: The anchors.
        first: Name of a concept.
        second: Name of another.
        texts: Their text embeddings, shape (2, d).

    Returns:
        The row.
    """
    values = similarity(scene.pool.embeddings, texts)
    usual = np.median(values, axis=1)[:, None]
    both: Float64Array = np.all(values > usual, axis=0).astype(np.float64)
    sizes = [int((scene.labels == j).sum()) for j in range(scene.k)]
    shares = np.array([both[scene.labels == j].mean() for j in range(scene.k)])
    rng = scene.rng(f"intersection of {first} and {second}")
    n_draws = min(_DRAWS, scene.settings.n_permutations)
    shuffled = shuffled_labels(scene.labels, n_draws, rng)
    dealt = np.stack([(both * (shuffled == j)).sum(axis=1) / sizes[j] for j in range(scene.k)])
    spread = float(shares.max() - shares.min())
    null = dealt.max(axis=0) - dealt.min(axis=0)
    difference = Estimate.from_null(spread, None, null)
    scores = {"difference": replace(difference, as_published=True)}
    for j, anchor in enumerate(scene.task.anchors):
        hits = int(both[scene.labels == j].sum())
        boot = share_draws(hits, sizes[j], scene.settings.n_bootstrap, rng)
        scores[f"share_both:{anchor.name}"] = Estimate(float(shares[j]), boot, as_published=True)
    return Item(f"{first} & {second}", scores, "intersection", len(both))
