"""Concept queries against anchors (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.averages import average_results
from t2ibench.methods.core.controls import contradiction
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult, share_estimate
from t2ibench.methods.core.evidence import Evidence, ImageCollector
from t2ibench.methods.core.headline import Headline
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.vibex.controls import controls
from t2ibench.methods.vibex.excess import Squares, excess_headline
from t2ibench.methods.vibex.forward import EFFECTS, averaged_effect, forward
from t2ibench.methods.vibex.inverse import intersection, inverse
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.schema import TestConcept, VibexTask
from t2ibench.methods.vibex.verdicts import tendency, verdicts
from t2ibench.settings import Settings

_SETS = 20_000  # random sets of reference words


def needs(task: VibexTask, settings: Settings) -> Needs:
    """Images of the anchors and of inverse queries; texts of anchors, concepts and reference."""
    n = settings.images(task.images_per_prompt)
    m = settings.images(task.inverse_images)
    concepts = _asked(task, settings)
    prompts = [PromptNeed(anchor.prompt, n, anchor.name) for anchor in task.anchors]
    prompts += [
        PromptNeed(concept.prompt, m, "concepts")
        for concept in concepts
        if concept.query == "inverse"
    ]
    paired = {name for pair in task.intersections for name in pair}
    texts = [anchor.text or anchor.prompt for anchor in task.anchors]
    texts += [concept.prompt for concept in concepts]
    texts += [concept.prompt for concept in task.concepts if concept.name in paired]
    if any(concept.query == "forward" for concept in concepts):
        texts += task.reference.texts
    return Needs(tuple(prompts), tuple(dict.fromkeys(texts)))


def _asked(task: VibexTask, settings: Settings) -> list[TestConcept]:
    """The concepts of forward queries, then those of inverse ones."""
    return [
        concept
        for query in ("forward", "inverse")
        for concept in settings.limited(
            [concept for concept in task.concepts if concept.query == query]
        )
    ]


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

    The headline is (V - W) / (V + W), with V the mean squared effect beyond words of the concepts
    and W that of the reference. As published (Eschner et al. 2025, equations 1 to 4 and appendix
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
    n = settings.images(task.images_per_prompt)
    pool = collector.collect([anchor.prompt for anchor in task.anchors], n)
    texts = evidence.texts([anchor.text or anchor.prompt for anchor in task.anchors])
    scene = Scene(task, settings, pool, texts.astype(np.float64))
    empty = [anchor.name for j, anchor in enumerate(task.anchors) if not (scene.labels == j).any()]
    if empty:
        reason = f"no image of: {', '.join(empty)}"
        return MethodResult.undefined(reason, collector)
    return with_verdicts(task, _queries(scene, collector, evidence))


def _queries(scene: Scene, collector: ImageCollector, evidence: Evidence) -> ProbingResult:
    """Ask everything; every anchor has an image."""
    task, settings = scene.task, scene.settings
    concepts = _asked(task, settings)
    ahead = [concept for concept in concepts if concept.query == "forward"]
    back = [concept for concept in concepts if concept.query == "inverse"]
    m = settings.images(task.inverse_images)
    found = None
    if ahead:
        reference = evidence.texts(task.reference.texts).astype(np.float64)
        found = forward(scene, ahead, _texts(evidence, ahead), reference)
    inverses = [
        inverse(scene, concept, collector.collect([concept.prompt], m), _texts(evidence, [concept]))
        for concept in back
    ]
    by_name = {concept.name: concept for concept in task.concepts}
    crossed = [
        intersection(scene, first, second, _texts(evidence, [by_name[first], by_name[second]]))
        for first, second in task.intersections
    ]
    headline = Headline.undefined("the task has no forward query", "excess")
    if found:
        rng = scene.rng("sets of reference words")
        n_draws = min(_SETS, settings.n_permutations)
        headline = excess_headline([found.squares], settings.level, rng, n_draws)
    checks = controls(scene, found, len(ahead), headline) if found else {}
    return ProbingResult(
        headline=headline,
        scores={"D_mean": _mean_distance(found.items)} if found else {},
        by=[
            *(found.items if found else ()),
            *(query.item for query in inverses),
            *crossed,
        ],
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        conventions=_conventions(task),
        samples=[
            *(found.samples if found else ()),
            *(row for query in inverses for row in query.samples),
        ],
        controls=checks,
        inconclusive=contradiction(checks),
        squares=found.squares if found else None,
    )


def _conventions(task: VibexTask) -> dict[str, Any]:
    first = task.anchors[0].name
    return {
        "similarity": "cosine; (cosine + 1) / 2 in the published scores",
        "reference": f"{len(task.reference.words)} everyday words as '{task.reference.template}'",
        "p of m and beyond_words": "place among the reference words and variation of the images: "
        "the larger",
        "headline": "(V - W) / (V + W) of the mean squared beyond_words of concepts and reference",
        "sign": f"positive is nearer '{first}'" if len(task.anchors) == 2 else "none",
        "p of D": "anchors of the images shuffled: whether they look alike to the concept",
        "unit": "image: an anchor has one prompt",
    }


def _mean_distance(items: Sequence[Item]) -> Estimate:
    values = [item.scores["D"].value for item in items]
    return Estimate(float(np.mean([v for v in values if v is not None])), as_published=True)


def _texts(evidence: Evidence, concepts: Sequence[TestConcept]) -> Float64Array:
    return evidence.texts([concept.prompt for concept in concepts]).astype(np.float64)


@dataclass(frozen=True, slots=True)
class ProbingResult(MethodResult):
    """A result that can be averaged over encoders.

    Attributes:
        squares: What the headline is made of.
    """

    squares: Squares | None = None


def combine(task: VibexTask, results: Sequence[MethodResult], settings: Settings) -> MethodResult:
    """The scores over all encoders: concepts against the reference, for the mean encoder."""
    if len(results) == 1 or any(result.reason for result in results):
        return average_results(results, settings.level)
    parts = [result.squares for result in results if isinstance(result, ProbingResult)]
    squares = [part for part in parts if part is not None]
    mean = average_results(results, settings.level)
    headline = mean.headline
    lacking = [result.headline for result in results if result.headline.value is None]
    if lacking:
        headline = lacking[0]
    elif len(squares) == len(results):
        rng = settings.rng(task.id, "sets of reference words")
        n_draws = min(_SETS, settings.n_permutations)
        headline = excess_headline(squares, settings.level, rng, n_draws)
    tables = [{(item.name, item.group): item for item in result.by} for result in results]
    k = len(task.anchors)
    rows = []
    for item in mean.by:
        own = [table[item.name, item.group].scores for table in tables]
        shared = [name for name in EFFECTS if all(name in scores for scores in own)]
        averaged = {
            name: averaged_effect([scores[name] for scores in own], k, settings.level)
            for name in shared
        }
        scores = item.scores | averaged | _shares_of_lean(task, item)
        rows.append(replace(item, scores=scores))
    return with_verdicts(task, replace(mean, headline=headline, by=rows))


def _shares_of_lean(task: VibexTask, item: Item) -> dict[str, Estimate]:
    """The lean to two anchors and their shares, with its interval, which ends at ±1."""
    lean = item.scores.get("lean")
    if lean is None or lean.value is None or lean.interval is None:
        return {}
    low = min(max(lean.interval[0], -1.0), lean.value)
    high = max(min(lean.interval[1], 1.0), lean.value)
    first, second = (f"share:{anchor.name}" for anchor in task.anchors)
    return {
        "lean": replace(lean, interval=(low, high)),
        first: Estimate((1 + lean.value) / 2, interval=((1 + low) / 2, (1 + high) / 2)),
        second: Estimate((1 - lean.value) / 2, interval=((1 - high) / 2, (1 - low) / 2)),
    }


def with_verdicts(task: VibexTask, result: MethodResult) -> MethodResult:
    """A result with what its rows say together."""
    found = verdicts(task, result.by)
    rows = _tendencies(task, result.by)
    lines = [
        {"concept": one.concept, "verdict": one.verdict.outcome, "anchor": one.anchor,
         "p": one.p, "says": one.verdict.says}
        for one in found
    ]  # fmt: skip
    warnings = [
        f"'{one.concept}' is inconclusive: {one.verdict.says}."
        for one in found
        if one.verdict.contradiction
    ]
    return replace(
        result,
        scores=result.scores | _reproduced(rows),
        warnings=[*result.warnings, *(line for line in warnings if line not in result.warnings)],
        details=result.details | {"verdicts": lines, "tendencies": [asdict(row) for row in rows]},
    )


@dataclass(frozen=True, slots=True)
class Tendency:
    """A published tendency and the one measured here, as an entry of `details`.

    Attributes:
        concept: The concept.
        published: The anchor that a publication associates it with, or 'balanced'.
        found: The anchor that it leans to in this run.
    """

    concept: str
    published: str
    found: str


def _tendencies(task: VibexTask, items: Sequence[Item]) -> list[Tendency]:
    published: dict[tuple[str, str | None], str | None] = {
        (one.name, one.query): one.tendency for one in task.concepts
    }
    rows = []
    for item in items:
        expected = published.get((item.name, item.group))
        measured = tendency(task, item)
        if expected is not None and measured is not None:
            rows.append(Tendency(item.name, expected, measured))
    return rows


def _reproduced(rows: Sequence[Tendency]) -> dict[str, Estimate]:
    """The share of published tendencies that this run confirms, without 'balanced' ones."""
    decided = [row for row in rows if row.published != "balanced"]
    if not decided:
        return {}
    hits = sum(row.published == row.found for row in decided)
    return {"tendencies_reproduced": share_estimate(hits, len(decided))}
