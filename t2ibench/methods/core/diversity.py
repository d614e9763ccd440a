"""How much the images of one prompt differ, as an encoder sees them.

1 - U, U the mean cosine of two different images of a prompt: 0 where a model shows one picture
again and again. It depends on the encoder and on what all of its embeddings share, so models and
prompts are compared by one encoder only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.prompt_values import PromptValues
from t2ibench.stats.student import satterthwaite, t_interval

# An eigenvalue of cosines that is rounding.
_NO_WEIGHT = 1e-12


@dataclass(frozen=True, slots=True)
class PromptDiversity:
    """The diversity of one prompt's images, that is, how much they differ to an encoder."""

    prompt: str
    group: str  # what it stands for in its task
    n_images: int  # its images, at least 2
    value: float  # 1 less the mean cosine of two of them
    # of the value, with n_images - 1 degrees of freedom; nan for two images
    variance: float
    # what each image adds (`diversity_values`); None for two images
    images: PromptValues | None = None
    # the Vendi score of all images, for each of them; None for two images, and for prompts that ask
    # for no group
    vendi: PromptValues | None = None


def diversity_of(embeddings: Float64Array) -> tuple[float, float]:
    """Return 1 less the mean cosine of two different rows, and its jackknife variance.

    The rows have unit length. With S the sum of all n rows x_i: U = (|S|^2 - n) / (n (n
    - 1)), and without image i U_i = (|S|^2 - n - 2 (x_i S - 1)) / ((n - 1) (n - 2))
    (Quenouille 1956).

    Examples:
        >>> diversity_of(np.eye(4)[[0, 1, 2]]), diversity_of(np.ones((2, 1)))
        ((1.0, 0.0), (0.0, nan))
    """
    diversity = Jackknife.of(embeddings)
    return diversity.value, diversity.variance


def diversity_values(embeddings: Float64Array) -> Float64Array:
    """Return what each of three images or more adds to the diversity of their prompt.

    These are the jackknife's pseudo-values, n U - (n - 1) U_i with U and U_i as in `diversity_of`.
    Their mean is the diversity itself, since it is a U-statistic, and the variance of that mean is
    the jackknife's (Tukey 1958).

    Examples:
        >>> diversity_values(np.eye(4)[[0, 1, 2]]).tolist()
        [1.0, 1.0, 1.0]
    """
    return Jackknife.of(embeddings).pseudo_values


def vendi_score(embeddings: Float64Array) -> float:
    """Return the Vendi score of n rows of unit length: 1 where all are one, n where none are alike.

    exp(−Σ λ log λ) of the eigenvalues λ of the rows' cosines over n. It grows with n, and no
    correction of its first order in 1 / n takes that out, so it is compared at equal numbers.

    Of more rows than they have numbers d, the eigenvalues are those of a matrix of d × d, but for
    zeros: time and memory grow with n then, not with pairs of rows.

    Source: Friedman and Dieng 2023, The Vendi Score, equation 1.

    Examples:
        >>> round(vendi_score(np.ones((4, 1))), 9), round(vendi_score(np.eye(4)), 9)
        (1.0, 4.0)
    """
    rows = np.asarray(embeddings, dtype=np.float64)
    count, width = rows.shape
    products = rows @ rows.T if count <= width else rows.T @ rows
    eigenvalues = np.linalg.eigvalsh(products / count)
    positive = eigenvalues[eigenvalues > _NO_WEIGHT]
    entropy = float(-(positive * np.log(positive)).sum())
    return float(np.exp(max(entropy, 0.0)))


@dataclass(frozen=True, slots=True)
class Jackknife:
    """The diversity of the images of a prompt, and without each of them.

    Attributes:
        value: The diversity.
        without_each: The diversity without each image, shape (n,); empty for two images.
    """

    value: float
    without_each: Float64Array

    @classmethod
    def of(cls, embeddings: Float64Array) -> Jackknife:
        """Compute the diversity of two rows of unit length or more, and without each of them."""
        rows = np.asarray(embeddings, dtype=np.float64)
        n = len(rows)
        whole = rows.sum(axis=0)
        squares = (rows**2).sum(axis=1)
        pairs = float(whole @ whole - squares.sum())
        value = 1 - pairs / (n * (n - 1))
        if n == 2:
            return cls(value, np.zeros(0))
        pairs_of_each = rows @ whole - squares
        pairs_without = pairs - 2 * pairs_of_each
        return cls(value, 1 - pairs_without / ((n - 1) * (n - 2)))

    @property
    def variance(self) -> float:
        """Variance of the diversity; nan for two images."""
        n = len(self.without_each)
        if not n:
            return float("nan")
        residuals = self.without_each - self.without_each.mean()
        return float((n - 1) / n * (residuals**2).sum())

    @property
    def pseudo_values(self) -> Float64Array:
        """What each image adds to the diversity, shape (n,); see `diversity_values`."""
        n = len(self.without_each)
        return n * self.value - (n - 1) * self.without_each


def mean_diversity(
    prompts: Sequence[PromptDiversity], level: float
) -> tuple[float, tuple[float, float] | None]:
    """Return the mean diversity over prompts and its interval, None without a variance."""
    value = float(np.mean([prompt.value for prompt in prompts]))
    variance, df = satterthwaite(
        [prompt.variance / len(prompts) ** 2 for prompt in prompts],
        [prompt.n_images - 1 for prompt in prompts],
    )
    if not variance > 0:
        return value, None
    low, high = t_interval(value, variance, df, level)
    return value, (max(low, 0.0), high)
