"""The evidence a score is computed from, as one encoder saw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
UNKNOWN = "unknown"  # what a judge says where it cannot tell


@dataclass(frozen=True, slots=True)
class ImageEvidence:
    """The images of one prompt.

    Attributes:
        embeddings: Shape (n, d), rows of unit length; only images that count.
        indices: Shape (n,), which sample of the prompt each row is.
        excluded: How many images there are not, by reason ('refused', 'filtered', 'failed',
            'missing').
    """

    embeddings: FloatArray
    indices: IntArray
    excluded: Counter[str]


@dataclass(frozen=True, slots=True)
class AnswerEvidence:
    """What a judge answered about the images of one prompt.

    Attributes:
        answers: One an image that counts; 'unknown' where the judge could not tell.
        indices: Shape (n,), which sample of the prompt each answer is about.
        excluded: How many answers there are not, by reason; 'failed' where a judge gave none.
    """

    answers: tuple[str, ...]
    indices: IntArray
    excluded: Counter[str]


class Evidence(Protocol):
    """Everything one encoder, or one judge, has to say about one run."""

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """The first n images of a prompt."""
        ...

    def texts(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of texts, shape (n, d); NaN rows where the encoder has none."""
        ...

    def answers(self, prompt: str, n: int, question: str, classes: Sequence[str]) -> AnswerEvidence:
        """The judge's answers about the first n images of a prompt."""
        ...


@dataclass(slots=True)
class Pool:
    """Images of several prompts, one after the other.

    Attributes:
        embeddings: Shape (n, d).
        clusters: Shape (n,), the number of each image's prompt.
        prompts: The prompts, by cluster number.
        indices: Shape (n,), sample number within the prompt.
    """

    embeddings: FloatArray
    clusters: IntArray
    prompts: list[str]
    indices: IntArray

    def __len__(self) -> int:
        return len(self.clusters)


@dataclass(slots=True)
class Gatherer:
    """Collects images and counts what was left out, each image once."""

    evidence: Evidence
    excluded: Counter[str] = field(default_factory=Counter)
    seen: dict[str, int] = field(default_factory=dict)
    n_images: int = 0

    def pool(self, prompts: Iterable[str], n: int) -> Pool:
        """The first n images of each prompt."""
        parts, clusters, indices, names = [], [], [], list(prompts)
        for number, prompt in enumerate(names):
            found = self.evidence.images(prompt, n)
            if n > self.seen.get(prompt, 0):
                if prompt in self.seen:
                    before = self.evidence.images(prompt, self.seen[prompt])
                    self.excluded -= before.excluded
                    self.n_images -= len(before.indices)
                self.excluded += found.excluded
                self.n_images += len(found.indices)
                self.seen[prompt] = n
            parts.append(found.embeddings)
            clusters.append(np.full(len(found.indices), number, dtype=np.int64))
            indices.append(found.indices)
        kept = [part for part in parts if len(part)]
        return Pool(
            np.concatenate(kept).astype(np.float64) if kept else np.zeros((0, 1)),
            np.concatenate(clusters) if clusters else np.zeros(0, np.int64),
            names,
            np.concatenate(indices) if indices else np.zeros(0, np.int64),
        )
