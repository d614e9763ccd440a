"""Distinct images of a prompt, since repeated images are not independent evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.identity import ImageKey
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.pixels import brightness, brightness_in_cells, looks_like_one

# the status of an image that shows what an earlier one of its prompt shows
REPEATED = "repeated"
_REASON = "the same picture as an earlier image of the prompt"


@dataclass(slots=True)
class _Prompt:
    attempts: list[Attempt | None] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    # brightness to hashes, so that few are compared
    perceptual_hashes: dict[int, list[Float32Array]] = field(default_factory=dict)


class DistinctImages:
    """A view of images in which each distinct picture of a prompt counts once.

    An image whose file, or whose pixels but for a re-encoding, are those of an image of the same
    prompt with a smaller index has the status 'repeated'. Images that were stored by an older
    version are compared by their files alone.
    """

    def __init__(self, images: ImageStore) -> None:
        self._images = images
        self._prompts: dict[int, _Prompt] = {}

    def only(self, contents: Iterable[int]) -> DistinctImages:
        """Return a view of the images with some content ids, for another process."""
        return DistinctImages(self._images.only(contents))

    def hashes(self) -> set[str]:
        """Return the SHA-256 of all image files, those of repeated images included."""
        return self._images.hashes()

    def get(self, key: ImageKey) -> Attempt | None:
        """Return an image's record, marked if it repeats an earlier one; None if not stored."""
        return self._known(key, key.index + 1)[key.index]

    def first(
        self, prompt: str, n: int, source: str | None = None
    ) -> list[Attempt | None]:
        """Return the records of the first n images of a prompt, or of an edit of `source`.

        Repeated ones are marked.
        """
        return self._known(ImageKey.of(prompt, 0, source), n)[:n]

    def nth(self, prompt: str, index: int) -> Attempt | None:
        """Return the record of one image of a prompt, marked if it repeats an earlier one."""
        return self.get(ImageKey.of(prompt, index))

    def brightness(self, sha256: str) -> Float64Array | None:
        """Return the brightness of an image in cells; None if it was stored without.

        Args:
            sha256: Of its file.
        """
        hashes = self._images.perceptual_hashes
        if not hashes.has("images", sha256):
            return None
        return brightness_in_cells(hashes.get("images", sha256))

    def _known(self, key: ImageKey, n: int) -> list[Attempt | None]:
        """Return the records of at least n images of a key's prompt, with repeated ones marked."""
        observed = self._prompts.setdefault(key.content, _Prompt())
        while len(observed.attempts) < n:
            # `replace` would take four times as long, and a run has a million images.
            image = ImageKey(
                key.content, len(observed.attempts), key.prompt, key.source
            )
            attempt = self._images.get(image)
            if (
                attempt is not None
                and attempt.status == "ok"
                and self._repeats(attempt, observed)
            ):
                attempt = replace(attempt, status=REPEATED, reason=_REASON)
            observed.attempts.append(attempt)
        return observed.attempts

    def _repeats(self, attempt: Attempt, observed: _Prompt) -> bool:
        """Return whether an image repeats an earlier one of its prompt; remember it if not."""
        sha256 = attempt.sha256 or ""
        if sha256 in observed.files:
            return True
        perceptual_hashes = self._images.perceptual_hashes
        row = (
            perceptual_hashes.get("images", sha256)
            if perceptual_hashes.has("images", sha256)
            else None
        )
        if row is not None:
            step = brightness(row)
            alike = [
                other
                for k in (-1, 0, 1)
                for other in observed.perceptual_hashes.get(step + k, ())
            ]
            if alike and looks_like_one(row, np.stack(alike)):
                return True
            observed.perceptual_hashes.setdefault(step, []).append(row)
        observed.files.add(sha256)
        return False
