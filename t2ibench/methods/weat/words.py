"""The four sets of words of a WEAT, their vectors, and which words are near-duplicates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings

ALIKE = 0.9  # cosine above which two words of a set are near-duplicates
_SHOWN = 8  # missing words that a message names


@dataclass(frozen=True, slots=True)
class WordSet:
    """One of the sets X, Y, A and B.

    Attributes:
        name: What reports call it.
        stratum: Its name among influences, which no other task uses.
        words: Words that the encoder has a vector for.
        vectors: Shape (words, d), unit rows.
        missing: Words that it lacks.
        numbers: Position of each word in the task's list, shape (words,).
        clusters: Number of each word's cluster of near-duplicates, from 0, shape (words,).
    """

    name: str
    stratum: str
    words: list[str]
    vectors: Float64Array
    missing: list[str]
    numbers: IntArray
    clusters: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    def lacks_too_many(self, allowed: float) -> str | None:
        """The reason why a test with this set has no score; None where it has enough words."""
        total = len(self.words) + len(self.missing)
        if self.words and len(self.missing) <= allowed * total:
            return None
        return (
            f"({self.name}) keeps {len(self.words)} of {total} "
            f"words; the vocabulary lacks {', '.join(self.missing[:_SHOWN])}"
            f"{' …' if len(self.missing) > _SHOWN else ''}. "
            "`allow_missing` in the task file sets how many may be lacking."
        )

    @property
    def n_clusters(self) -> int:
        """How many words the set has if near-duplicates count as one."""
        return int(self.clusters.max()) + 1

    def near_duplicates(self) -> list[list[str]]:
        """The clusters of two or more words."""
        groups: dict[int, list[str]] = {}
        for word, cluster in zip(self.words, self.clusters.tolist(), strict=True):
            groups.setdefault(cluster, []).append(word)
        return [group for group in groups.values() if len(group) > 1]

    def cluster_means(self, values: Float64Array) -> Float64Array:
        """The mean of each cluster's words.

        Args:
            values: One a word, shape (words,).

        Returns:
            Shape (clusters,).
        """
        means: Float64Array = np.bincount(self.clusters, values) / np.bincount(self.clusters)
        return means

    def cluster_numbers(self) -> IntArray:
        """Position of each cluster's first word in the task's list, shape (clusters,)."""
        _, first = np.unique(self.clusters, return_index=True)
        return self.numbers[first]

    def influence(self, values: Float64Array) -> Influence:
        """The influence of the clusters on the mean over words.

        Args:
            values: One a word, shape (words,).

        Returns:
            n_c / n (mean of the cluster - mean) √(k / (k - 1)) for each of k clusters, which is
            `Influence.of_mean` where no words are alike; NaN for a single cluster.
        """
        k, sizes = self.n_clusters, np.bincount(self.clusters)
        moved = sizes / len(values) * (self.cluster_means(values) - values.mean())
        scale = np.sqrt(k / (k - 1)) if k > 1 else np.nan
        zeros = np.zeros(k, np.int64)
        return Influence((self.stratum,), zeros, self.cluster_numbers(), moved * scale)


def groups_of(task: WeatTask) -> dict[str, WordGroup]:
    """The four sets of a task."""
    return {
        "X": task.targets.X,
        "Y": task.targets.Y,
        "A": task.attributes.A,
        "B": task.attributes.B,
    }


def read_sets(task: WeatTask, evidence: Evidence, settings: Settings) -> dict[str, WordSet] | str:
    """The four sets with their vectors and clusters."""
    sets: dict[str, WordSet] = {}
    for side, group in groups_of(task).items():
        sets[side] = _word_set(task, side, group, evidence, settings)
        reason = sets[side].lacks_too_many(task.allow_missing)
        if reason:
            return f"{side} {reason}"
    centre = np.mean([words.vectors.mean(axis=0) for words in sets.values()], axis=0)
    return {
        side: replace(words, clusters=near_duplicates(words.vectors, centre))
        for side, words in sets.items()
    }


def _word_set(
    task: WeatTask, side: str, group: WordGroup, evidence: Evidence, settings: Settings
) -> WordSet:
    """One set; a word's vector is its mean over templates, of unit length."""
    words = list(settings.limited(group.words))
    stacked = [evidence.texts([fill(text, word=word) for word in words]) for text in task.templates]
    vectors: Float64Array = np.mean(np.asarray(stacked, dtype=np.float64), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    known = np.atleast_1d(np.isfinite(vectors).all(axis=1))
    return WordSet(
        group.name,
        f"{task.id} {side}",
        [word for word, is_known in zip(words, known, strict=True) if is_known],
        vectors[known],
        [word for word, is_known in zip(words, known, strict=True) if not is_known],
        np.flatnonzero(known).astype(np.int64),
    )


def near_duplicates(vectors: Float64Array, centre: Float64Array) -> IntArray:
    """Clusters of words that the encoder hardly tells apart.

    Two words are alike where their cosine is above .9, both as they are and with the mean of all
    words of the test taken off: text towers give every word a common part, which alone can lift
    all cosines above .9. All words of a cluster are alike, pair by pair (complete linkage).

    Args:
        vectors: Shape (n, d), unit rows.
        centre: The mean of all words, shape (d,).

    Returns:
        Shape (n,): the number of each word's cluster, from 0, in the order of the words.

    Examples:
        The first two are alike, the third is not:

        >>> rows = np.array([[1.0, 0.0], [0.995, 0.0999], [0.0, 1.0]])
        >>> near_duplicates(rows, np.zeros(2)).tolist()
        [0, 0, 1]
    """
    n = len(vectors)
    if n == 1:
        return np.zeros(1, np.int64)
    centred = vectors - centre
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    # A word that is the mean itself has no direction of its own: only its plain cosine counts.
    cosines = np.fmin(vectors @ vectors.T, centred @ centred.T)
    distances = np.clip(1.0 - (cosines + cosines.T) / 2, 0.0, None)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "complete")
    labels = fcluster(tree, 1.0 - ALIKE, "distance")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.ravel()]
