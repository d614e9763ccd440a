"""A map of a run's images along the two directions in which their embeddings vary most."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from t2ibench.apps.explorer.collection import Gallery
from t2ibench.arrays import Float32Array, Float64Array

_BLOCK = 8192  # rows that are worked on at a time
_FITTED = 10_000  # images that axes are fitted to


def fit_axes(rows: Float32Array) -> tuple[Float64Array, Float64Array, list[float]]:
    """Return the embeddings' mean, two principal directions, and the share of variance along each.

    They are fitted to at most 10,000 evenly spaced rows. The mean has shape (d,), the directions
    have shape (d, 2).
    """
    sample = rows[:: 1 + len(rows) // _FITTED].astype(np.float64)
    mean = sample.mean(axis=0)
    values, vectors = eigh((sample - mean).T @ (sample - mean))
    directions = vectors[:, :-3:-1]
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[largest, range(directions.shape[1])])
    total = float(values.sum())
    shares = values[:-3:-1] / total if total > 1e-9 else np.zeros(2)
    return mean, directions, shares.clip(0.0, 1.0).tolist()


def on_map(gallery: Gallery, run: int) -> dict[str, Any]:
    """Return the indices of a run's images, and their coordinates on the two principal axes."""
    ids = gallery.of_run(run)
    places = np.empty((len(ids), 2), np.float32)
    shares = [0.0, 0.0]
    if len(ids):
        mean, directions, shares = fit_axes(gallery.rows[ids])
        for start in range(0, len(ids), _BLOCK):
            block = slice(start, start + _BLOCK)
            places[block] = (gallery.rows[ids[block]] - mean) @ directions
    return {
        "ids": _encoded(ids, "<i4"),
        "x": _encoded(places[:, 0], "<f4"),
        "y": _encoded(places[:, 1], "<f4"),
        "explained": [round(share, 4) for share in shares],
    }


def _encoded(numbers: npt.NDArray[Any], kind: str) -> str:
    return base64.b64encode(
        np.ascontiguousarray(numbers.astype(kind)).tobytes()
    ).decode()
