"""What all queries of one task look at: the images of its anchors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.nearest import Sides
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class Scene:
    """What all queries of one task look at.

    Attributes:
        task: The task.
        settings: How to measure.
        pool: Images of all anchors; their cluster is their anchor.
        anchors: The anchors' text embeddings, shape (k, d).
    """

    task: VibexTask
    settings: Settings
    pool: PromptImages
    anchors: Float64Array

    @property
    def k(self) -> int:
        """Number of anchors."""
        return len(self.task.anchors)

    @property
    def labels(self) -> IntArray:
        """The number of each image's anchor, shape (n,)."""
        return self.pool.clusters

    @property
    def level(self) -> float:
        """Confidence level."""
        return self.settings.level

    @property
    def strata(self) -> list[str]:
        """The anchors' prompts."""
        return self.pool.prompts

    @property
    def sides(self) -> Sides:
        """The anchors' images, for sorting others by them."""
        return Sides(self.pool.embeddings, self.labels, self.strata, self.pool.indices)

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator of random numbers for one purpose."""
        return self.settings.rng(self.task.id, purpose)
