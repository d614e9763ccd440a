"""A sweep over many words: which ones tell the anchors' images apart that nobody asked about.

Each word is tested as a ViBEx task tests a concept. Its p-value is the larger of its place among
the reference words and of Welch's test on the images; the false discovery rate over all words is
controlled by Benjamini and Hochberg's adjustment, which holds for places among one shared reference
(Bates et al. 2023, "Testing for outliers with conformal p-values", theorem 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from t2ibench.apps.explorer.queries import Anchors, anchors_of
from t2ibench.apps.explorer.reference import filled
from t2ibench.apps.explorer.source import Gallery
from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.prompting_tree import ExploredReference
from t2ibench.methods.core.reference import (
    Nearness,
    beyond_words,
    effects,
    extremes,
    grouped,
    image_p,
    place,
)
from t2ibench.stats.permutation import benjamini_hochberg
from t2ibench.stats.student import satterthwaite, t_interval

MOST_IMAGES = 20_000
FDR = 0.05  # the false discovery rate
_LEVEL = 0.95
_CELLS = 4_000_000  # images times texts that are held at a time

Embed = Callable[[Sequence[str]], Float32Array]
_Places = tuple[Float64Array, Float64Array]  # percentiles, and p among the reference


def compared(gallery: Gallery, run: int, prompts: Sequence[str]) -> Anchors:
    """The images of anchors of which each has two or more."""
    if len(set(prompts)) < len(prompts):
        raise T2IBenchError("Two anchors share an image. Choose anchors that differ.")
    anchors = anchors_of(gallery, run, prompts)
    sizes = dict(zip(anchors.prompts, np.bincount(anchors.labels).tolist(), strict=True))
    for prompt in prompts:
        count = sizes.get(prompt, 0)
        if count < 2:
            raise T2IBenchError(
                f"The anchor '{prompt}' has {'1 image' if count else 'no image'} in this run, and "
                "two are needed. Choose another anchor."
            )
    if len(anchors.ids) > MOST_IMAGES:
        raise T2IBenchError(
            f"The anchors have {len(anchors.ids):,} images; {MOST_IMAGES:,} at most are compared."
        )
    return anchors


def sweep(
    gallery: Gallery,
    anchors: Anchors,
    words: Sequence[str],
    beside: ExploredReference,
    embed: Embed,
) -> dict[str, Any]:
    """Test many words beside those of a reference, in its template."""
    usual_words = beside.words or ()
    images = gallery.rows[anchors.ids].astype(np.float64)
    own = embed(anchors.prompts).astype(np.float64)
    texts = embed(filled(beside.template, [*usual_words, *words])).astype(np.float64)
    r = len(usual_words)
    centred = texts - texts[:r].mean(axis=0)
    nearness = [_summary(images, anchors, part) for part in (beyond_words(centred, own), centred)]
    usual, tested = ([one.columns(part) for one in nearness] for part in (slice(r), slice(r, None)))
    places = [place(effects(one), effects(of)) for one, of in zip(tested, usual, strict=True)]
    rows = _rows(words, tested, places)
    found = sum(row["verdict"] == "leans" for row in rows)
    rows.sort(key=lambda row: (row["q"], -abs(row["effect"])))
    return {
        "tested": len(words),
        "found": found,
        "reference": r,
        "together": math.ceil(len(words) / ((r + 1) * FDR)),
        "fdr": FDR,
        "template": beside.template,
        "anchors": np.bincount(anchors.labels).tolist(),
        "rows": rows,
    }


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


def _rows(
    words: Sequence[str], beside: Sequence[Nearness], places: Sequence[_Places]
) -> list[dict[str, Any]]:
    """A row for each word, tested beyond the anchors' words and as it is."""
    beyond, plain = beside
    q, q_plain = (
        np.array(benjamini_hochberg(np.maximum(ranks, image_p(one)).tolist()), np.float64)
        for one, (_, ranks) in zip(beside, places, strict=True)
    )
    values, (high, low) = effects(beyond), extremes(beyond)
    sides, plain_sides = beyond.means.argmax(axis=0), plain.means.argmax(axis=0)
    rows = []
    for column, word in enumerate(words):
        ends = [int(high[column]), int(low[column])]
        variance, df = satterthwaite(beyond.variances[ends, column], beyond.sizes[ends] - 1)
        interval = t_interval(float(values[column]), variance, df, _LEVEL)
        clear, clear_plain = q[column] <= FDR, q_plain[column] <= FDR
        # As a concept query's: a lean needs more than the anchors' words, and no contradiction.
        verdict = "inconclusive" if clear or clear_plain else "no_lean"
        if clear and (sides[column] == plain_sides[column] or not clear_plain):
            verdict = "leans"
        rows.append(
            {
                "text": word,
                "effect": float(values[column]),
                "low": interval[0],
                "high": interval[1],
                "q": float(q[column]),
                "percentile": float(places[0][0][column]),
                "side": int(sides[column]),
                "verdict": verdict,
            }
        )
    return rows
