"""The numbers of the page: similarities of texts, and how far they tell anchors apart.

They are those that scoring a task gives: each text beside reference words, beyond what the
anchors' own texts say, with the shares of its own pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.apps.explorer.source import Collection
from t2ibench.arrays import BoolArray, Float64Array, IntArray
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.nearest import ELSEWHERE, Shares, Sides, corrected_shares
from t2ibench.methods.core.probing import (
    Reading,
    anchor_probabilities,
    distance_margin,
    similarity,
    verdict,
)
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effect_influence,
    effects,
    extremes,
    image_p,
    nearness,
    place,
)
from t2ibench.stats import group_distance, holm
from t2ibench.stats.student import t_interval

_LEVEL = 0.95
_ELSEWHERE = (
    "not comparable, they differ from the anchors' images in more than what tells these apart"
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which images represent which anchor.

    Attributes:
        labels: Shape (n,), the anchor's number, or -1.
        sources: Shape (n,), each image's source.
    """

    labels: IntArray
    sources: IntArray


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of all images.

    Attributes:
        texts: The texts.
        anchors: Prompts of the anchors' images.
        reference: Texts of the reference words.
        family: The texts that are tested together; those of a tree are one family.
        names: What the anchors are called; by default their prompts.
    """

    texts: Sequence[str]
    anchors: Sequence[str]
    reference: Sequence[str]
    family: Sequence[str] = ()
    names: Sequence[str] = ()


def group(collection: Collection, prompts: Sequence[str]) -> Grouping:
    """The images of each anchor, by their prompt."""
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    images = collection.pictures
    return Grouping(
        np.array([numbers.get(image.prompt, -1) for image in images], dtype=np.int64),
        np.array([image.source for image in images], dtype=np.int64),
    )


def similarities(collection: Collection, texts: Sequence[str]) -> Float64Array:
    """(cosine + 1) / 2 of every text with every image."""
    return similarity(collection.embeddings(), collection.texts(texts))


def score_texts(collection: Collection, asked: Question) -> list[list[dict[str, Any] | None]]:
    """How each text tells the anchors apart, in each source."""
    if not asked.texts:
        return []
    grouping = group(collection, asked.anchors)
    by_source = []
    for number in range(len(collection.sources)):
        mine = grouping.sources == number
        by_source.append(_scores(collection, asked, grouping, mine))
    return [list(scores) for scores in zip(*by_source, strict=True)]


@dataclass(frozen=True, slots=True)
class _Scene:
    """The anchors that have images in one source, numbered anew.

    Attributes:
        sides: Their images.
        present: Number of each anchor on the page, shape (k,).
        names: What they are called.
        own: Embeddings and indices of each text's own images.
    """

    sides: Sides
    present: IntArray
    names: list[str]
    own: dict[str, tuple[Float64Array, IntArray]]


def _scores(
    collection: Collection, asked: Question, grouping: Grouping, mine: BoolArray
) -> list[dict[str, Any] | None]:
    """The scores of each text in one source."""
    rows = collection.embeddings()[: len(mine)]
    chosen = mine & (grouping.labels >= 0)
    present = np.unique(grouping.labels[chosen])
    if len(present) < 2:
        return [None] * len(asked.texts)
    indices = np.array([image.index for image in collection.pictures[: len(mine)]], np.int64)
    prompts = np.array([image.prompt for image in collection.pictures[: len(mine)]])
    names = list(asked.names) or list(asked.anchors)
    images = rows[chosen].astype(np.float64)
    sides = Sides(
        images,
        np.searchsorted(present, grouping.labels[chosen]),
        [asked.anchors[j] for j in present],
        indices[chosen],
    )
    own = {}
    for text in dict.fromkeys(asked.texts):
        drawn = mine & (grouping.labels < 0) & (prompts == text)
        if drawn.any():
            own[text] = (rows[drawn].astype(np.float64), indices[drawn])
    return _answers(collection, asked, _Scene(sides, present, [names[j] for j in present], own))


def _answers(collection: Collection, asked: Question, scene: _Scene) -> list[dict[str, Any] | None]:
    sides, m = scene.sides, len(asked.texts)
    texts, reference, anchors = (
        collection.texts(wanted).astype(np.float64)
        for wanted in (asked.texts, asked.reference, sides.strata)
    )
    plain = nearness(sides.images, sides.labels, sides.k, texts, reference)
    rest = beyond_words(sides.images, anchors)
    beyond = nearness(rest, sides.labels, sides.k, texts, reference)
    percentiles, _ = place(effects(beyond)[:m], effects(beyond)[m:])
    p, p_plain = _places(beyond, m), _places(plain, m)
    band = float(np.quantile(np.abs(effects(beyond)[m:]), _LEVEL))
    corrected, corrected_plain = (_adjusted(asked, found) for found in (p, p_plain))
    values = similarity(sides.images, texts)
    published = _published(values, sides, scene.present)
    answers: list[dict[str, Any] | None] = []
    for row, text in enumerate(asked.texts):
        shares = _shares(scene, text)
        drawn = shares.side() if shares else None
        reading = Reading(
            corrected[row], _side(beyond, row), corrected_plain[row], _side(plain, row), drawn
        )
        found = verdict(reading, scene.names)
        low, high = _interval(plain, row, sides)
        beyond_low, beyond_high = _interval(beyond, row, sides)
        answers.append(
            {
                "similarity_difference": float(effects(plain)[row]),
                "similarity_difference_low": low,
                "similarity_difference_high": high,
                "beyond_words": float(effects(beyond)[row]),
                "beyond_low": beyond_low,
                "beyond_high": beyond_high,
                "band": band,
                "percentile": float(percentiles[row]),
                "p": float(p[row]),
                "p_holm": corrected[row],
                "verdict": found.outcome,
                "says": found.says,
                "lean": None if found.side is None else int(scene.present[found.side]),
                "contradiction": found.contradiction,
                "inverse": _inverse(scene, shares, text),
                **published[row],
            }
        )
    return answers


def _places(found: Nearness, m: int) -> Float64Array:
    """The p-value of each text: among the reference, and against the images' own variation."""
    values = effects(found)
    _, places = place(values[:m], values[m:])
    larger: Float64Array = np.maximum(places, image_p(found.columns(slice(0, m))))
    return larger


def _adjusted(asked: Question, p: Float64Array) -> list[float]:
    """Each p, adjusted by Holm over the distinct texts of the family; as it is for others."""
    family = set(asked.family or asked.texts)
    rows = {text: row for row, text in enumerate(asked.texts) if text in family}
    corrected = dict(zip(rows, holm([float(p[row]) for row in rows.values()]), strict=True))
    return [float(corrected.get(text) or p[row]) for row, text in enumerate(asked.texts)]


def _side(found: Nearness, row: int) -> int:
    return int(found.means[:, row].argmax())


def _interval(found: Nearness, row: int, sides: Sides) -> tuple[float | None, float | None]:
    """Student's t interval of an effect; None where an anchor has a single image."""
    influence: Influence = effect_influence(found, row, sides.strata, sides.units)
    high, low = (int(anchors[row]) for anchors in extremes(found))
    value = float(found.means[high, row] - found.means[low, row])
    ends = t_interval(value, influence.variance, influence.df, _LEVEL)
    return (ends[0], ends[1]) if np.isfinite(ends).all() else (None, None)


def _shares(scene: _Scene, text: str) -> Shares | None:
    if text not in scene.own:
        return None
    images, indices = scene.own[text]
    return corrected_shares(scene.sides, images, text, indices, _LEVEL)


def _inverse(scene: _Scene, shares: Shares | None, text: str) -> dict[str, Any] | None:
    """Shares of a text's own images on each anchor's side."""
    if shares is None:
        return None
    side = shares.side()
    rows = {
        int(number): {
            "value": float(shares.values[j]),
            "low": float(shares.low[j]),
            "high": float(shares.high[j]),
        }
        for j, number in enumerate(scene.present)
    }
    return {
        "n": len(scene.own[text][1]),
        "lean": None if side is None else int(scene.present[side]),
        "reason": _ELSEWHERE if shares.reason == ELSEWHERE else shares.reason,
        "shares": {} if shares.reason else rows,
    }


def _published(values: Float64Array, sides: Sides, present: IntArray) -> list[dict[str, Any]]:
    """The published scores of each text, from shape (m, n)."""
    labels, k = sides.labels, sides.k
    sizes = np.bincount(labels, minlength=k)
    distances = group_distance(values, labels)
    probabilities = anchor_probabilities(values, labels, k)
    margin = distance_margin(sizes, _LEVEL)
    return [
        {
            "kolmogorov_smirnov_distance": float(distances[row]),
            "kolmogorov_smirnov_distance_low": max(0.0, float(distances[row]) - margin),
            "kolmogorov_smirnov_distance_high": min(1.0, float(distances[row]) + margin),
            "chance": _chance(sizes),
            "z": _z(values[row], labels),
            "nearest": int(present[probabilities[row].argmax()]),
            "probabilities": dict(zip(present.tolist(), probabilities[row].tolist(), strict=True)),
            "n": sizes.tolist(),
        }
        for row in range(len(values))
    ]


def _chance(sizes: IntArray) -> float:
    """The mean KS distance of two like samples: Kolmogorov's mean over the root of their size."""
    small = np.sort(sizes)[:2].astype(np.float64)
    effective = small[0] * small[1] / small.sum()
    return float(min(0.95, np.sqrt(np.pi / 2) * np.log(2) / np.sqrt(effective)))


def _z(values: Float64Array, labels: IntArray) -> float:
    """Difference of the first two anchors' means over its standard error; 0 without spread."""
    first, second = (values[labels == j] for j in (0, 1))
    if len(first) < 2 or len(second) < 2:
        return 0.0
    error = np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second))
    return float((first.mean() - second.mean()) / error) if error > 0 else 0.0
