"""The numbers behind the page: similarities of texts, and how far anchors differ by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.explorer.source import Collection
from t2ibench.methods.core.probing import anchor_probabilities, similarity
from t2ibench.stats import group_distance

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which images stand for which anchor.

    Attributes:
        labels: Shape (n,), the anchor's number, or -1.
        sources: Shape (n,), each image's source.
    """

    labels: IntArray
    sources: IntArray


def group(collection: Collection, prompts: Sequence[str]) -> Grouping:
    """The images of each anchor, by their prompt."""
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    return Grouping(
        np.array([numbers.get(one.prompt, -1) for one in collection.pictures], dtype=np.int64),
        np.array([one.source for one in collection.pictures], dtype=np.int64),
    )


def similarities(collection: Collection, texts: Sequence[str]) -> FloatArray:
    """(cosine + 1) / 2 of every text with every image, shape (m, n)."""
    return similarity(collection.embeddings(), collection.texts(texts))


def evaluate(
    collection: Collection, texts: Sequence[str], anchors: Sequence[str]
) -> list[list[dict[str, Any] | None]]:
    """How each text tells the anchors apart, in each source.

    Returns:
        For each text, for each source: 'd' (the largest KS distance), 'chance' (its mean without
        any difference), 'z' (how many standard
        errors the first and the second anchor's means lie apart; positive is nearer the first),
        'lean' (number of the anchor with the highest mean), 'probabilities' and 'n'; None where
        fewer than two anchors have images there.
    """
    if not texts:
        return []
    where = group(collection, anchors)
    values = similarities(collection, texts)[:, : len(where.labels)]
    found: list[list[dict[str, Any] | None]] = [[] for _ in texts]
    for number in range(len(collection.sources)):
        chosen = (where.sources == number) & (where.labels >= 0)
        labels = where.labels[chosen]
        present = np.unique(labels)
        if len(present) < 2:
            for rows in found:
                rows.append(None)
            continue
        own = values[:, chosen]
        compact = np.searchsorted(present, labels)
        distances = group_distance(own, compact)
        chances = anchor_probabilities(own, compact, len(present))
        for place, rows in enumerate(found):
            rows.append(
                {
                    "d": float(distances[place]),
                    "chance": _chance(np.bincount(compact)),
                    "z": _z(own[place], compact),
                    "lean": int(present[chances[place].argmax()]),
                    "probabilities": dict(
                        zip(present.tolist(), chances[place].tolist(), strict=True)
                    ),
                    "n": np.bincount(compact).tolist(),
                }
            )
    return found


def _chance(sizes: IntArray) -> float:
    """The mean KS distance of two like samples: Kolmogorov's mean over the root of their size."""
    small = np.sort(sizes)[:2].astype(np.float64)
    effective = small[0] * small[1] / small.sum()
    return float(min(0.95, np.sqrt(np.pi / 2) * np.log(2) / np.sqrt(effective)))


def _z(values: FloatArray, labels: IntArray) -> float:
    """Difference of the first two anchors' means over its standard error; 0 without spread."""
    first, second = (values[labels == j] for j in (0, 1))
    if len(first) < 2 or len(second) < 2:
        return 0.0
    error = np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    return float((first.mean() - second.mean()) / error) if error > 0 else 0.0
