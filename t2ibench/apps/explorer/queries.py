"""Scores of concept texts: their similarity to images, and how it differs between anchors.

They are those that scoring a task gives: each text beside reference words, beyond what the
anchors' own texts say, with the shares of its own pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from t2ibench.apps.explorer.collection import Collection, Gallery
from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.nearest import Shares, Sides, corrected_shares
from t2ibench.methods.core.probing import Reading, similarity, verdict
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effects,
    extremes,
    grouped,
    image_p,
    place,
)
from t2ibench.methods.core.text_vectors import with_vector
from t2ibench.stats import group_distance, holm
from t2ibench.stats.student import satterthwaite, t_interval

_LEVEL = 0.95
_BLOCK = 8192  # images that are worked on at a time


@dataclass(frozen=True, slots=True)
class Question:
    """The inputs of a query: texts to score, the anchors, and the reference words for comparison.

    `family` are the texts that are tested together, such as those of a tree; `names` are what the
    anchors are called, by default their prompts.
    """

    texts: Sequence[str]
    anchors: Sequence[str]
    reference: Sequence[str]
    family: Sequence[str] = ()
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors that have images in one run, renumbered from 0, and the images of each.

    Numbers of their images and of each image's anchor, both of shape (n,), and what number each
    anchor has in the question, shape (k,).
    """

    ids: IntArray
    labels: IntArray
    present: IntArray
    prompts: list[str]

    @property
    def k(self) -> int:
        """How many anchors have images."""
        return len(self.prompts)


def anchors_of(gallery: Gallery, run: int, prompts: Sequence[str]) -> Anchors:
    """Return those of the given prompts that have images in a run, as anchors with their images."""
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    images = {prompt: gallery.of_run(run, [prompt]) for prompt in numbers}
    present = [prompt for prompt in numbers if len(images[prompt])]
    ids = [images[prompt] for prompt in present]
    sizes = [len(images_of_prompt) for images_of_prompt in ids]
    return Anchors(
        ids=np.concatenate(ids or [np.zeros(0, np.int64)]),
        labels=np.repeat(np.arange(len(present)), sizes),
        present=np.array([numbers[prompt] for prompt in present], np.int64),
        prompts=present,
    )


def similarities(collection: Collection, texts: Sequence[str]) -> Float64Array:
    """Return (cosine + 1) / 2 of every text with every image, shape (texts, images)."""
    return similarity(collection.gallery.rows, collection.texts(texts))


def spread(means: Float64Array) -> Float64Array:
    """Return each text's difference of two anchors' means, or the range of three or more means."""
    difference: Float64Array = (
        means[0] - means[1] if len(means) == 2 else np.ptp(means, axis=0)
    )
    return difference


def score_texts(
    collection: Collection, asked: Question
) -> list[list[dict[str, Any] | None]]:
    """Return each text's scores in each source; None where fewer than two anchors have images."""
    by_source = [
        _scores(collection, run, asked) for run in range(len(collection.sources))
    ]
    return [list(scores) for scores in zip(*by_source, strict=True)]


@dataclass(frozen=True, slots=True)
class Scene:
    """The anchors, reference words and centre that embeddings of queried texts are compared with.

    `words` are embeddings of the anchors' prompts, shape (k, d); `centre` is the mean of the
    reference, shape (d,); `usual` are effects of the reference beyond the anchors' words, and as
    they are. `texts` has, of each text that was asked about, the numbers that the page shows and a
    reading whose p are not adjusted.
    """

    anchors: Anchors
    words: Float64Array
    centre: Float64Array
    usual: tuple[Float64Array, Float64Array]
    texts: dict[str, tuple[dict[str, Any], Reading]] = field(default_factory=dict)


def scene_of(
    collection: Collection, anchors: Anchors, reference: Sequence[str]
) -> Scene:
    """Return anchors prepared for queries, with the effects of reference words for comparison."""
    images = collection.gallery.rows
    centres = np.stack(
        [
            images[anchors.ids[anchors.labels == anchor]].mean(axis=0, dtype=np.float64)
            for anchor in range(anchors.k)
        ]
    )
    words = collection.texts(anchors.prompts).astype(np.float64)
    rows = with_vector(collection.texts(reference, may_lack=True).astype(np.float64))
    centre = rows.mean(axis=0)
    beyond, plain = (
        spread(centres @ kind.T)
        for kind in (beyond_words(rows - centre, words), rows - centre)
    )
    return Scene(anchors, words, centre, (beyond, plain))


def _scores(
    collection: Collection, run: int, asked: Question
) -> list[dict[str, Any] | None]:
    """Return the scores and verdict of each text in one source of images."""
    scene = _scene(collection, run, asked)
    if scene is None or not asked.texts:
        return [None] * len(asked.texts)
    new = [text for text in dict.fromkeys(asked.texts) if text not in scene.texts]
    if new:
        scene.texts.update(_measured(collection, run, scene, new))
    numbers, readings = zip(*(scene.texts[text] for text in asked.texts), strict=True)
    corrected = _adjusted(asked, [reading.p for reading in readings])
    corrected_plain = _adjusted(asked, [reading.p_plain for reading in readings])
    present = scene.anchors.present
    names = list(asked.names) or list(asked.anchors)
    answers: list[dict[str, Any] | None] = []
    for text_numbers, reading, p, p_plain in zip(
        numbers, readings, corrected, corrected_plain, strict=True
    ):
        conclusion = verdict(
            replace(reading, p=p, p_plain=p_plain),
            [names[anchor] for anchor in present],
        )
        answers.append(
            {
                **text_numbers,
                "p_holm": p,
                "verdict": conclusion.outcome,
                "says": conclusion.says,
                "lean": None
                if conclusion.side is None
                else int(present[conclusion.side]),
                "contradiction": conclusion.contradiction,
            }
        )
    return answers


def _scene(collection: Collection, run: int, asked: Question) -> Scene | None:
    gallery = collection.gallery
    key = (run, tuple(asked.anchors), tuple(asked.reference))
    if key not in gallery.cache:
        anchors = anchors_of(gallery, run, asked.anchors)
        if anchors.k < 2:
            return None
        gallery.cache[key] = scene_of(collection, anchors, asked.reference)
    scene: Scene = gallery.cache[key]
    return scene


def measured(
    collection: Collection, scene: Scene, texts: Sequence[str]
) -> list[tuple[dict[str, Any], Reading]]:
    """Return each text's effect, interval and percentile, and the p-values for its verdict."""
    rows = collection.gallery.rows
    anchors = scene.anchors
    count = len(texts)
    centred = collection.texts(texts).astype(np.float64) - scene.centre
    kinds = np.concatenate([beyond_words(centred, scene.words), centred])
    values = np.empty((len(anchors.ids), 2 * count))
    for start in range(0, len(values), _BLOCK):
        block = slice(start, start + _BLOCK)
        values[block] = rows[anchors.ids[block]].astype(np.float64) @ kinds.T
    both = grouped(values, anchors.labels, anchors.k)
    beyond = both.columns(slice(0, count))
    plain = both.columns(slice(count, None))
    (percentiles, places), (_, plain_places) = (
        place(effects(nearness), usual)
        for nearness, usual in zip((beyond, plain), scene.usual, strict=True)
    )
    p = np.maximum(places, image_p(beyond)).tolist()
    p_plain = np.maximum(plain_places, image_p(plain)).tolist()
    sides, plain_sides = (
        nearness.means.argmax(axis=0).tolist() for nearness in (beyond, plain)
    )
    values = effects(beyond).tolist()
    plain_values = effects(plain).tolist()
    intervals = _intervals(beyond)
    answers = []
    for row in range(count):
        low, high = intervals[row]
        numbers = {
            "similarity_difference": plain_values[row],
            "beyond_words": values[row],
            "beyond_low": low,
            "beyond_high": high,
            "percentile": float(percentiles[row]),
        }
        reading = Reading(p[row], sides[row], p_plain[row], plain_sides[row])
        answers.append((numbers, reading))
    return answers


def _measured(
    collection: Collection, run: int, scene: Scene, texts: Sequence[str]
) -> dict[str, tuple[dict[str, Any], Reading]]:
    """Return the texts' scores, with shares of images that were generated from the text itself."""
    gallery = collection.gallery
    anchors = scene.anchors
    near = similarity(gallery.rows[anchors.ids], collection.texts(texts))
    distances = group_distance(near, anchors.labels)
    band = float(np.quantile(np.abs(scene.usual[0]), _LEVEL))
    sizes = np.bincount(anchors.labels).tolist()
    scores = {}
    for (numbers, reading), text, distance in zip(
        measured(collection, scene, texts), texts, distances, strict=True
    ):
        own_images = (
            gallery.of_run(run, [text])
            if text not in anchors.prompts
            else anchors.ids[:0]
        )
        shares = (
            _shares(gallery, anchors, text, own_images) if len(own_images) else None
        )
        numbers |= {
            "band": band,
            "p": reading.p,
            "inverse": _inverse(anchors, shares, len(own_images)),
            "kolmogorov_smirnov_distance": float(distance),
            "nearest": int(anchors.present[reading.plain_side]),
            "n": sizes,
        }
        scores[text] = (
            numbers,
            replace(reading, drawn=shares.side() if shares else None),
        )
    return scores


def _adjusted(asked: Question, p_values: Sequence[float]) -> list[float]:
    """Return the texts' p-values, corrected by Holm's method for the texts tested together."""
    family = set(asked.family or asked.texts)
    rows = {text: row for row, text in enumerate(asked.texts) if text in family}
    corrected = dict(
        zip(rows, holm([p_values[row] for row in rows.values()]), strict=True)
    )
    return [
        float(corrected.get(text) or p_values[row])
        for row, text in enumerate(asked.texts)
    ]


def _intervals(nearness: Nearness) -> list[tuple[float | None, float | None]]:
    """Return Student's t interval of each text's effect; (None, None) if it cannot be computed."""
    values = effects(nearness)
    ends = np.stack(extremes(nearness), axis=1)
    intervals: list[tuple[float | None, float | None]] = []
    for column, pair in enumerate(ends):
        variance_and_df = satterthwaite(
            nearness.variances[pair, column], nearness.sizes[pair] - 1
        )
        low, high = t_interval(float(values[column]), *variance_and_df, _LEVEL)
        intervals.append((low, high) if np.isfinite(low + high) else (None, None))
    return intervals


def _shares(
    gallery: Gallery, anchors: Anchors, text: str, images_of_text: IntArray
) -> Shares:
    images = gallery.rows[anchors.ids].astype(np.float64)
    sides = Sides(images, anchors.labels, anchors.prompts, gallery.indices[anchors.ids])
    rows = gallery.rows[images_of_text].astype(np.float64)
    return corrected_shares(sides, rows, text, gallery.indices[images_of_text], _LEVEL)


def _inverse(
    anchors: Anchors, shares: Shares | None, image_count: int
) -> dict[str, Any] | None:
    """Return the shares of a text's own images that show each anchor; None if it has no images."""
    if shares is None:
        return None
    side = shares.side()
    ends = zip(shares.values, shares.low, shares.high, strict=True)
    rows = {
        int(number): {"value": float(value), "low": float(low), "high": float(high)}
        for number, (value, low, high) in zip(anchors.present, ends, strict=True)
    }
    return {
        "n": image_count,
        "lean": None if side is None else int(anchors.present[side]),
        "reason": shares.reason,
        "shares": {} if shares.reason else rows,
    }
