"""The images of a run on a map: the two directions in which they vary most."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from t2ibench.apps.explorer.source import Gallery
from t2ibench.arrays import Float32Array, Float64Array, IntArray

_BLOCK = 8192  # rows that are worked on at a time
_FITTED = 10_000  # images that axes are fitted to


@dataclass(frozen=True, slots=True)
class Axes:
    """Two unit rows, shape (2, d), with positive largest entries, and their shares of variance."""

    mean: Float64Array
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
        return Axes(mean, directions, (0.0, 0.0))
    for row, column in enumerate(range(kept - 1, -1, -1)):
        vector = vectors[:, column]
        directions[row] = vector if vector[np.abs(vector).argmax()] > 0 else -vector
    shares = [*np.clip(values[::-1] / total, 0.0, 1.0).tolist(), 0.0]
    return Axes(mean, directions, (shares[0], shares[1]))


def on_map(gallery: Gallery, run: int) -> dict[str, Any]:
    """Where each image of a run lies on its axes."""
    ids = gallery.of_run(run)
    axes = fit_axes(gallery.rows, ids)
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
