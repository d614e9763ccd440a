"""Concept queries against anchors (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult, share_estimate
from t2ibench.methods.core.evidence import Evidence, ImageCollector
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.vibex.queries import Scene, forward, intersection, inverse
from t2ibench.methods.vibex.schema import TestConcept, VibexTask
from t2ibench.settings import Settings


def needs(task: VibexTask, settings: Settings) -> Needs:
    """Images of the anchors and of inverse queries; texts of anchors and concepts.

    Args:
        task: The task.
        settings: How many images and concepts.

    Returns:
        The prompts, and each text once.
    """
    n = settings.images(task.images_per_prompt)
    m = settings.guided_images_per_prompt or task.inverse_images
    concepts = _asked(task, settings)
    prompts = [PromptNeed(anchor.prompt, n) for anchor in task.anchors]
    prompts += [PromptNeed(concept.prompt, m) for concept in concepts if concept.query == "inverse"]
    paired = {name for pair in task.intersections for name in pair}
    texts = [anchor.text or anchor.prompt for anchor in task.anchors]
    texts += [concept.prompt for concept in concepts]
    texts += [concept.prompt for concept in task.concepts if concept.name in paired]
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

    With s(I, T) = (cos(I, T) + 1) / 2 for an image and a text, k anchors c_j and a concept t
    (Eschner et al. 2025, equations 1 to 4 and appendix B):

        P(t | c_j)             = mean of s(I, t) over the images I of anchor j
        probability:c_j        = P(c_j | t) = P(t | c_j) / (sum over i of P(t | c_i))
        probability_difference = max over j of P(c_j | t) - min over j of P(c_j | t)
        D                      = the largest two-sample Kolmogorov-Smirnov distance between the
                                 similarities s(I, t) of two anchors' images
        delta                  = Cliff's delta, P(s_1 > s_2) - P(s_1 < s_2), positive: nearer the
                                 first of two anchors
        x                      = mean over images I of the concept of s(I, c_2) - s(I, c_1)

    D is tested by shuffling the anchors of the images, x by flipping its signs. The headline is
    the mean D over the forward queries.

    Args:
        task: The task.
        evidence: One encoder's embeddings.
        settings: How to measure.

    Returns:
        Forward queries: 'D', 'probability_difference', each anchor's 'probability', and with two
        anchors 'delta'. Inverse queries: each anchor's 'share_nearest', and with two anchors 'x'
        (positive: nearer the second). Intersections: each anchor's 'share_both' and their
        'difference'. For the task the mean D, and the share of published tendencies that come
        out.
    """
    collector = ImageCollector(evidence)
    n = settings.images(task.images_per_prompt)
    pool = collector.collect([anchor.prompt for anchor in task.anchors], n)
    texts = evidence.texts([anchor.text or anchor.prompt for anchor in task.anchors])
    scene = Scene(task, settings, pool, texts)
    empty = [anchor.name for j, anchor in enumerate(task.anchors) if not (scene.labels == j).any()]
    reason = f"no image of: {', '.join(empty)}" if empty else None
    answers = (
        _Queries(Estimate.undefined(reason)) if reason else _queries(scene, collector, evidence)
    )
    return MethodResult(
        headline=answers.headline,
        scores=answers.scores,
        by=list(answers.items),
        n_images=collector.n_images,
        n_prompts=collector.n_prompts,
        excluded=collector.excluded,
        conventions={
            "similarity": "(cosine + 1) / 2",
            "D": "largest Kolmogorov-Smirnov distance between two anchors",
            "headline": "mean D over the forward queries",
            "null": "labels of the anchor images shuffled",
            "unit": "image: an anchor has one prompt",
            "delta": f"positive is nearer '{task.anchors[0].name}'",
        },
        details=answers.details,
        samples=answers.samples,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class _Queries:
    """What all queries of a task say; see the fields of `MethodResult`."""

    headline: Estimate
    scores: dict[str, Estimate] = field(default_factory=dict)
    items: tuple[Item, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)


def _queries(scene: Scene, collector: ImageCollector, evidence: Evidence) -> _Queries:
    """Ask everything; every anchor has an image."""
    task, settings = scene.task, scene.settings
    concepts = _asked(task, settings)
    ahead = [concept for concept in concepts if concept.query == "forward"]
    back = [concept for concept in concepts if concept.query == "inverse"]
    m = settings.guided_images_per_prompt or task.inverse_images
    forwards = forward(scene, ahead, _texts(evidence, ahead)) if ahead else None
    inverses = [
        inverse(scene, concept, collector.collect([concept.prompt], m), _texts(evidence, [concept]))
        for concept in back
    ]
    by_name = {concept.name: concept for concept in task.concepts}
    crossed = [
        intersection(scene, first, second, _texts(evidence, [by_name[first], by_name[second]]))
        for first, second in task.intersections
    ]
    queried = [*(forwards.items if forwards else ()), *(query.item for query in inverses)]
    rows = _tendencies(task, queried)
    scores = {"D_mean": forwards.headline} if forwards else {}
    return _Queries(
        forwards.headline if forwards else Estimate.undefined("the task has no forward query"),
        scores | _reproduced(rows),
        (*queried, *crossed),
        ({"ranking": forwards.ranking} if forwards else {})
        | {"tendencies": [asdict(row) for row in rows]},
        [
            *(forwards.samples if forwards else ()),
            *(row for query in inverses for row in query.samples),
        ],
    )


def _texts(evidence: Evidence, concepts: Sequence[TestConcept]) -> Float64Array:
    return evidence.texts([concept.prompt for concept in concepts])


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
    published = {concept.name: concept.tendency for concept in task.concepts if concept.tendency}
    pairs = [(item.name, tendency(task, item)) for item in items if item.name in published]
    return [
        Tendency(name, published[name], measured)
        for name, measured in pairs
        if measured is not None
    ]


def _reproduced(rows: Sequence[Tendency]) -> dict[str, Estimate]:
    """The share of published tendencies that this run confirms, without 'balanced' ones."""
    decided = [row for row in rows if row.published != "balanced"]
    if not decided:
        return {}
    hits = sum(row.published == row.found for row in decided)
    return {"tendencies_reproduced": share_estimate(hits, len(decided))}


def tendency(task: VibexTask, item: Item) -> str | None:
    """The anchor that a concept leans to.

    Args:
        task: The task.
        item: A row of a forward or an inverse query.

    Returns:
        The anchor with the largest probability or share; None without values.
    """
    values = anchor_values(task, item)
    return max(values, key=lambda name: values[name]) if values else None


def anchor_values(task: VibexTask, item: Item) -> dict[str, float]:
    """Each anchor's probability (forward) or share of nearest images (inverse).

    Args:
        task: The task.
        item: A row of a forward or an inverse query.

    Returns:
        Anchor to its value, where it has one.
    """
    kind = "probability" if item.group == "forward" else "share_nearest"
    scores = {anchor.name: item.scores.get(f"{kind}:{anchor.name}") for anchor in task.anchors}
    return {
        name: estimate.value
        for name, estimate in scores.items()
        if estimate is not None and estimate.value is not None
    }
