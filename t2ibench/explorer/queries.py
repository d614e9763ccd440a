"""The numbers of the page: similarities of texts, and how far they tell anchors apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.explorer.source import Collection
from t2ibench.methods.core.probing import anchor_probabilities, similarity
from t2ibench.stats import group_distance


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which images represent which anchor.

    Attributes:
        labels: Shape (n,), the anchor's number, or -1.
        sources: Shape (n,), each image's source.
    """

    labels: IntArray
    sources: IntArray


def group(collection: Collection, prompts: Sequence[str]) -> Grouping:
    """The images of each anchor, by their prompt.

    Args:
        collection: The images.
        prompts: The anchors' prompts.

    Returns:
        Which image represents which anchor.
    """
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    images = collection.pictures
    return Grouping(
        np.array([numbers.get(image.prompt, -1) for image in images], dtype=np.int64),
        np.array([image.source for image in images], dtype=np.int64),
    )


def similarities(collection: Collection, texts: Sequence[str]) -> Float64Array:
    """(cosine + 1) / 2 of every text with every image.

    Args:
        collection: The n images.
        texts: The m texts.

    Returns:
        Shape (m, n).
    """
    return similarity(collection.embeddings(), collection.texts(texts))


def score_texts(
    collection: Collection, texts: Sequence[str], anchors: Sequence[str]
) -> list[list[dict[str, Any] | None]]:
    """How each text tells the anchors apart, in each source.

    Args:
        collection: The images.
        texts: The texts.
        anchors: Prompts of the anchors' images.

    Returns:
        For each text, for each source: 'd' (the largest KS distance), 'chance' (its mean without
        any difference), 'z' (how many standard errors the first and the second anchor's means lie
        apart; positive is nearer the first), 'lean' (number of the anchor with the highest mean),
        'probabilities' and 'n'; None where fewer than two anchors have images there.
    """
    if not texts:
        return []
    grouping = group(collection, anchors)
    values = similarities(collection, texts)[:, : len(grouping.labels)]
    by_source = []
    for number in range(len(collection.sources)):
        chosen = (grouping.sources == number) & (grouping.labels >= 0)
        by_source.append(_scores(values[:, chosen], grouping.labels[chosen]))
    return [list(scores) for scores in zip(*by_source, strict=True)]


def _scores(values: Float64Array, labels: IntArray) -> list[dict[str, Any] | None]:
    """The scores of each text in one source, from shapes (m, n) and (n,)."""
    present = np.unique(labels)
    if len(present) < 2:
        return [None] * len(values)
    compact = np.searchsorted(present, labels)
    sizes = np.bincount(compact)
    distances = group_distance(values, compact)
    probabilities = anchor_probabilities(values, compact, len(present))
    return [
        {
            "d": float(distances[row]),
            "chance": _chance(sizes),
            "z": _z(values[row], compact),
            "lean": int(present[probabilities[row].argmax()]),
            "probabilities": dict(zip(present.tolist(), probabilities[row].tolist(), strict=True)),
            "n": sizes.tolist(),
        }
        for row in range(len(values))
    ]


def _chance(sizes: IntArray) -> float:
    """The mean KS distance of two like samples: Kolmogorov's mean over the root of their size."""
    small = np.sort(sizes)[:2].astype(np.float64)
    effective = small[0] * small[1] / small.sum()
    return float(min(0.95, np.sqrt(np.pi / 2) * np.log(2) / np.sqrt(effective)))


def _z(values: Float64Array, labels: IntArray) -> float:
    """Difference of the first two anchors' means over its standard error; 0 without spread."""
    first, second = (values[labels == j] for j in (0, 1))
    if len(first) < 2 or len(second) < 2:
        return 0.0
    error = np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    return float((first.mean() - second.mean()) / error) if error > 0 else 0.0
