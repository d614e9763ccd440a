"""The images and texts of anchors, which all queries of a ViBEx task share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.probing import similarity
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class Scene:
    """The images and texts of a task's anchors, which all of its queries share.

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
        """Number of each image's anchor, shape (n,)."""
        return self.pool.clusters

    @property
    def anchor_names(self) -> list[str]:
        """Names of the anchors in reports."""
        return [anchor.name for anchor in self.task.anchors]

    def rng(self, purpose: str) -> np.random.Generator:
        """Return a random generator for one purpose in this task."""
        return self.settings.rng(self.task.id, purpose)

    def samples(self, pool: PromptImages) -> list[dict[str, Any]]:
        """Return a sample for each image, with its similarity to each anchor's text."""
        nearness = similarity(pool.embeddings, self.anchors)
        samples = []
        for image, index in enumerate(pool.indices):
            anchors = {
                name: float(nearness[number, image])
                for number, name in enumerate(self.anchor_names)
            }
            prompt = pool.prompts[pool.clusters[image]]
            samples.append({"prompt": prompt, "index": int(index), "anchors": anchors})
        return samples
