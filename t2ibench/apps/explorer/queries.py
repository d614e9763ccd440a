"""The numbers of the page: similarities of texts, and how far they tell anchors apart.

They are those that scoring a task gives: each text beside reference words, beyond what the
anchors' own texts say, with the shares of its own pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from t2ibench.apps.explorer.source import Collection, Gallery
from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.nearest import Shares, Sides, corrected_shares
from t2ibench.methods.core.probing import Reading, similarity, verdict
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effect_influence,
    effects,
    extremes,
    grouped,
    image_p,
    place,
)
from t2ibench.stats import group_distance, holm
from t2ibench.stats.student import t_interval

_LEVEL = 0.95
_BLOCK = 8192  # images that are worked on at a time


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of all images: texts, between anchors, beside the texts of reference words.

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
    """The anchors that have images in one run, numbered anew.

    Numbers of their images and of each image's anchor, both of shape (n,), and what number each
    anchor has in the question, shape (k,).
    """

    ids: IntArray
    labels: IntArray
    present: IntArray
    prompts: list[str]

    @property
    def k(self) -> int:
        """How many they are."""
        return len(self.prompts)


def anchors_of(gallery: Gallery, run: int, prompts: Sequence[str]) -> Anchors:
    """The images of each anchor."""
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    found = [(n, p, ids) for p, n in numbers.items() if len(ids := gallery.of_run(run, [p]))]
    return Anchors(
        np.concatenate([ids for _, _, ids in found] or [np.zeros(0, np.int64)]),
        np.repeat(np.arange(len(found)), [len(ids) for _, _, ids in found]),
        np.array([number for number, _, _ in found], np.int64),
        [prompt for _, prompt, _ in found],
    )


def similarities(collection: Collection, texts: Sequence[str]) -> Float64Array:
    """(cosine + 1) / 2 of every text with every image."""
    return similarity(collection.gallery.rows, collection.texts(texts))


def spread(means: Float64Array) -> Float64Array:
    """How far anchors differ in each text, from shape (k, w): of two the difference."""
    found: Float64Array = means[0] - means[1] if len(means) == 2 else np.ptp(means, axis=0)
    return found


def score_texts(collection: Collection, asked: Question) -> list[list[dict[str, Any] | None]]:
    """How each text tells the anchors apart, in each source."""
    by_source = [_scores(collection, run, asked) for run in range(len(collection.sources))]
    return [list(scores) for scores in zip(*by_source, strict=True)]


@dataclass(frozen=True, slots=True)
class _Scene:
    """What every text is compared with.

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


def _scores(collection: Collection, run: int, asked: Question) -> list[dict[str, Any] | None]:
    """The scores of each text in one source."""
    scene = _scene(collection, run, asked)
    if scene is None or not asked.texts:
        return [None] * len(asked.texts)
    new = [text for text in dict.fromkeys(asked.texts) if text not in scene.texts]
    if new:
        scene.texts.update(_measured(collection, run, scene, new))
    numbers, readings = zip(*(scene.texts[text] for text in asked.texts), strict=True)
    corrected = _adjusted(asked, [one.p for one in readings])
    corrected_plain = _adjusted(asked, [one.p_plain for one in readings])
    present, names = scene.anchors.present, list(asked.names) or list(asked.anchors)
    answers: list[dict[str, Any] | None] = []
    for known, one, p, p_plain in zip(numbers, readings, corrected, corrected_plain, strict=True):
        said = verdict(replace(one, p=p, p_plain=p_plain), [names[j] for j in present])
        answers.append(
            {
                **known,
                "p_holm": p,
                "verdict": said.outcome,
                "says": said.says,
                "lean": None if said.side is None else int(present[said.side]),
                "contradiction": said.contradiction,
            }
        )
    return answers


def _scene(collection: Collection, run: int, asked: Question) -> _Scene | None:
    gallery, key = collection.gallery, (run, tuple(asked.anchors), tuple(asked.reference))
    if key not in gallery.known:
        anchors = anchors_of(gallery, run, asked.anchors)
        if anchors.k < 2:
            return None
        centres = np.stack(
            [
                gallery.rows[anchors.ids[anchors.labels == j]].mean(axis=0, dtype=np.float64)
                for j in range(anchors.k)
            ]
        )
        words = collection.texts(anchors.prompts).astype(np.float64)
        reference = collection.texts(asked.reference).astype(np.float64)
        centre = reference.mean(axis=0)
        beyond, plain = (
            spread(centres @ rows.T)
            for rows in (beyond_words(reference - centre, words), reference - centre)
        )
        gallery.known[key] = _Scene(anchors, words, centre, (beyond, plain))
    scene: _Scene = gallery.known[key]
    return scene


def _measured(
    collection: Collection, run: int, scene: _Scene, texts: Sequence[str]
) -> dict[str, tuple[dict[str, Any], Reading]]:
    """Texts beside the anchors' images, all of them in one pass."""
    gallery, anchors, m = collection.gallery, scene.anchors, len(texts)
    rows = collection.texts(texts).astype(np.float64)
    centred = rows - scene.centre
    kinds = np.concatenate([beyond_words(centred, scene.words), centred, rows])
    values = np.empty((len(anchors.ids), 3 * m))
    for start in range(0, len(values), _BLOCK):
        block = slice(start, start + _BLOCK)
        values[block] = gallery.rows[anchors.ids[block]].astype(np.float64) @ kinds.T
    both = grouped(values[:, : 2 * m], anchors.labels, anchors.k)
    beyond, plain = both.columns(slice(0, m)), both.columns(slice(m, None))
    (percentiles, places), (_, plain_places) = (
        place(effects(found), usual)
        for found, usual in zip((beyond, plain), scene.usual, strict=True)
    )
    p = np.maximum(places, image_p(beyond))
    p_plain = np.maximum(plain_places, image_p(plain))
    band = float(np.quantile(np.abs(scene.usual[0]), _LEVEL))
    distances = group_distance((values[:, 2 * m :].T + 1.0) / 2.0, anchors.labels)
    sizes = np.bincount(anchors.labels).tolist()
    units = gallery.indices[anchors.ids]
    found = {}
    for row, text in enumerate(texts):
        low, high = _interval(beyond, row, anchors, units)
        own = gallery.of_run(run, [text]) if text not in anchors.prompts else anchors.ids[:0]
        shares = _shares(gallery, anchors, text, own) if len(own) else None
        numbers = {
            "similarity_difference": float(effects(plain)[row]),
            "beyond_words": float(effects(beyond)[row]),
            "beyond_low": low,
            "beyond_high": high,
            "band": band,
            "percentile": float(percentiles[row]),
            "p": float(p[row]),
            "inverse": _inverse(anchors, shares, len(own)),
            "kolmogorov_smirnov_distance": float(distances[row]),
            "nearest": int(anchors.present[plain.means[:, row].argmax()]),
            "n": sizes,
        }
        found[text] = (
            numbers,
            Reading(
                float(p[row]),
                int(beyond.means[:, row].argmax()),
                float(p_plain[row]),
                int(plain.means[:, row].argmax()),
                shares.side() if shares else None,
            ),
        )
    return found


def _adjusted(asked: Question, p: Sequence[float]) -> list[float]:
    """Each p, adjusted by Holm over the distinct texts of the family; as it is for others."""
    family = set(asked.family or asked.texts)
    rows = {text: row for row, text in enumerate(asked.texts) if text in family}
    corrected = dict(zip(rows, holm([p[row] for row in rows.values()]), strict=True))
    return [float(corrected.get(text) or p[row]) for row, text in enumerate(asked.texts)]


def _interval(
    found: Nearness, row: int, anchors: Anchors, units: IntArray
) -> tuple[float | None, float | None]:
    """Student's t interval of an effect; None where an anchor has a single image."""
    influence = effect_influence(found, row, anchors.prompts, units)
    high, low = (int(anchors[row]) for anchors in extremes(found))
    value = float(found.means[high, row] - found.means[low, row])
    ends = t_interval(value, influence.variance, influence.df, _LEVEL)
    return (ends[0], ends[1]) if np.isfinite(ends).all() else (None, None)


def _shares(gallery: Gallery, anchors: Anchors, text: str, own: IntArray) -> Shares:
    images = gallery.rows[anchors.ids].astype(np.float64)
    sides = Sides(images, anchors.labels, anchors.prompts, gallery.indices[anchors.ids])
    rows = gallery.rows[own].astype(np.float64)
    return corrected_shares(sides, rows, text, gallery.indices[own], _LEVEL)


def _inverse(anchors: Anchors, shares: Shares | None, n: int) -> dict[str, Any] | None:
    """Shares of a text's own images on each anchor's side."""
    if shares is None:
        return None
    side = shares.side()
    ends = zip(shares.values, shares.low, shares.high, strict=True)
    rows = {
        int(number): {"value": float(value), "low": float(low), "high": float(high)}
        for number, (value, low, high) in zip(anchors.present, ends, strict=True)
    }
    return {
        "n": n,
        "lean": None if side is None else int(anchors.present[side]),
        "reason": shares.reason,
        "shares": {} if shares.reason else rows,
    }
