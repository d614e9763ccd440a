"""Forward, inverse and intersectional queries (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate, Item, ranking, recentred
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.probing import anchor_probabilities, similarity
from t2ibench.methods.vibex.schema import TestConcept, VibexTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    cliffs_delta,
    group_distance,
    one_sample_bootstrap,
    shuffled_labels,
    sign_flip_permutation,
)

_DRAWS = 5000  # shuffles and resamples of the distance
_FLIPS = 20_000  # sign flips of an inverse query


@dataclass(frozen=True, slots=True)
class Scene:
    """What all queries of one task look at.

    Attributes:
        task: The task.
        settings: How to measure.
        pool: Images of all anchors; their cluster is their anchor.
        anchors: The anchors' text embeddings, shape (k, d).
    """

    task: VibexTask
    settings: Settings
    pool: PromptImages
    anchors: Float64Array

    @property
    def k(self) -> int:
        """Number of anchors."""
        return len(self.task.anchors)

    @property
    def labels(self) -> IntArray:
        """The number of each image's anchor, shape (n,)."""
        return self.pool.clusters

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator of random numbers for one purpose.

        Args:
            purpose: What it is for.

        Returns:
            The same generator for the same task, seed and purpose.
        """
        return self.settings.rng(self.task.id, purpose)


@dataclass(frozen=True, slots=True)
class Forward:
    """All forward queries of a task.

    Attributes:
        headline: The mean D.
        items: A row for each concept.
        ranking: The concepts from the largest D down, as entries of `details`.
        samples: A row for each image of an anchor.
    """

    headline: Estimate
    items: tuple[Item, ...]
    ranking: list[dict[str, Any]]
    samples: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Inverse:
    """One inverse query.

    Attributes:
        item: Its row.
        samples: A row for each image of the concept.
    """

    item: Item
    samples: list[dict[str, Any]]


def forward(scene: Scene, concepts: Sequence[TestConcept], texts: Float64Array) -> Forward:
    """How much of each concept the images of each anchor show.

    Args:
        scene: The anchors.
        concepts: The m concepts.
        texts: Their text embeddings, shape (m, d).

    Returns:
        See `t2ibench.methods.vibex.score.score`.
    """
    values = similarity(scene.pool.embeddings, texts)
    distances = group_distance(values, scene.labels)
    n_null = min(_DRAWS, scene.settings.n_permutations)
    shuffles = shuffled_labels(scene.labels, n_null, scene.rng("shuffled anchors"))
    nulls = group_distance(values, shuffles)
    probabilities = anchor_probabilities(values, scene.labels, scene.k)
    boots, drawn = _bootstrap(scene, values)
    items = []
    for index, concept in enumerate(concepts):
        centred = recentred(boots[:, index], float(distances[index]))
        scores = {"D": Estimate.from_null(float(distances[index]), centred, nulls[:, index])}
        scores |= _probability_scores(scene, probabilities[index], drawn[:, index])
        if scene.k == 2:
            first, second = (values[index][scene.labels == j] for j in (0, 1))
            scores["delta"] = Estimate(float(cliffs_delta(first, second)))
        items.append(Item(concept.name, scores, "forward", len(scene.pool)))
    mean = float(distances.mean())
    names = [concept.name for concept in concepts]
    return Forward(
        Estimate.from_null(mean, recentred(boots.mean(axis=1), mean), nulls.mean(axis=1)),
        tuple(items),
        ranking("concept", names, boots.T, scene.settings.level),
        _forward_samples(scene, names, values),
    )


def _bootstrap(scene: Scene, values: Float64Array) -> tuple[Float64Array, Float64Array]:
    """D and probabilities of resampled images: shapes (draws, m) and (draws, m, k)."""
    n_draws = min(_DRAWS, scene.settings.n_bootstrap)
    picks = _resamples(scene.labels, n_draws, scene.k, scene.rng("bootstrap of the anchor images"))
    distances = np.empty((n_draws, len(values)))
    probabilities = np.empty((n_draws, len(values), scene.k))
    for row, pick in enumerate(picks):
        labels = scene.labels[pick]
        distances[row] = group_distance(values[:, pick], labels)
        probabilities[row] = anchor_probabilities(values[:, pick], labels, scene.k)
    return distances, probabilities


def _resamples(labels: IntArray, n_draws: int, k: int, rng: np.random.Generator) -> IntArray:
    """Images drawn with replacement within each anchor, shape (draws, n)."""
    parts = []
    for j in range(k):
        images = np.flatnonzero(labels == j)
        parts.append(images[rng.integers(len(images), size=(n_draws, len(images)))])
    picks: IntArray = np.concatenate(parts, axis=1)
    return picks


def _probability_scores(
    scene: Scene, probabilities: Float64Array, drawn: Float64Array
) -> dict[str, Estimate]:
    """P(anchor | concept) of one concept from shapes (k,) and (draws, k), and their range."""
    spread = probabilities.max() - probabilities.min()
    spreads = drawn.max(axis=1) - drawn.min(axis=1)
    by_anchor = {
        f"probability:{anchor.name}": Estimate(float(probabilities[j]), drawn[:, j])
        for j, anchor in enumerate(scene.task.anchors)
    }
    difference = Estimate(float(spread), recentred(spreads, spread))
    return {"probability_difference": difference} | by_anchor


def _forward_samples(
    scene: Scene, names: Sequence[str], values: Float64Array
) -> list[dict[str, Any]]:
    pool = scene.pool
    return [
        {
            "prompt": pool.prompts[anchor],
            "index": int(pool.indices[image]),
            "similarities": {name: float(values[row, image]) for row, name in enumerate(names)},
        }
        for image, anchor in enumerate(scene.labels)
    ]


def inverse(scene: Scene, concept: TestConcept, pool: PromptImages, text: Float64Array) -> Inverse:
    """Which anchor's text the images of a concept are nearest.

    Args:
        scene: The anchors.
        concept: The concept.
        pool: Its m images.
        text: Its text embedding, shape (1, d).

    Returns:
        See `t2ibench.methods.vibex.score.score`.
    """
    if not len(pool):
        scores = {"x": Estimate.undefined("the concept has no image")}
        return Inverse(Item(concept.name, scores, "inverse", 0), [])
    settings = scene.settings
    values = similarity(pool.embeddings, scene.anchors)
    nearest = values.argmax(axis=0)
    rng = scene.rng(f"inverse {concept.name}")
    scores = {}
    for j, anchor in enumerate(scene.task.anchors):
        share = float((nearest == j).mean())
        boot = rng.binomial(len(pool), share, settings.n_bootstrap) / len(pool)
        scores[f"share_nearest:{anchor.name}"] = Estimate(share, boot)
    if scene.k == 2:
        x = values[1] - values[0]
        flips = sign_flip_permutation(
            x,
            n_draws=min(settings.n_permutations, _FLIPS),
            max_exact=settings.max_exact,
            rng=rng,
        )
        means = one_sample_bootstrap(x, statistics=("mean",), n_draws=settings.n_bootstrap, rng=rng)
        scores["x"] = Estimate.from_permutation(flips, means["mean"])
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
    return Inverse(Item(concept.name, scores, "inverse", len(pool)), samples)


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
    scores = {"difference": Estimate.from_null(spread, None, dealt.max(axis=0) - dealt.min(axis=0))}
    for j, anchor in enumerate(scene.task.anchors):
        boot = rng.binomial(sizes[j], shares[j], scene.settings.n_bootstrap) / sizes[j]
        scores[f"share_both:{anchor.name}"] = Estimate(float(shares[j]), boot)
    return Item(f"{first} & {second}", scores, "intersection", len(both))
