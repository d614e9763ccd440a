"""Worlds of which prompts have unequally many images: others were refused, filtered or repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from t2ibench.methods.core.evidence import ImageEvidence
from tools.calibration.cells import Cell, Sample, ToylandWorld, World
from tools.calibration.worlds import WorldEvidence


@dataclass(frozen=True)
class ThinnedEvidence(WorldEvidence):
    """Evidence of which a prompt has its first images alone.

    Attributes:
        left: Prompt to how many are left.
    """

    left: Mapping[str, int] = field(default_factory=dict)

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """The images of a prompt that are left of its first n."""
        whole = super().images(prompt, n)
        count = min(n, self.left[prompt])
        return ImageEvidence(
            whole.embeddings[:count],
            whole.indices[:count],
            Counter(refused=n - count),
        )


@dataclass(frozen=True)
class ThinnedWorld:
    """Another world, of which each prompt has as many images as chance leaves.

    Attributes:
        world: The other world.
        counts: Numbers of images, each as likely; a prompt with fewer has all of its own.
        weights: Probability of each number; None where all are as likely.
    """

    world: World
    counts: tuple[int, ...]
    weights: tuple[float, ...] | None = None

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        sample = self.world.draw(rng)
        evidence = sample.evidence
        assert isinstance(evidence, WorldEvidence)
        drawn = rng.choice(self.counts, size=len(evidence.embeddings), p=self.weights)
        left = dict(zip(evidence.embeddings, drawn.tolist(), strict=True))
        thinned = ThinnedEvidence(
            evidence.embeddings,
            evidence.vectors,
            evidence.replies,
            evidence.never,
            left=left,
        )
        return replace(sample, evidence=thinned)


def thinned(
    cell: Cell,
    name: str,
    counts: tuple[int, ...],
    weights: tuple[float, ...] | None = None,
) -> Cell:
    """The same cell, of which prompts have unequally many images."""
    assert not isinstance(cell.world, ToylandWorld)
    world = ThinnedWorld(cell.world, counts, weights)
    return replace(cell, name=f"{name}: {cell.name}", world=world)
