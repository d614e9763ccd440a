"""A sweep over many words: which ones tell the anchors' images apart that nobody asked about.

Each word is tested as a ViBEx task tests a concept. Its p-value is the larger of its place among
the reference words and of Welch's test on the images; the false discovery rate over all words is
controlled by Benjamini and Hochberg's adjustment, which holds for places among one shared reference
(Bates et al. 2023, "Testing for outliers with conformal p-values", theorem 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.apps.explorer.gallery import Gallery, WrongQuestionError
from t2ibench.arrays import Float32Array, Float64Array, IntArray
from t2ibench.methods.core.prompts import fill, placeholders
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effects,
    extremes,
    grouped,
    image_p,
    place,
)
from t2ibench.stats import benjamini_hochberg
from t2ibench.stats.student import satterthwaite, t_interval

MOST_IMAGES = 20_000
_LEVEL = 0.95
_CELLS = 4_000_000  # images times texts that are held at a time

Embed = Callable[[Sequence[str]], Float32Array]


@dataclass(frozen=True, slots=True)
class Anchors:
    """The images that are told apart.

    Attributes:
        ids: Numbers of all images, shape (n,).
        labels: The number of each image's anchor, shape (n,).
        k: Number of anchors.
    """

    ids: IntArray
    labels: IntArray
    k: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is asked.

    Attributes:
        words: Words that are tested.
        reference: Words that they are compared with.
        template: How a word is put, with '{word}' or '{a word}'.
        fdr: The false discovery rate.
        ranked: Whether the reference words are listed too.
    """

    words: Sequence[str]
    reference: Sequence[str]
    template: str
    fdr: float
    ranked: bool


def anchors_of(gallery: Gallery, run: int, asked: Sequence[Sequence[str | int]]) -> Anchors:
    """The images of anchors that are given as prompts or as numbers of images."""
    parts = []
    for number, members in enumerate(asked, start=1):
        prompts = [one for one in members if isinstance(one, str)]
        named = gallery.numbers([one for one in members if not isinstance(one, str)], run)
        of_prompts = gallery.of_run(run, prompts) if prompts else named[:0]
        part = np.union1d(named, of_prompts)
        if len(part) < 2:
            raise WrongQuestionError(_too_few(members, number, len(part)))
        parts.append(part)
    ids = np.concatenate(parts)
    if len(np.unique(ids)) < len(ids):
        raise WrongQuestionError("Two anchors share an image. Choose anchors that differ.")
    if len(ids) > MOST_IMAGES:
        many = f"The anchors have {len(ids):,} images; {MOST_IMAGES:,} at most are compared."
        raise WrongQuestionError(many)
    labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return Anchors(ids, labels, len(parts))


def _too_few(members: Sequence[str | int], number: int, count: int) -> str:
    name = f"'{members[0]}'" if isinstance(members[0], str) else f"number {number}"
    said = "1 image" if count else "no image"
    why = f"The anchor {name} has {said} in this run, and two are needed."
    return f"{why} Generate some, or choose another anchor."


def filled(template: str, words: Sequence[str]) -> list[str]:
    """Words in a template."""
    if set(placeholders(template)) != {"word"}:
        raise WrongQuestionError("a template has {word} or {a word} in it, and nothing else")
    return [fill(template, word=word) for word in words]


def sweep(gallery: Gallery, anchors: Anchors, asked: Sweep, embed: Embed) -> dict[str, Any]:
    """Test many words."""
    images = gallery.rows[anchors.ids].astype(np.float64)
    own = _own_texts(gallery, anchors, embed)
    reference = embed(filled(asked.template, asked.reference)).astype(np.float64)
    words = embed(filled(asked.template, asked.words)).astype(np.float64)
    centre = reference.mean(axis=0)
    both = [
        (_summary(rows, anchors, words - centre), _summary(rows, anchors, reference - centre))
        for rows in (beyond_words(images, own), images)
    ]
    ours, plain = (_tested(found, place(effects(found), effects(of))) for found, of in both)
    tested = _rows(asked, asked.words, ours, plain, "word")
    _text_only(tested, own, words - centre)
    rows = tested
    if asked.ranked:
        ours, plain = (_tested(of, _among_themselves(effects(of))) for _, of in both)
        among = _rows(asked, asked.reference, ours, plain, "reference")
        _text_only(among, own, reference - centre)
        rows = [*tested, *among]
    rows.sort(key=lambda row: (row["q"], -abs(row["effect"])))
    return {
        "tested": len(tested),
        "found": sum(row["verdict"] == "leans" for row in tested),
        "reference": len(asked.reference),
        "together": math.ceil(len(tested) / ((len(asked.reference) + 1) * asked.fdr)),
        "fdr": asked.fdr,
        "template": asked.template,
        "anchors": np.bincount(anchors.labels, minlength=anchors.k).tolist(),
        "rows": rows,
    }


def _own_texts(gallery: Gallery, anchors: Anchors, embed: Embed) -> Float64Array:
    """What each anchor is called: the mean embedding of its images' prompts."""
    prompts = [gallery.pictures[number].prompt for number in anchors.ids.tolist()]
    distinct = list(dict.fromkeys(prompts))
    rows = embed(distinct).astype(np.float64)
    codes = {prompt: code for code, prompt in enumerate(distinct)}
    numbers = np.array([codes[prompt] for prompt in prompts])
    weights = np.zeros((anchors.k, len(distinct)))
    np.add.at(weights, (anchors.labels, numbers), 1.0)
    means: Float64Array = (weights / weights.sum(axis=1, keepdims=True)) @ rows
    return means


def _summary(images: Float64Array, anchors: Anchors, texts: Float64Array) -> Nearness:
    """Means and variances of the images' nearness, some texts at a time, without the values."""
    step = max(1, _CELLS // len(images))
    parts = [
        grouped(images @ texts[start : start + step].T, anchors.labels, anchors.k)
        for start in range(0, len(texts), step)
    ]
    return Nearness(
        np.empty((len(images), 0)),
        anchors.labels,
        anchors.k,
        np.concatenate([part.means for part in parts], axis=1),
        np.concatenate([part.variances for part in parts], axis=1),
    )


def _among_themselves(values: Float64Array) -> tuple[Float64Array, Float64Array]:
    """The place of each reference word among the others."""
    ordered = np.sort(np.abs(values))
    below = np.searchsorted(ordered, np.abs(values), side="left").astype(np.float64)
    r = len(values)
    return 100.0 * below / max(r - 1, 1), (r - below) / r


@dataclass(frozen=True, slots=True)
class _Tested:
    """Words with their tests; those that are tested together are one family.

    Attributes:
        found: Their nearness.
        percentiles: Their places, shape (w,).
        p: The larger of rank and Welch's test, shape (w,).
        q: Adjusted for the false discovery rate.
    """

    found: Nearness
    percentiles: Float64Array
    p: Float64Array
    q: list[float]


def _tested(found: Nearness, places: tuple[Float64Array, Float64Array]) -> _Tested:
    percentiles, ranks = places
    p = np.maximum(ranks, image_p(found))
    q = [1.0 if one is None else one for one in benjamini_hochberg(p.tolist())]
    return _Tested(found, percentiles, p, q)


def _verdict(clear: bool, plain: bool, same: bool) -> str:
    """As a concept query's: a lean needs more than the anchors' words, and no contradiction."""
    if clear and (same or not plain):
        return "leans"
    return "inconclusive" if clear or plain else "no_lean"


def _rows(
    asked: Sweep, words: Sequence[str], tested: _Tested, plain: _Tested, kind: str
) -> list[dict[str, Any]]:
    """A row for each word."""
    found = tested.found
    values, (high, low) = effects(found), extremes(found)
    as_they_are = effects(plain.found)
    sides, plain_sides = (one.means.argmax(axis=0) for one in (found, plain.found))
    sizes = found.sizes
    rows = []
    for column, word in enumerate(words):
        ends = (int(high[column]), int(low[column]))
        variance, df = satterthwaite(
            [found.variances[j, column] for j in ends], [sizes[j] - 1 for j in ends]
        )
        interval = t_interval(float(values[column]), variance, df, _LEVEL)
        rows.append(
            {
                "text": word,
                "effect": float(values[column]),
                "low": interval[0],
                "high": interval[1],
                "p": float(tested.p[column]),
                "q": tested.q[column],
                "percentile": float(tested.percentiles[column]),
                "side": int(sides[column]),
                "similarity_difference": float(as_they_are[column]),
                "similarity_difference_q": plain.q[column],
                "verdict": _verdict(
                    tested.q[column] <= asked.fdr,
                    plain.q[column] <= asked.fdr,
                    bool(sides[column] == plain_sides[column]),
                ),
                "kind": kind,
            }
        )
    return rows


def _text_only(rows: Sequence[dict[str, Any]], own: Float64Array, texts: Float64Array) -> None:
    """What each word does on the anchors' own texts, without any image."""
    nearness = own @ texts.T
    values = nearness[0] - nearness[1] if len(own) == 2 else np.ptp(nearness, axis=0)
    for row, value in zip(rows, values.tolist(), strict=True):
        row["text_only"] = value
