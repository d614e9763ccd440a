"""Whether images that a submission counts once, as repeats of others, repeat them here.

A repeated image is no evidence of its own. So a forger who says that unwelcome images repeat others
takes them out of every score, while each image that is drawn comes out as it was sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from t2ibench.store.distinct import REPEATED, DistinctImages
from t2ibench.store.images import Attempt, ImageStore, in_order
from t2ibench.store.pixels import looks_like_one, perceptual_hash, read_image

if TYPE_CHECKING:
    from t2ibench.apps.leaderboard.regenerate import RegeneratedImage
    from t2ibench.arrays import Float32Array


def repeats(
    attempts: Sequence[Attempt], images: ImageStore
) -> list[tuple[Attempt, Attempt]]:
    """Return each image that counts as a repeat, with the earlier image that it repeats."""
    distinct = DistinctImages(images)
    earlier: dict[str, list[Attempt]] = defaultdict(list)
    pairs = []
    for attempt in in_order(attempts):
        stored = distinct.get(attempt.key)
        if stored is None or stored.status != REPEATED:
            earlier[attempt.prompt].append(attempt)
            continue
        original = _original(attempt, earlier[attempt.prompt], images)
        pairs.append((attempt, original))
    return pairs


def _original(
    attempt: Attempt, earlier: Sequence[Attempt], images: ImageStore
) -> Attempt:
    """Return the first of the earlier images that an image repeats."""
    row = _stored_look(attempt, images)
    for other in earlier:
        if other.sha256 == attempt.sha256:
            return other
        other_row = _stored_look(other, images)
        if row is not None and other_row is not None and _are_alike(row, other_row):
            return other
    raise ValueError(f"image {attempt.index} of '{attempt.prompt}' repeats no image")


def _stored_look(attempt: Attempt, images: ImageStore) -> Float32Array | None:
    """Return the perceptual hash that a submission holds of an image; None if it holds none."""
    hashes = images.perceptual_hashes
    sha256 = attempt.sha256 or ""
    return hashes.get("images", sha256) if hashes.has("images", sha256) else None


def _are_alike(row: Float32Array, other: Float32Array) -> bool:
    return looks_like_one(row, other[None])


def unlike_repeats(
    regenerated: Sequence[RegeneratedImage], images: ImageStore
) -> Iterator[str]:
    """Yield a message for each regenerated image that does not repeat others as it is said to.

    Args:
        regenerated: What was generated again.
        images: The submission's records of images.
    """
    looks = {
        image.attempt.key: perceptual_hash(read_image(image.image.data()))
        for image in regenerated
    }
    by_prompt: dict[str, list[RegeneratedImage]] = defaultdict(list)
    for image in regenerated:
        by_prompt[image.attempt.prompt].append(image)
        stored = _stored_look(image.attempt, images)
        if stored is not None and not _are_alike(looks[image.attempt.key], stored):
            yield f"{image}, generated again, does not have the look that is stored of it"
    distinct = DistinctImages(images)
    for of_prompt in by_prompt.values():
        for pair in combinations(of_prompt, 2):
            first, second = sorted(pair, key=lambda image: image.attempt.index)
            row, other = (looks[image.attempt.key] for image in (first, second))
            same_here = first.image.sha256 == second.image.sha256
            claimed_same = first.attempt.sha256 == second.attempt.sha256
            if claimed_same and not (same_here or _are_alike(row, other)):
                yield (
                    f"{second} is said to be the file of image {first.attempt.index}; "
                    "generated again, they are different pictures"
                )
            stored_second = distinct.get(second.attempt.key)
            counts = stored_second is not None and stored_second.status == "ok"
            if same_here and counts:
                yield (
                    f"{second} is counted beside image {first.attempt.index}; "
                    "generated again, both are the same file"
                )
