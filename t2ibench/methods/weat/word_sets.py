"""The four sets of words of a WEAT, with their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.association import association
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.core.schema import WordGroup
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.settings import Settings
from t2ibench.stats.relatedness import (
    Relatedness,
    effective_number,
    noise_correlation,
    relatedness_across,
)

# Missing words that a message names.
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class WordSet:
    """One of the sets X, Y, A and B, with the vectors of its words.

    Attributes:
        name: What reports call it.
        stratum: Its name among influences, which no other task uses.
        words: The words that the encoder has a vector for.
        vectors: Their vectors, shape (words, d), of unit length.
        missing: The words that it has no vector for.
        numbers: Position of each word in the task's list, shape (words,).
        noise: How the association correlates between words about its mean, shape (words, words); of
            target words only.
    """

    name: str
    stratum: str
    words: list[str]
    vectors: Float64Array
    missing: list[str]
    numbers: IntArray
    noise: Float64Array | None = None

    @property
    def effective(self) -> float:
        """Number of independent words that would be worth as much as the set."""
        if self.noise is None:
            return float(len(self.words))
        return effective_number(self.noise)


# The sets by their letter: X, Y, A and B.
WordSets = Mapping[str, WordSet]


def word_groups(task: WeatTask) -> dict[str, WordGroup]:
    """Return the task's four sets of words, keyed by 'X', 'Y', 'A' and 'B'."""
    return {**dict(task.targets), **dict(task.attributes)}


def read_word_sets(
    task: WeatTask, evidence: Evidence, settings: Settings
) -> WordSets | str:
    """Return the four sets of words with their vectors, or why a set has too few words.

    Returns:
        The sets, or why a set has too few words.
    """
    sets: dict[str, WordSet] = {}
    for side, group in word_groups(task).items():
        words = settings.limited(group.words)
        vectors = word_vectors(task, words, evidence)
        word_set = _word_set(f"{task.id} {side}", group.name, words, vectors)
        n_missing = len(word_set.missing)
        if not word_set.words or n_missing > task.allow_missing * len(words):
            return _too_few_words(side, word_set, len(words))
        sets[side] = word_set
    return _with_noise(task, sets, evidence)


def _word_set(
    stratum: str, name: str, words: Sequence[str], vectors: Float64Array
) -> WordSet:
    """Return a set of words, divided into those that have a vector and those that have none."""
    has_vector = np.atleast_1d(np.isfinite(vectors).all(axis=1))
    numbers = np.flatnonzero(has_vector).astype(np.int64)
    return WordSet(
        name=name,
        stratum=stratum,
        words=[words[number] for number in numbers.tolist()],
        vectors=vectors[has_vector],
        missing=[words[number] for number in np.flatnonzero(~has_vector).tolist()],
        numbers=numbers,
    )


def _too_few_words(side: str, word_set: WordSet, n_words: int) -> str:
    missing = ", ".join(word_set.missing[:_MOST_NAMED])
    if len(word_set.missing) > _MOST_NAMED:
        missing += " …"
    return (
        f"{side} ({word_set.name}) keeps {len(word_set.words)} of {n_words} words; the vocabulary "
        f"lacks {missing}. `allow_missing` in the task file sets how many may be lacking."
    )


def _with_noise(task: WeatTask, sets: WordSets, evidence: Evidence) -> WordSets:
    """Return the sets with the correlations of related target words' associations added.

    How alike words of a cosine are is learnt from the reference words, where there are enough.
    """
    direction = sets["A"].vectors.mean(axis=0) - sets["B"].vectors.mean(axis=0)
    curve = None
    if task.reference:
        vectors = word_vectors(task, task.reference, evidence)
        reference = vectors[np.isfinite(vectors).all(axis=1)]
        curve = Relatedness.learnt(reference, reference @ direction)
    with_noise = dict(sets)
    for side in "XY":
        vectors = sets[side].vectors
        related = (
            relatedness_across(vectors, direction)
            if curve is None
            else curve.of(vectors)
        )
        with_noise[side] = replace(sets[side], noise=noise_correlation(related))
    return with_noise


def word_vectors(
    task: WeatTask, words: Sequence[str], evidence: Evidence
) -> Float64Array:
    """Return each word's vector, averaged over templates, of unit length, shape (words, d).

    The row of a word without a vector is not finite.
    """
    vectors_by_template = [
        evidence.texts([fill(template, word=word) for word in words])
        for template in task.templates
    ]
    means = np.mean(np.asarray(vectors_by_template, dtype=np.float64), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        vectors: Float64Array = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors


def associations_of_targets(sets: WordSets) -> tuple[Float64Array, Float64Array]:
    """Return the association of each word of X, and of each word of Y, with A and B."""
    first = sets["A"].vectors
    second = sets["B"].vectors
    return (
        association(sets["X"].vectors, first, second),
        association(sets["Y"].vectors, first, second),
    )
