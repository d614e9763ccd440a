"""Forward queries: how much of each concept the images of each anchor show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate, Item
from t2ibench.methods.core.headline import t_inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.probing import similarity
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effect_influence,
    effects,
    image_p,
    nearness,
    place,
)
from t2ibench.methods.vibex.excess import Squares
from t2ibench.methods.vibex.published import published_scores
from t2ibench.methods.vibex.scene import Scene
from t2ibench.methods.vibex.schema import TestConcept
from t2ibench.stats.student import t_test

EFFECTS = ("m", "beyond_words")  # whose null draws are the effects of the reference words


@dataclass(frozen=True, slots=True)
class Forward:
    """All forward queries of a task.

    Attributes:
        items: A row for each concept.
        squares: What the headline is made of.
        plain: The images beside concepts and reference.
        beyond: The same without what tells the anchors' texts apart.
        text_only: Effect of each concept and reference word on the anchors' texts, shape (m + r,).
        samples: A row for each image of an anchor.
    """

    items: tuple[Item, ...]
    squares: Squares
    plain: Nearness
    beyond: Nearness
    text_only: Float64Array
    samples: list[dict[str, Any]]


def forward(
    scene: Scene, concepts: Sequence[TestConcept], texts: Float64Array, reference: Float64Array
) -> Forward:
    """How far the anchors' images differ in each concept, beside reference words.

    Args:
        scene: The anchors.
        concepts: The m concepts.
        texts: Their text embeddings, shape (m, d).
        reference: Text embeddings of the reference words, shape (r, d).

    Returns:
        See `t2ibench.methods.vibex.score.score`.
    """
    pool, m = scene.pool, len(concepts)
    plain = nearness(pool.embeddings, scene.labels, scene.k, texts, reference)
    rest = beyond_words(pool.embeddings, scene.anchors)
    beyond = nearness(rest, scene.labels, scene.k, texts, reference)
    words = scene.anchors @ (np.concatenate([texts, reference]) - reference.mean(axis=0)).T
    text_only = words[0] - words[1] if scene.k == 2 else np.ptp(words, axis=0)
    values = similarity(pool.embeddings, texts)
    by_name = {
        "beyond_words": effect_scores(beyond, m, scene.strata, pool.indices, scene.level),
        "m": effect_scores(plain, m, scene.strata, pool.indices, scene.level),
    }
    percentiles, _ = place(effects(beyond)[:m], effects(beyond)[m:])
    published = published_scores(scene, values)
    items = []
    for index, concept in enumerate(concepts):
        scores = {name: estimates[index] for name, estimates in by_name.items()}
        scores["percentile"] = Estimate(float(percentiles[index]))
        scores["text_only"] = Estimate(float(text_only[index]))
        if scene.k > 2:
            scores |= _means(scene, "m", plain, index) | _means(
                scene, "beyond_words", beyond, index
            )
        items.append(Item(concept.name, scores | published[index], "forward", len(pool)))
    return Forward(
        tuple(items),
        Squares.of(beyond, m, scene.strata, pool.indices),
        plain,
        beyond,
        text_only,
        _samples(scene, [concept.name for concept in concepts], values),
    )


def effect_scores(
    found: Nearness, m: int, strata: Sequence[str], units: IntArray, level: float
) -> list[Estimate]:
    """Effects of concepts, each with its place among the reference words.

    p is the larger of two: that the effect is none of the reference's, and that the images' own
    variation does not explain it. A concept has to pass both.

    Args:
        found: The images beside m concepts and, after them, the reference.
        m: Number of concepts.
        strata: The anchors' prompts, shape (k,).
        units: The number of each image within its anchor, shape (n,).
        level: Confidence level, in (0, 1).

    Returns:
        One a concept; its null draws are the effects of the reference words.
    """
    values = effects(found)
    _, places = place(values[:m], values[m:])
    noise = image_p(found.columns(slice(0, m)))
    estimates = []
    for index in range(m):
        influence = effect_influence(found, index, strata, units)
        inference = t_inference(float(values[index]), influence, level)
        estimates.append(
            Estimate(
                float(values[index]),
                null=values[m:],
                p=float(max(places[index], noise[index])),
                test="rank",
                interval=inference.interval,
                influence=influence,
            )
        )
    return estimates


def averaged_effect(estimates: Sequence[Estimate], k: int, level: float) -> Estimate:
    """The effect of one concept over encoders.

    The value is the mean; its p compares the mean of each encoder's effect, in units of the spread
    of its reference, with that of each reference word.
    """
    known = [e for e in estimates if e.null is not None and e.influence is not None]
    if len(known) < len(estimates) or any(e.value is None for e in estimates):
        return Estimate.undefined("an encoder has no value")
    nulls = [np.asarray(e.null) for e in known]
    spreads = [float(np.sqrt(np.mean(null**2))) or 1.0 for null in nulls]
    scaled = [float(e.value or 0.0) / s for e, s in zip(known, spreads, strict=True)]
    null = np.mean([null / s for null, s in zip(nulls, spreads, strict=True)], axis=0)
    _, places = place([np.mean(scaled)], null)
    influences = [e.influence for e in known if e.influence is not None]
    pairs = [(1.0 / s / len(known), i) for s, i in zip(spreads, influences, strict=True)]
    moved = Influence.combined(pairs)
    noise = t_test(float(np.mean(scaled)), moved.variance, moved.df) * k * (k - 1) / 2
    value = float(np.mean([e.value for e in known]))
    influence = Influence.combined([(1.0 / len(known), part) for part in influences])
    inference = t_inference(value, influence, level)
    p = float(max(places[0], min(1.0, np.nan_to_num(noise, nan=1.0))))
    return Estimate(
        value, null=null, p=p, test="rank", interval=inference.interval, influence=influence
    )


def _means(scene: Scene, name: str, found: Nearness, column: int) -> dict[str, Estimate]:
    """Each anchor's mean, where an effect has no side."""
    return {
        f"{name}:{anchor.name}": Estimate(float(found.means[j, column]))
        for j, anchor in enumerate(scene.task.anchors)
    }


def _samples(scene: Scene, names: Sequence[str], values: Float64Array) -> list[dict[str, Any]]:
    pool = scene.pool
    own = similarity(pool.embeddings, scene.anchors)
    return [
        {
            "prompt": pool.prompts[anchor],
            "index": int(pool.indices[image]),
            "anchors": {a.name: float(own[j, image]) for j, a in enumerate(scene.task.anchors)},
            "similarities": {name: float(values[row, image]) for row, name in enumerate(names)},
        }
        for image, anchor in enumerate(scene.labels)
    ]
