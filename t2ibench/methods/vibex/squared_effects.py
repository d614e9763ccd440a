"""Squared effects of concepts and of reference words, as encoders see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.reference import Nearness, squares, squares_without_each
from t2ibench.stats.relatedness import (
    Relatedness,
    positive_definite,
    relatedness_across,
)


@dataclass(frozen=True, slots=True)
class SquaredEffects:
    """Unbiased squared effects of m concepts and r reference words, as one encoder sees them.

    Attributes:
        concepts: Shape (m,).
        reference: Shape (r,).
        concept_influence: How each image moves the concepts' mean.
        reference_influence: How each image moves the reference's mean.
        related: How the concepts' effects correlate, shape (m, m).
        dimensions: In how many dimensions the anchors can differ: one less than there are.
    """

    concepts: Float64Array
    reference: Float64Array
    concept_influence: Influence
    reference_influence: Influence
    related: Float64Array
    dimensions: int

    @classmethod
    def from_nearness(
        cls,
        nearness: Nearness,
        related: Float64Array,
        strata: Sequence[str],
        units: IntArray,
    ) -> SquaredEffects:
        """Compute the squared effects from images' nearness to concepts and reference words.

        Args:
            nearness: How near each image is to each concept and reference word.
            related: How the concepts' effects correlate, shape (m, m).
            strata: The prompt of each anchor.
            units: The index of each image.
        """
        n_concepts = len(related)
        effects = squares(nearness)
        without_each = squares_without_each(
            nearness, (slice(0, n_concepts), slice(n_concepts, None))
        )
        concept_influence, reference_influence = (
            Influence.of_jackknife(strata, nearness.labels, units, estimates)
            for estimates in without_each
        )
        return cls(
            concepts=effects[:n_concepts],
            reference=effects[n_concepts:],
            concept_influence=concept_influence,
            reference_influence=reference_influence,
            related=related,
            dimensions=nearness.k - 1,
        )

    @property
    def concept_mean(self) -> float:
        """Mean squared effect of the concepts, V."""
        return float(self.concepts.mean())

    @property
    def reference_mean(self) -> float:
        """Mean squared effect of the reference words, W."""
        return float(self.reference.mean())

    def in_units_of(self, typical: float) -> SquaredEffects:
        """Return the effects with the concepts' squares divided by `typical`.

        That is the typical mean square of random sets of words.
        """
        return replace(
            self,
            concepts=self.concepts / typical,
            concept_influence=self.concept_influence.scaled(1.0 / typical),
        )


@dataclass(frozen=True, slots=True)
class ProbingResult(MethodResult):
    """A ViBEx result together with the squared effects needed to average over encoders.

    Attributes:
        squares: The squared effects of concepts and reference words; None without forward queries.
    """

    squares: SquaredEffects | None = None


def pooled_effects(
    encoders: Sequence[SquaredEffects], totals: Sequence[float]
) -> SquaredEffects:
    """Return the squared effects averaged over encoders, each divided by its own total."""
    weights = [1.0 / (len(encoders) * total) for total in totals]
    weighted = list(zip(weights, encoders, strict=True))
    concepts = [weight * part.concepts for weight, part in weighted]
    reference = [weight * part.reference for weight, part in weighted]
    on_concepts = [(weight, part.concept_influence) for weight, part in weighted]
    on_reference = [(weight, part.reference_influence) for weight, part in weighted]
    return SquaredEffects(
        concepts=np.sum(concepts, axis=0),
        reference=np.sum(reference, axis=0),
        concept_influence=Influence.combined(on_concepts),
        reference_influence=Influence.combined(on_reference),
        related=np.mean([part.related for part in encoders], axis=0),
        dimensions=encoders[0].dimensions,
    )


def related_concepts(
    nearness: Nearness, texts: Float64Array, reference: Float64Array
) -> Float64Array:
    """Return how concepts' effects correlate, as reference words' effects suggest, shape (m, m).

    Args:
        nearness: How near each image is to each concept and reference word.
        texts: The concepts' text embeddings, shape (m, d).
        reference: The reference words' text embeddings, shape (r, d).
    """
    means = nearness.means - nearness.means.mean(axis=0)
    curve = Relatedness.learnt(reference, means[:, len(texts) :].T)
    if curve is not None:
        return positive_definite(curve.of(texts))
    no_direction = np.zeros(texts.shape[1])
    centred = texts - reference.mean(axis=0)
    return positive_definite(relatedness_across(centred, no_direction))
