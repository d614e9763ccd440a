"""A generator that has the images of a stored run and makes no new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from t2ibench.models.protocols import GeneratedImage, ImageRequest
from t2ibench.results.record import GeneratorRecord
from t2ibench.store.images import ImageStore


class StoredImages:
    """A generator that has the images of a stored run and makes no new ones."""

    batch_size = 1

    def __init__(self, record: GeneratorRecord, images: ImageStore) -> None:
        self.name = str(record.name)
        self.revision = record.revision
        self.settings: Mapping[str, Any] = record.settings
        self.fingerprint = record.fingerprint
        self._images = images
        self._counts: dict[str, int] = {}
        for attempt in images.all_attempts():
            if attempt.status != "failed" and attempt.source is None:
                count = max(self._counts.get(attempt.prompt, 0), attempt.index + 1)
                self._counts[attempt.prompt] = count

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return failures, because missing images are not generated."""
        reason = "images of a stored run are not regenerated"
        return [GeneratedImage("failed", reason=reason) for _ in requests]

    def lacks(self, requests: Iterable[ImageRequest]) -> bool:
        """Return whether any of these images failed or was never attempted."""
        return self._images.lacks(request.key for request in requests)

    def available(self, prompt: str) -> int | None:
        """Return how many images of a prompt exist."""
        return self._counts.get(prompt, 0)
