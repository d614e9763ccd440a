"""Concept queries against anchors (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.methods.core.averages import average_results, by_key
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.evidence import Evidence, ImageCollector
from t2ibench.methods.core.headline import Headline, contradiction
from t2ibench.methods.core.text_vectors import has_vector
from t2ibench.methods.vibex.controls import controls_of
from t2ibench.methods.vibex.forward import (
    EFFECTS,
    averaged_effect,
    forward_queries,
)
from t2ibench.methods.vibex.headline import excess_headline
from t2ibench.methods.vibex.intersection import intersections
from t2ibench.methods.vibex.inverse import inverse_queries
from t2ibench.methods.vibex.needs import readable_concepts
from t2ibench.methods.vibex.published import mean_distance
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.squared_effects import SquaredEffects
from t2ibench.methods.vibex.verdicts import with_verdicts
from t2ibench.settings import Settings

# Random sets of reference words.
_MOST_SETS = 20_000


@dataclass(frozen=True, slots=True)
class ProbingResult(MethodResult):
    """A result that can be averaged over encoders.

    Attributes:
        squares: The squared effects of concepts and reference words; None without forward queries.
    """

    squares: SquaredEffects | None = None


def score(task: VibexTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Every concept against the anchors.

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
        headline=Headline.undefined(reason, "excess"),
        by=[*inverse_items, *crossed_items],
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        samples=inverse_samples,
        warnings=warnings,
    )
    if forward is None:
        return with_verdicts(task, result)
    headline = _headline([forward.squares], task, settings)
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
    """The anchors' images and texts."""
    n_images = settings.images(task.images_per_prompt)
    pool = collector.collect([anchor.prompt for anchor in task.anchors], n_images)
    texts = evidence.texts([anchor.text or anchor.prompt for anchor in task.anchors])
    return Scene(task, settings, pool, texts.astype(np.float64))


def _reason_for_no_score(scene: Scene) -> str | None:
    """Which anchors have no image, or else no text vector; None where all have both."""
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


def _headline(
    encoders: Sequence[SquaredEffects], task: VibexTask, settings: Settings
) -> Headline:
    """The excess of the concepts, as the mean encoder sees it."""
    rng = settings.rng(task.id, "sets of reference words")
    n_sets = min(_MOST_SETS, settings.n_permutations)
    return excess_headline(encoders, settings.level, rng, n_sets)


def combine(
    task: VibexTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """The scores over all encoders: concepts against the reference, for the mean encoder."""
    mean = average_results(results, settings.level)
    if len(results) == 1 or any(result.reason for result in results):
        return mean
    headline = _mean_headline(task, mean, results, settings)
    tables = by_key([result.by for result in results])
    rows = []
    for item in mean.by:
        same_rows = [table[item.name, item.group].scores for table in tables]
        effects = {
            name: averaged_effect(
                [scores[name] for scores in same_rows],
                len(task.anchors),
                settings.level,
            )
            for name in EFFECTS
            if all(name in scores for scores in same_rows)
        }
        scores = item.scores | effects | _bounded_lean(task, item)
        rows.append(replace(item, scores=scores))
    return with_verdicts(task, replace(mean, headline=headline, by=rows))


def _mean_headline(
    task: VibexTask,
    mean: MethodResult,
    results: Sequence[MethodResult],
    settings: Settings,
) -> Headline:
    """The headline for the mean encoder, or why there is none."""
    undefined = [part.headline for part in results if part.headline.value is None]
    if undefined:
        return undefined[0]
    rows_of_encoders = [
        {(item.name, item.group) for item in result.by} for result in results
    ]
    all_rows = set[tuple[str, str | None]]().union(*rows_of_encoders)
    if len(all_rows) > min(len(result.by) for result in results):
        reason = "the encoders have vectors of different texts"
        return Headline.undefined(reason, "excess")
    squares = [
        result.squares
        for result in results
        if isinstance(result, ProbingResult) and result.squares is not None
    ]
    if len(squares) < len(results):
        return mean.headline
    return _headline(squares, task, settings)


def _bounded_lean(task: VibexTask, item: Item) -> dict[str, Estimate]:
    """The lean to two anchors and their shares, with its interval, which ends at ±1."""
    lean = item.scores.get("lean")
    if lean is None or lean.value is None or lean.interval is None:
        return {}
    low = min(max(lean.interval[0], -1.0), lean.value)
    high = max(min(lean.interval[1], 1.0), lean.value)
    first, second = (f"share:{anchor.name}" for anchor in task.anchors)
    share_of_first = (1 + lean.value) / 2
    share_of_second = (1 - lean.value) / 2
    return {
        "lean": replace(lean, interval=(low, high)),
        first: Estimate(share_of_first, interval=((1 + low) / 2, (1 + high) / 2)),
        second: Estimate(share_of_second, interval=((1 - high) / 2, (1 - low) / 2)),
    }
