"""Concept queries against anchors (Eschner et al. 2025, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import (
    Estimate,
    Item,
    MethodResult,
    ranking,
    recentred,
    share_estimate,
)
from t2ibench.methods.core.evidence import Evidence, ImageCollector, PromptImages
from t2ibench.methods.core.needs import Needs, PromptNeed
from t2ibench.methods.vibex.schema import TestConcept, VibexTask
from t2ibench.settings import Settings
from t2ibench.stats import (
    cliffs_delta,
    group_distance,
    one_sample_bootstrap,
    shuffled_labels,
    sign_flip_permutation,
)

_DRAWS = 5000  # shuffles and resamples of the distance


def similarity(images: npt.NDArray[Any], texts: npt.NDArray[Any]) -> Float64Array:
    """(cosine + 1) / 2 (equation 1).

    Args:
        images: Shape (n, d), unit rows.
        texts: Shape (m, d), unit rows.

    Returns:
        Shape (m, n).
    """
    cosines: Float64Array = (texts @ images.T).astype(
        np.float64
    )  # in the embeddings' own precision
    found: Float64Array = (cosines + 1.0) / 2.0
    return found


def anchor_probabilities(similarities: Float64Array, labels: IntArray, k: int) -> Float64Array:
    """P(anchor | concept) with equal priors (equations 2 and 3).

    Args:
        similarities: Shape (m, n).
        labels: Shape (n,), each image's anchor.
        k: Number of anchors.

    Returns:
        Shape (m, k), rows of sum 1; nan where an anchor has no image.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.stack(
            [similarities[:, labels == j].sum(axis=1) / (labels == j).sum() for j in range(k)],
            axis=1,
        )
        found: Float64Array = means / means.sum(axis=1, keepdims=True)
    return found


def _asked(task: VibexTask, settings: Settings) -> list[TestConcept]:
    return [
        one
        for query in ("forward", "inverse")
        for one in settings.limited([each for each in task.concepts if each.query == query])
    ]


def needs(task: VibexTask, settings: Settings) -> Needs:
    """Images of the anchors and of inverse queries; texts of anchors and concepts."""
    n = settings.images(task.images_per_prompt)
    m = settings.guided_images_per_prompt or task.inverse_images
    concepts = _asked(task, settings)
    prompts = [PromptNeed(one.prompt, n) for one in task.anchors]
    prompts += [PromptNeed(one.prompt, m) for one in concepts if one.query == "inverse"]
    texts = [one.text or one.prompt for one in task.anchors] + [one.prompt for one in concepts]
    texts += [one.prompt for one in task.concepts if one.name in _paired(task)]
    return Needs(tuple(prompts), tuple(dict.fromkeys(texts)))


def _paired(task: VibexTask) -> set[str]:
    return {name for pair in task.intersections for name in pair}


@dataclass(slots=True)
class _Scene:
    """Everything the queries of one task look at.

    Attributes:
        pool: Images of all anchors; their cluster is their anchor.
        anchors: Text embeddings, shape (k, d).
        settings: How to measure.
        task: The task.
    """

    task: VibexTask
    settings: Settings
    pool: PromptImages
    anchors: Float64Array

    @property
    def k(self) -> int:
        return len(self.task.anchors)

    def rng(self, purpose: str) -> np.random.Generator:
        return self.settings.rng(self.task.id, purpose)


def score(task: VibexTask, evidence: Evidence, settings: Settings) -> MethodResult:
    """Every concept against the anchors.

    Returns:
        Forward queries: 'D' (the largest KS distance between two anchors, with its p-value),
        'probability_difference', each anchor's 'probability', and with two anchors 'delta'
        (Cliff's, positive: nearer the first anchor). Inverse queries: each anchor's
        'share_nearest', and with two anchors 'x' (equation 4, positive: nearer the second).
        Intersections: each anchor's 'share_both'. For the task the mean D, and the share of
        published tendencies that come out.
    """
    gatherer = ImageCollector(evidence)
    n = settings.images(task.images_per_prompt)
    pool = gatherer.collect([one.prompt for one in task.anchors], n)
    result = MethodResult(Estimate.undefined(""))
    texts = evidence.texts([one.text or one.prompt for one in task.anchors])
    scene = _Scene(task, settings, pool, texts)
    empty = [one.name for j, one in enumerate(task.anchors) if not (pool.clusters == j).any()]
    concepts = _asked(task, settings)
    result.conventions = {
        "similarity": "(cosine + 1) / 2",
        "D": "largest Kolmogorov-Smirnov distance between two anchors",
        "headline": "mean D over the forward queries",
        "null": "labels of the anchor images shuffled",
        "unit": "image: an anchor has one prompt",
        "delta": f"positive is nearer '{task.anchors[0].name}'",
    }
    if empty:
        result.reason = f"no image of: {', '.join(empty)}"
        result.headline = Estimate.undefined(result.reason)
    else:
        _forward(scene, [one for one in concepts if one.query == "forward"], evidence, result)
        for one in concepts:
            if one.query == "inverse":
                _inverse(scene, one, gatherer, evidence, result)
        _intersections(scene, evidence, result)
        _published(task, result)
    result.n_images, result.n_prompts = gatherer.n_images, gatherer.n_prompts
    result.excluded = gatherer.excluded
    return result


def _forward(
    scene: _Scene, concepts: list[TestConcept], evidence: Evidence, result: MethodResult
) -> None:
    if not concepts:
        result.headline = Estimate.undefined("the task has no forward query")
        return
    pool, k = scene.pool, scene.k
    values = similarity(pool.embeddings, evidence.texts([one.prompt for one in concepts]))
    distances = group_distance(values, pool.clusters)
    n_null = min(_DRAWS, scene.settings.n_permutations)
    shuffles = shuffled_labels(pool.clusters, n_null, scene.rng("shuffled anchors"))
    nulls = group_distance(values, shuffles)
    picks = _resamples(pool.clusters, min(_DRAWS, scene.settings.n_bootstrap), scene)
    chances = anchor_probabilities(values, pool.clusters, k)
    boots = np.empty((len(picks), len(concepts)))
    drawn = np.empty((len(picks), len(concepts), k))
    for row, pick in enumerate(picks):
        labels = pool.clusters[pick]
        boots[row] = group_distance(values[:, pick], labels)
        drawn[row] = anchor_probabilities(values[:, pick], labels, k)
    for place, one in enumerate(concepts):
        distance = float(distances[place])
        centred = recentred(boots[:, place], distance)
        item = Item(
            one.name,
            {"D": Estimate.from_null(distance, centred, nulls[:, place])},
            "forward",
            len(pool),
        )
        spread = chances[place].max() - chances[place].min()
        spreads = drawn[:, place].max(axis=1) - drawn[:, place].min(axis=1)
        item.scores["probability_difference"] = Estimate(float(spread), recentred(spreads, spread))
        for j, anchor in enumerate(scene.task.anchors):
            item.scores[f"probability:{anchor.name}"] = Estimate(
                float(chances[place, j]), drawn[:, place, j]
            )
        if k == 2:
            first, second = (values[place][pool.clusters == j] for j in (0, 1))
            item.scores["delta"] = Estimate(float(cliffs_delta(first, second)))
        result.by.append(item)
    mean = float(distances.mean())
    null = nulls.mean(axis=1)
    boot = recentred(boots.mean(axis=1), mean)
    result.headline = Estimate.from_null(mean, boot, null)
    result.scores["D_mean"] = result.headline
    names = [one.name for one in concepts]
    result.details["ranking"] = ranking("concept", names, boots.T, scene.settings.level)
    result.samples += [
        {
            "prompt": pool.prompts[anchor],
            "index": int(pool.indices[place]),
            "similarities": {
                one.name: float(values[row, place]) for row, one in enumerate(concepts)
            },
        }
        for place, anchor in enumerate(pool.clusters)
    ]


def _resamples(labels: IntArray, n_draws: int, scene: _Scene) -> IntArray:
    """Images drawn with replacement within each anchor, shape (draws, n)."""
    rng = scene.rng("bootstrap of the anchor images")
    parts = []
    for j in range(scene.k):
        own = np.flatnonzero(labels == j)
        parts.append(own[rng.integers(len(own), size=(n_draws, len(own)))])
    found: IntArray = np.concatenate(parts, axis=1)
    return found


def _inverse(
    scene: _Scene,
    one: TestConcept,
    gatherer: ImageCollector,
    evidence: Evidence,
    result: MethodResult,
) -> None:
    """New images of a concept, and which anchor's text they are nearest."""
    m = scene.settings.guided_images_per_prompt or scene.task.inverse_images
    pool = gatherer.collect([one.prompt], m)
    item = Item(one.name, {}, "inverse", len(pool))
    result.by.append(item)
    if not len(pool):
        item.scores["x"] = Estimate.undefined("the concept has no image")
        return
    values = similarity(pool.embeddings, scene.anchors)
    nearest = values.argmax(axis=0)
    rng = scene.rng(f"inverse {one.name}")
    n_draws = scene.settings.n_bootstrap
    for j, anchor in enumerate(scene.task.anchors):
        share = float((nearest == j).mean())
        item.scores[f"share_nearest:{anchor.name}"] = Estimate(
            share, rng.binomial(len(pool), share, n_draws) / len(pool)
        )
    if scene.k == 2:
        x = values[1] - values[0]
        settings = scene.settings
        flips = sign_flip_permutation(
            x,
            n_draws=min(settings.n_permutations, 20_000),
            max_exact=settings.max_exact,
            rng=rng,
        )
        boot = one_sample_bootstrap(x, statistics=("mean",), n_draws=n_draws, rng=rng)
        item.scores["x"] = Estimate.from_permutation(flips, boot["mean"])
    (own,) = similarity(pool.embeddings, evidence.texts([one.prompt]))
    result.samples += [
        {
            "prompt": one.prompt,
            "index": int(index),
            "anchors": {
                anchor.name: float(values[j, place]) for j, anchor in enumerate(scene.task.anchors)
            },
            "own": float(own[place]),
        }
        for place, index in enumerate(pool.indices)
    ]


def _intersections(scene: _Scene, evidence: Evidence, result: MethodResult) -> None:
    """Two concepts at once: each anchor's share of images that show more of both than usual."""
    texts = {one.name: one.prompt for one in scene.task.concepts}
    for first, second in scene.task.intersections:
        values = similarity(scene.pool.embeddings, evidence.texts([texts[first], texts[second]]))
        usual = np.median(values, axis=1)[:, None]
        both: Float64Array = np.all(values > usual, axis=0).astype(np.float64)
        labels = scene.pool.clusters
        shares = np.array([both[labels == j].mean() for j in range(scene.k)])
        rng = scene.rng(f"intersection of {first} and {second}")
        n_draws = min(_DRAWS, scene.settings.n_permutations)
        shuffled = shuffled_labels(labels, n_draws, rng)
        dealt = np.stack(
            [(both * (shuffled == j)).sum(axis=1) / (labels == j).sum() for j in range(scene.k)]
        )
        spread = float(shares.max() - shares.min())
        null = dealt.max(axis=0) - dealt.min(axis=0)
        item = Item(f"{first} & {second}", {}, "intersection", len(both))
        item.scores["difference"] = Estimate.from_null(spread, None, null)
        for j, anchor in enumerate(scene.task.anchors):
            size = int((labels == j).sum())
            item.scores[f"share_both:{anchor.name}"] = Estimate(
                float(shares[j]), rng.binomial(size, shares[j], scene.settings.n_bootstrap) / size
            )
        result.by.append(item)


def _published(task: VibexTask, result: MethodResult) -> None:
    """How many of the published tendencies come out here."""
    known = {one.name: one.tendency for one in task.concepts if one.tendency}
    rows = []
    for item in result.by:
        published = known.get(item.name)
        found = tendency(task, item)
        if published is not None and found is not None and item.group != "intersection":
            rows.append({"concept": item.name, "published": published, "found": found})
    result.details["tendencies"] = rows
    decided = [row for row in rows if row["published"] != "balanced"]
    if decided:
        hits = sum(row["published"] == row["found"] for row in decided)
        result.scores["tendencies_reproduced"] = share_estimate(hits, len(decided))


def tendency(task: VibexTask, item: Item) -> str | None:
    """The anchor that a concept leans to."""
    kind = "probability" if item.group == "forward" else "share_nearest"
    values = {one.name: item.scores.get(f"{kind}:{one.name}") for one in task.anchors}
    known = {name: one.value for name, one in values.items() if one and one.value is not None}
    return max(known, key=lambda name: known[name]) if known else None
