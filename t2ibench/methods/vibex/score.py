"""The scores of a ViBEx task's concept queries (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import HeadlineEstimate, contradiction
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.core.text_vectors import has_vector
from t2ibench.methods.vibex.controls import controls_of
from t2ibench.methods.vibex.forward import forward_queries
from t2ibench.methods.vibex.headline import headline_of_encoders
from t2ibench.methods.vibex.intersection import intersections
from t2ibench.methods.vibex.inverse import inverse_queries
from t2ibench.methods.vibex.needs import readable_concepts
from t2ibench.methods.vibex.published import mean_distance
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.squared_effects import ProbingResult
from t2ibench.methods.vibex.verdicts import with_verdicts
from t2ibench.settings import Settings


def score(task: VibexTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Return the result of a task: the scores of every concept in relation to the anchors.

    With cosines of images and texts, k anchors c_j, a concept t and R reference words:

        m            = mean cosine of t with the images of c_1 less that with the images of c_2,
                       less the mean of this over the reference words (of more than two anchors
                       the range of their centred means)
        beyond_words = the same on the images' parts orthogonal to the differences of the anchors'
                       own texts: what those texts say needs no image
        percentile   = the share of reference words whose effect beyond words is smaller
        p of both    = the larger of (1 + number of reference effects as large) / (R + 1) and
                       Welch's p of the images
        share:c_j    = share of the concept's own images on the side of c_j, corrected for anchor
                       images that land on the wrong side; lean = share of c_1 less that of c_2

    The headline is (V / c - W) / (V / c + W), with V the mean squared effect beyond words of the
    concepts and W that of the reference; random sets of words, as related, read 0 on average. As
    published (Eschner et al. 2025, equations 1 to 4 and appendix
    B), with s(I, T) = (cos(I, T) + 1) / 2:

        P(t | c_j)             = mean of s(I, t) over the images I of anchor j
        probability:c_j        = P(c_j | t) = P(t | c_j) / (sum over i of P(t | c_i))
        probability_difference = max over j of P(c_j | t) - min over j of P(c_j | t)
        D                      = the largest two-sample Kolmogorov-Smirnov distance between the
                                 similarities s(I, t) of two anchors' images
        delta                  = Cliff's delta, P(s_1 > s_2) - P(s_1 < s_2), positive: nearer the
                                 first of two anchors
        x                      = mean over images I of the concept of s(I, c_2) - s(I, c_1)

    Args:
        task: The task.
        evidence: One encoder's embeddings.
        settings: How to measure.

    Returns:
        A row for each forward and inverse query and each intersection; for the task the headline,
        and the share of published tendencies that come out.
    """
    collector = ImageCollector(evidence)
    scene = _scene(task, evidence, settings, collector)
    reason = _reason_for_no_score(scene)
    if reason is not None:
        return MethodResult.undefined(reason, collector)
    readable, warnings = readable_concepts(task, evidence, settings)
    asked_forward = [concept for concept in readable if concept.query == "forward"]
    forward, reason = forward_queries(scene, asked_forward, evidence, warnings)
    inverse_items, inverse_samples = inverse_queries(
        scene, readable, evidence, collector
    )
    crossed_items = intersections(scene, evidence)
    result = ProbingResult(
        headline=HeadlineEstimate.undefined(reason, "excess"),
        by=[*inverse_items, *crossed_items],
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        samples=inverse_samples,
        warnings=warnings,
    )
    if forward is None:
        return with_verdicts(task, result)
    headline = headline_of_encoders([forward.squares], task, settings)
    controls = controls_of(scene, forward, len(asked_forward), headline)
    result = replace(
        result,
        headline=headline,
        scores=mean_distance([item.scores for item in forward.items]),
        by=[*forward.items, *result.by],
        samples=[*forward.samples, *result.samples],
        controls=controls,
        inconclusive=contradiction(controls),
        squares=forward.squares,
    )
    return with_verdicts(task, result)


def _scene(
    task: VibexTask, evidence: Evidence, settings: Settings, collector: ImageCollector
) -> Scene:
    """Return the images and texts of a task's anchors."""
    n_images = settings.images(task.images_per_prompt)
    pool = collector.collect([anchor.prompt for anchor in task.anchors], n_images)
    texts = evidence.texts([anchor.text or anchor.prompt for anchor in task.anchors])
    return Scene(task, settings, pool, texts.astype(np.float64))


def _reason_for_no_score(scene: Scene) -> str | None:
    """Return which anchors have no image or no text vector; None if all have both."""
    without_images = [
        name
        for number, name in enumerate(scene.anchor_names)
        if not (scene.labels == number).any()
    ]
    if without_images:
        return f"no image of: {', '.join(without_images)}"
    have_vectors = has_vector(scene.anchors)
    without_vectors = [
        name
        for name, has_text in zip(scene.anchor_names, have_vectors, strict=True)
        if not has_text
    ]
    if without_vectors:
        names = ", ".join(without_vectors)
        return f"the encoder has no vectors of the texts of: {names}"
    return None
