"""A test of many words for how far the images of the anchors differ in each.

Each word is tested as a ViBEx task tests a concept. Its p-value is the larger of its place among
the reference words and of Welch's test on the images; the false discovery rate over all words is
controlled by Benjamini and Hochberg's adjustment, which holds for places among one shared reference
(Bates et al. 2023, "Testing for outliers with conformal p-values", theorem 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from t2ibench.apps.explorer.collection import Collection, Gallery
from t2ibench.apps.explorer.queries import Anchors, anchors_of, measured, scene_of
from t2ibench.apps.explorer.reference import filled
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.probing import verdict
from t2ibench.stats.permutation import benjamini_hochberg

MOST_IMAGES = 20_000
FDR = 0.05  # the false discovery rate, and the level of `verdict`
_CELLS = 4_000_000  # images times texts that are held at a time


def compared(gallery: Gallery, run: int, prompts: Sequence[str]) -> Anchors:
    """Return the images of anchors with these prompts; raise an error if one has under two."""
    if len(set(prompts)) < len(prompts):
        raise T2IBenchError("Two anchors share an image. Choose anchors that differ.")
    anchors = anchors_of(gallery, run, prompts)
    sizes = dict(
        zip(anchors.prompts, np.bincount(anchors.labels).tolist(), strict=True)
    )
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
    collection: Collection,
    anchors: Anchors,
    words: Sequence[str],
    template: str,
    reference: Sequence[str],
) -> dict[str, Any]:
    """Return for each word how far the anchors' images differ in it, with a test and a verdict."""
    scene = scene_of(collection, anchors, filled(template, reference))
    texts = filled(template, words)
    step = max(1, _CELLS // len(anchors.ids))
    scored = [
        word_score
        for start in range(0, len(texts), step)
        for word_score in measured(collection, scene, texts[start : start + step])
    ]
    q_values, plain_q_values = (
        np.array(benjamini_hochberg(p_values), np.float64)
        for p_values in (
            [reading.p for _, reading in scored],
            [reading.p_plain for _, reading in scored],
        )
    )
    rows = [
        {
            "text": word,
            **numbers,
            "q": float(corrected),
            "side": reading.side,
            "verdict": verdict(
                replace(reading, p=float(corrected), p_plain=float(plain)),
                anchors.prompts,
            ).outcome,
        }
        for word, (numbers, reading), corrected, plain in zip(
            words, scored, q_values, plain_q_values, strict=True
        )
    ]
    rows.sort(key=lambda row: (row["q"], -abs(row["beyond_words"])))
    return {
        "tested": len(words),
        "found": sum(row["verdict"] == "leans" for row in rows),
        "reference": len(reference),
        "together": math.ceil(len(words) / ((len(reference) + 1) * FDR)),
        "fdr": FDR,
        "template": template,
        "anchors": np.bincount(anchors.labels).tolist(),
        "rows": rows,
    }
