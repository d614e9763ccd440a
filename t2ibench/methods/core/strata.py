"""Images grouped by prompt, for means over prompts and variances about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.rounding import sums_by


@dataclass(frozen=True, slots=True)
class Strata:
    """Images grouped by prompt, or all in one group where a prompt has a single image.

    Attributes:
        names: Names of the prompts.
        number: Number of each image's prompt, shape (n,).
        unit: Number of each image within its prompt, shape (n,).
        sizes: Number of images of each prompt.
    """

    names: list[str]
    number: IntArray
    unit: IntArray
    sizes: IntArray

    @classmethod
    def of(
        cls, clusters: IntArray, prompts: Sequence[str], indices: IntArray
    ) -> Strata:
        """Group images by prompt, or all together if a prompt has a single image.

        Args:
            clusters: Number of each image's prompt in `prompts`, shape (n,).
            prompts: The prompts, with images or without.
            indices: Which sample of its prompt each image is, shape (n,).
        """
        sizes_of_prompts = np.bincount(clusters, minlength=len(prompts))
        present = np.flatnonzero(sizes_of_prompts)
        sizes = sizes_of_prompts[present]
        names = [prompts[number] for number in present.tolist()]
        if len(sizes) > 1 and (sizes < 2).any():
            count = len(clusters)
            zeros = np.zeros(count, np.int64)
            return cls([" | ".join(names)], zeros, np.arange(count), np.array([count]))
        number = clusters
        if len(present) < len(prompts):
            number = np.searchsorted(present, clusters)
        return cls(names, number, indices, sizes)

    def deviations(self, values: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return each prompt's mean, and every value less the mean of its prompt."""
        sums = sums_by(self.number, values, len(self.sizes))
        means = sums / self.sizes.reshape(-1, *[1] * (values.ndim - 1))
        return means, values - means[self.number]
