"""The evidence that a ViBEx task needs, and which of its concepts an encoder can read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.association import left_out_warnings
from t2ibench.methods.core.evidence import Evidence, Needs, PromptNeed
from t2ibench.methods.core.text_vectors import has_vector
from t2ibench.methods.vibex.schema import TestConcept, VibexTask
from t2ibench.settings import Settings


def needs(task: VibexTask, settings: Settings) -> Needs:
    """Return the evidence that a task needs: images of anchors and concepts, and texts."""
    n_images = settings.images(task.images_per_prompt)
    n_inverse = settings.images(task.inverse_images)
    concepts = asked_concepts(task, settings)
    anchors = [
        PromptNeed(anchor.prompt, n_images, anchor.name) for anchor in task.anchors
    ]
    inverse = [
        PromptNeed(concept.prompt, n_inverse, "concepts")
        for concept in concepts
        if concept.query == "inverse"
    ]
    n_forward = sum(concept.query == "forward" for concept in concepts)
    paired = {name for pair in task.intersections for name in pair}
    texts = [anchor.text or anchor.prompt for anchor in task.anchors]
    texts += [concept.prompt for concept in concepts]
    texts += [concept.prompt for concept in task.concepts if concept.name in paired]
    if n_forward:
        texts += task.reference.texts
    return Needs(
        prompts=tuple(anchors + inverse),
        texts=tuple(dict.fromkeys(texts)),
        concepts=n_forward,
    )


def asked_concepts(task: VibexTask, settings: Settings) -> list[TestConcept]:
    """Return the concepts that a run asks about, first those of forward queries."""
    concepts: list[TestConcept] = []
    for query in ("forward", "inverse"):
        of_query = [concept for concept in task.concepts if concept.query == query]
        concepts += settings.limited(of_query)
    return concepts


def readable_concepts(
    task: VibexTask, evidence: Evidence, settings: Settings
) -> tuple[list[TestConcept], list[str]]:
    """Return the concepts whose texts have vectors, and a list with a warning on the others."""
    readable: list[TestConcept] = []
    unreadable: list[str] = []
    for concept in asked_concepts(task, settings):
        if has_vector(text_embeddings(evidence, [concept]))[0]:
            readable.append(concept)
        else:
            unreadable.append(concept.name)
    return readable, left_out_warnings(unreadable, "has no vector")


def text_embeddings(
    evidence: Evidence, concepts: Sequence[TestConcept]
) -> Float64Array:
    """Return the concepts' text embeddings, shape (concepts, d)."""
    texts = [concept.prompt for concept in concepts]
    return evidence.texts(texts).astype(np.float64)
