"""A number for each image of a prompt, such as what it adds to the prompt's diversity.

Two runs are compared by the differences of such numbers, image by image: a run and itself differ by
exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.student import satterthwaite


@dataclass(frozen=True, slots=True)
class PromptValues:
    """A number for each image of one prompt.

    Attributes:
        prompt: The prompt.
        group: What it stands for in its task.
        indices: Which sample of the prompt each image is, shape (n,), n at least 1.
        values: The number of each image, shape (n,).
    """

    prompt: str
    group: str
    indices: IntArray
    values: Float64Array

    @property
    def mean(self) -> float:
        """Mean over the prompt's images."""
        return float(self.values.mean())


def changes_of(
    first: Iterable[PromptValues], second: Iterable[PromptValues]
) -> list[PromptValues]:
    """Return second minus first, of each image that both runs have of a prompt."""
    values_of_second = {values.prompt: values for values in second}
    changes = []
    for before in first:
        after = values_of_second.get(before.prompt)
        if after is None:
            continue
        indices, at_first, at_second = np.intersect1d(
            before.indices, after.indices, return_indices=True
        )
        if len(indices):
            change = after.values[at_second] - before.values[at_first]
            changes.append(replace(before, indices=indices, values=change))
    return changes


def mean_over_prompts(prompts: list[PromptValues]) -> tuple[float, float, float]:
    """Return a mean over prompts of the means of their images, its variance and their df.

    It is about exactly these prompts: only images vary. Variance and degrees of freedom are nan
    where a prompt has one image.

    Examples:
        >>> values = PromptValues("a nurse", "", np.arange(2), np.array([1.0, 3.0]))
        >>> mean_over_prompts([values])
        (2.0, 1.0, 1.0)
    """
    value = float(np.mean([prompt.mean for prompt in prompts]))
    sizes = np.array([len(prompt.values) for prompt in prompts])
    if (sizes < 2).any():
        return value, float("nan"), float("nan")
    spread = np.array([prompt.values.var(ddof=1) for prompt in prompts])
    variances = spread / sizes / len(prompts) ** 2
    variance, df = satterthwaite(variances, sizes - 1)
    return value, variance, df
