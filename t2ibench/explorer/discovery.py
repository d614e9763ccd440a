"""A sweep over many words: which ones tell the anchors' images apart that nobody asked about.

Each word is tested as a ViBEx task tests a concept. Its p-value is the larger of its place among
the reference words and of Welch's test on the images; the false discovery rate over all words is
controlled by Benjamini and Hochberg's adjustment, which holds for places among one shared reference
(Bates et al. 2023, "Testing for outliers with conformal p-values", theorem 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float32Array, Float64Array, IntArray
from t2ibench.explorer.gallery import Gallery, WrongQuestionError
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
    """The images of anchors that are given as prompts or as numbers of images.

    Args:
        gallery: The images.
        run: The run that they are of.
        asked: For each anchor prompts, numbers or both.

    Returns:
        The images.

    Raises:
        WrongQuestionError: an anchor has fewer than two images, or shares one with another.
    """
    parts = []
    for number, members in enumerate(asked, start=1):
        prompts = [one for one in members if isinstance(one, str)]
        named = gallery.numbers([one for one in members if not isinstance(one, str)], run)
        of_prompts = gallery.of_run(run, prompts) if prompts else named[:0]
        part = np.union1d(named, of_prompts)
        if len(part) < 2:
            raise WrongQuestionError(f"anchor {number} has {len(part)} images; it needs two")
        parts.append(part)
    ids = np.concatenate(parts)
    if len(np.unique(ids)) < len(ids):
        raise WrongQuestionError("an image belongs to two anchors")
    if len(ids) > MOST_IMAGES:
        raise WrongQuestionError(f"the anchors have {len(ids):,} images; {MOST_IMAGES:,} at most")
    labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return Anchors(ids, labels, len(parts))


def filled(template: str, words: Sequence[str]) -> list[str]:
    """Words in a template.

    Args:
        template: The template.
        words: The words.

    Returns:
        One text a word.

    Raises:
        WrongQuestionError: the template has no place for a word, or asks for more than that.
    """
    if set(placeholders(template)) != {"word"}:
        raise WrongQuestionError("a template has {word} or {a word} in it, and nothing else")
    return [fill(template, word=word) for word in words]


def sweep(gallery: Gallery, anchors: Anchors, asked: Sweep, embed: Embed) -> dict[str, Any]:
    """Test many words.

    Args:
        gallery: The images.
        anchors: Which of them are told apart.
        asked: The words.
        embed: Embeds texts.

    Returns:
        JSON values: how many words were 'tested' and 'found' (q at most the rate), the size of the
        'reference', the images of each anchor, and 'rows' sorted by q and then by distance: 'text',
        'effect' beyond the anchors' own words with 'low' and 'high', 'p', 'q', 'percentile' among
        the reference, 'side' (the anchor it is nearer), 'text_only' (the effect on the anchors' own
        texts) and 'kind'. Reference words are ranked among each other, and are never found: of
        words that are compared with themselves none is unusual.
    """
    images = gallery.rows[anchors.ids].astype(np.float64)
    own = _own_texts(gallery, anchors, embed)
    reference = embed(filled(asked.template, asked.reference)).astype(np.float64)
    words = embed(filled(asked.template, asked.words)).astype(np.float64)
    centre = reference.mean(axis=0)
    rest = beyond_words(images, own)
    ours = _summary(rest, anchors, words - centre)
    theirs = _summary(rest, anchors, reference - centre)
    tested = _rows(asked.words, ours, place(effects(ours), effects(theirs)), "word")
    _text_only(tested, own, words - centre)
    rows = tested
    if asked.ranked:
        among = _rows(asked.reference, theirs, _among_themselves(effects(theirs)), "reference")
        _text_only(among, own, reference - centre)
        rows = [*tested, *among]
    rows.sort(key=lambda row: (row["q"], -abs(row["effect"])))
    return {
        "tested": len(tested),
        "found": sum(row["q"] <= asked.fdr for row in tested),
        "reference": len(asked.reference),
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


def _rows(
    words: Sequence[str],
    found: Nearness,
    places: tuple[Float64Array, Float64Array],
    kind: str,
) -> list[dict[str, Any]]:
    """A row for each word; those of one kind are one family of tests."""
    percentiles, ranks = places
    p = np.maximum(ranks, image_p(found))
    adjusted = benjamini_hochberg(p.tolist())
    values, (high, low) = effects(found), extremes(found)
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
                "p": float(p[column]),
                "q": float(adjusted[column] or 0.0),
                "percentile": float(percentiles[column]),
                "side": int(found.means[:, column].argmax()),
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
