"""Pairs of images with the same prompt and seed in two runs, and where they lie between anchors."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from t2ibench.apps.explorer.source import Gallery, Source
from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.nearest import Sides, positions

MOST_PAIRS = 20_000


def same_seeds(first: Source, second: Source) -> bool | None:
    """Return whether two runs use the same base seed; None if either source is a plain folder."""
    if first.run is None or second.run is None:
        return None
    return first.run.record.measurement.seed == second.run.record.measurement.seed


def pairs_of(
    gallery: Gallery, runs: tuple[int, int], prompts: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a record of each image that both runs have: its prompt, sample index and indices."""
    first, second = (gallery.samples(run, prompts) for run in runs)
    shared = first.keys() & second.keys()
    if len(shared) > MOST_PAIRS:
        raise T2IBenchError(
            f"The two runs share {len(shared):,} images; {MOST_PAIRS:,} at most are compared."
        )
    pairs = []
    for image in shared:
        picture = gallery.pictures[first[image]]
        ids = [first[image], second[image]]
        pairs.append({"prompt": picture.prompt, "index": picture.index, "ids": ids})
    return sorted(pairs, key=itemgetter("prompt", "index"))


def leans(
    gallery: Gallery,
    runs: tuple[int, int],
    anchors: Sequence[str],
    pairs: Sequence[dict[str, Any]],
) -> Float64Array:
    """Return where each pair's images lie: 1 at the first anchor, −1 at the second; (pairs, 2)."""
    parts = [
        np.concatenate([gallery.of_run(run, [anchor]) for run in dict.fromkeys(runs)])
        for anchor in anchors
    ]
    for anchor, part in zip(anchors, parts, strict=True):
        if len(part) < 2:
            count = f"{len(part)} image{'' if len(part) == 1 else 's'}"
            raise T2IBenchError(
                f"The anchor '{anchor}' has {count} here, and two are needed."
            )
    sides = Sides(
        gallery.rows[np.concatenate(parts)].astype(np.float64),
        np.repeat([0, 1], [len(part) for part in parts]),
        list(anchors),
        np.concatenate([np.arange(len(part)) for part in parts]),
    )
    if np.allclose(
        *(sides.images[sides.labels == anchor].mean(axis=0) for anchor in (0, 1))
    ):
        raise T2IBenchError("The encoder does not tell the anchors' images apart.")
    ids = np.array([pair["ids"] for pair in pairs], dtype=np.int64).reshape(-1, 2)
    if not len(ids):
        return np.zeros((0, 2))
    _, placed = positions(sides, gallery.rows[ids.ravel()].astype(np.float64))
    return placed.reshape(-1, 2)
