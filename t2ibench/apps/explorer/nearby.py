"""Images by nearness: to another image, on a map, and what a selection shares."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from t2ibench.apps.explorer.source import Gallery
from t2ibench.arrays import Float32Array, Float64Array, IntArray
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.probing import similarity

MOST_RANKED = 20_000
_BLOCK = 8192  # rows that are worked on at a time
_FITTED = 10_000  # images that axes are fitted to
_SUGGESTED = 12


def ranked(gallery: Gallery, image: int, run: int) -> dict[str, Any]:
    """The other images of a run by their likeness to one, the most alike first."""
    if image >= len(gallery.pictures):
        raise T2IBenchError(f"No image has the number {image}.")
    chosen = gallery.of_run(run)
    chosen = chosen[chosen != image]
    (values,) = similarity(gallery.rows, gallery.rows[image][None])
    order = np.argsort(-values[chosen], kind="stable")[:MOST_RANKED]
    return {"ids": chosen[order].tolist(), "values": values[chosen][order].round(4).tolist()}


@dataclass(frozen=True, slots=True)
class Axes:
    """The two directions in which a run's images vary most.

    Attributes:
        mean: Of the embeddings, shape (d,).
        covariance: Shape (d, d).
        directions: Shape (2, d), unit rows; the largest entry of each is positive.
        explained: Their shares of the variance.
    """

    mean: Float64Array
    covariance: Float64Array
    directions: Float64Array
    explained: tuple[float, float]


def fit_axes(rows: Float32Array, ids: IntArray) -> Axes:
    """Principal components of some rows; of very many, of every few."""
    sample = rows[ids[:: 1 + len(ids) // _FITTED]].astype(np.float64)
    d = sample.shape[1]
    mean = sample.mean(axis=0) if len(sample) else np.zeros(d)
    centred = sample - mean
    covariance = centred.T @ centred / max(len(sample), 1)
    total = float(np.trace(covariance))
    kept = min(2, d)
    values, vectors = eigh(covariance, subset_by_index=[d - kept, d - 1])
    directions = np.zeros((2, d))
    if not total > 1e-12:
        return Axes(mean, covariance, directions, (0.0, 0.0))
    for row, column in enumerate(range(kept - 1, -1, -1)):
        vector = vectors[:, column]
        directions[row] = vector if vector[np.abs(vector).argmax()] > 0 else -vector
    shares = [*np.clip(values[::-1] / total, 0.0, 1.0).tolist(), 0.0]
    return Axes(mean, covariance, directions, (shares[0], shares[1]))


def on_map(gallery: Gallery, run: int, axes: Axes) -> dict[str, Any]:
    """Where each image of a run lies on the axes that were fitted first.

    Images that are generated later are put on the same axes: nothing that is shown moves.
    """
    ids = gallery.of_run(run)
    places = np.empty((len(ids), 2), np.float32)
    directions, middle = axes.directions.T.astype(np.float32), axes.mean.astype(np.float32)
    for start in range(0, len(ids), _BLOCK):
        block = slice(start, start + _BLOCK)
        places[block] = (gallery.rows[ids[block]] - middle) @ directions
    return {
        "ids": _encoded(ids, "<i4"),
        "x": _encoded(places[:, 0], "<f4"),
        "y": _encoded(places[:, 1], "<f4"),
        "explained": [round(share, 4) for share in axes.explained],
    }


def _encoded(numbers: npt.NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers.astype(kind)).tobytes()).decode()


def shared_by(
    gallery: Gallery,
    chosen: IntArray,
    run: int,
    axes: Axes,
    words: Sequence[str],
    texts: Float32Array,
) -> dict[str, Any]:
    """What a selection of images has in common, beside the rest of its run."""
    everything = gallery.of_run(run)
    rest = np.setdiff1d(everything, chosen, assume_unique=True)
    counts = Counter(gallery.pictures[number].prompt for number in chosen.tolist())
    reply: dict[str, Any] = {
        "words": [],
        "prompts": [{"prompt": p, "count": n} for p, n in counts.most_common(_SUGGESTED)],
        "n": len(chosen),
        "rest": len(rest),
    }
    if not len(chosen) or not len(rest):
        return reply
    means = [gallery.rows[ids].mean(axis=0, dtype=np.float64) for ids in (chosen, rest)]
    difference = means[0] - means[1]
    centred = texts.astype(np.float64) - texts.mean(axis=0, dtype=np.float64)
    variances = np.einsum("wd,wd->w", centred @ axes.covariance, centred)
    known = variances > 1e-12
    scores = np.where(known, (centred @ difference) / np.sqrt(np.where(known, variances, 1.0)), 0.0)
    for place in np.argsort(-scores, kind="stable")[:_SUGGESTED].tolist():
        if scores[place] > 0:
            reply["words"].append({"text": words[place], "score": round(float(scores[place]), 4)})
    return reply
