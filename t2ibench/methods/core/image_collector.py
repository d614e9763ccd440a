"""Collecting the images of several prompts from evidence, and counting them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from t2ibench.arrays import Float64Array, FloatArray
from t2ibench.methods.core.evidence import Evidence, ImageEvidence
from t2ibench.methods.core.prompt_images import PromptImages


class ImageCollector:
    """A collector of images that counts them and the excluded ones, each image once."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # Of each prompt the images asked for, those that there are, and why not the others.
        self._seen: dict[str, tuple[int, int, Counter[str]]] = {}

    @property
    def excluded(self) -> Counter[str]:
        """Number of images excluded so far, by reason."""
        return sum((excluded for *_, excluded in self._seen.values()), Counter())

    @property
    def n_images(self) -> int:
        """Number of distinct images collected so far."""
        return sum(count for _, count, _ in self._seen.values())

    @property
    def n_prompts(self) -> int:
        """Number of distinct prompts requested so far, with images or without."""
        return len(self._seen)

    def collect(self, prompts: Iterable[str], n: int) -> PromptImages:
        """Return the first n images of each prompt; embeddings of shape (0, 1) if there is none."""
        names = list(prompts)
        parts = [self._collect_one(prompt, n) for prompt in names]
        embeddings = [
            _as_stored(part.embeddings) for part in parts if len(part.embeddings)
        ]
        clusters = [
            np.full(len(part.indices), number, np.int64)
            for number, part in enumerate(parts)
        ]
        indices = [part.indices for part in parts]
        nothing = np.zeros(0, np.int64)
        rows: FloatArray = np.zeros((0, 1))
        if embeddings:
            rows = np.concatenate(embeddings)
        return PromptImages(
            embeddings=rows,
            clusters=np.concatenate([nothing, *clusters]),
            prompts=names,
            indices=np.concatenate([nothing, *indices]),
        )

    def _collect_one(self, prompt: str, n: int) -> ImageEvidence:
        images = self._evidence.images(prompt, n)
        if prompt not in self._seen or n > self._seen[prompt][0]:
            self._seen[prompt] = n, len(images.indices), images.excluded
        return images


def _as_stored(embeddings: Float64Array) -> FloatArray:
    """Return embeddings in single precision if they were stored in it: they lose nothing then."""
    stored = embeddings.astype(np.float32)
    return stored if np.array_equal(stored, embeddings) else embeddings
