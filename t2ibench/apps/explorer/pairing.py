"""Pairs of images from two runs with the same prompt and number, and how their scores differ."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from t2ibench.apps.explorer.collection import Collection, Gallery
from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.methods.core.nearest import Sides, positions
from t2ibench.results.image_pairs import (
    RecordedImages,
    pair_images,
    pairs_in_words,
    why_seeds_are_unknown,
)
from t2ibench.store.images import Attempt

MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Basis:
    """What the images of two sources share besides the prompts of their tasks.

    Attributes:
        same_seeds: Whether images of one prompt and number began from one seed; None if unknown.
        in_words: The same in words, with whether the models were given the same texts.
        same_start: The images that both models made from one text and one seed: only of these
            does a swipe from one to the other show what the models differ in.
    """

    same_seeds: bool | None
    in_words: str
    same_start: frozenset[ImageKey] = frozenset()


def basis_of(
    collection: Collection, runs: tuple[int, int], prompts: Sequence[str]
) -> Basis:
    """Return what the images of two sources share, as the records of their runs say."""
    first, second = (_recorded(collection, run, prompts) for run in runs)
    pairs = pair_images(first, second)
    in_words = pairs_in_words(pairs, first, second)
    if first.why_unknown or second.why_unknown:
        return Basis(None, in_words)
    same_start = frozenset(pair.first.key for pair in pairs if pair.same_start)
    same_seeds = all(pair.seeds == "same" for pair in pairs)
    if not same_seeds:
        in_words += (
            " Nothing but the prompt connects two such images: no pairs are shown."
        )
    return Basis(same_seeds, in_words, same_start)


def _recorded(
    collection: Collection, run: int, prompts: Sequence[str]
) -> RecordedImages:
    """Return the records of a source's images; those of a plain folder name their files alone."""
    source = collection.source(run)
    gallery = collection.gallery
    attempts = {}
    for key, number in gallery.samples(run, prompts).items():
        picture = gallery.pictures[number]
        attempt = source.attempt(picture)
        attempts[key] = attempt or Attempt(key, 0, "ok", sha256=picture.sha256)
    if source.run is None:
        return RecordedImages(source.name, attempts, "a folder without records")
    generator = source.run.record.generator
    return RecordedImages(source.name, attempts, why_seeds_are_unknown(generator))


def pairs_of(
    gallery: Gallery,
    runs: tuple[int, int],
    prompts: Sequence[str],
    same_start: Set[ImageKey] = frozenset(),
) -> list[dict[str, Any]]:
    """Return a record of each image that both runs have: prompt, sample, and its place in each.

    `swipe` says whether it is among `same_start`; other pairs are shown side by side.
    """
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
        pairs.append(
            {
                "prompt": picture.prompt,
                "index": picture.index,
                "ids": ids,
                "swipe": image in same_start,
            }
        )
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
