"""Variances of means of few images, pooled with those of other prompts of their kind."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array

# f₀: as many degrees of freedom as the variance of its kind counts for in each prompt's own.
_PRIOR = 4.0
# The median number of images of a kind from which its variances are pooled. Of two or three images
# everywhere, few degrees of freedom are what covers the noise of what images have in common.
_FEWEST = 4


def pooled_variance(
    variances: Float64Array, dfs: Float64Array, numbers: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Variances of means with each prompt's own shrunk to that of its kind.

    With s² the variance of the images of a prompt and f its degrees of freedom, for each kind:

        s² ← (f s² + f₀ s̄²) / (f + f₀)      s̄² = Σ f s² / Σ f      f ← f + f₀      f₀ = 4

    Where some prompts have two images and others sixty, the mean of two has the largest variance,
    with one degree of freedom: it dominates sums of variances, and now and then it is nearly 0.
    With equal numbers of images the sum over prompts of a kind stays as it is.

    Args:
        variances: s² / n, shape (prompts, kinds), of images with equal spread; nan where n is 1.
        dfs: f, the same shape.
        numbers: n, the same shape.

    Returns:
        Both after pooling, where the median n of a kind is at least 4; what is nan stays.

    Source: an empirical Bayes variance (Smyth 2004, "Linear models and empirical Bayes methods")
        with a fixed number of prior degrees of freedom, chosen by simulation.

    Example:
        Two prompts of 8 images and one of 2, whose variance is 0 by chance:

        >>> rows = [np.array([values]).T for values in ([0.125, 0.125, 0.0], [7, 7, 1], [8, 8, 2])]
        >>> variances, dfs = pooled_variance(*rows)
        >>> (variances * rows[2]).T.round(3).tolist(), dfs.T.tolist()
        ([[0.976, 0.976, 0.747]], [[11.0, 11.0, 5.0]])
    """
    pooled = variances.astype(np.float64)
    degrees = dfs.astype(np.float64)
    for kind in range(variances.shape[1]):
        is_known = np.isfinite(variances[:, kind])
        n = numbers[is_known, kind]
        if not is_known.any() or np.median(numbers[:, kind]) < _FEWEST:
            continue
        # A mean that does not vary has no degrees of freedom that could be told.
        f = np.where(np.isfinite(dfs[is_known, kind]), dfs[is_known, kind], n - 1)
        squares = variances[is_known, kind] * n
        of_kind = float(f @ squares) / float(f.sum())
        pooled[is_known, kind] = (f * squares + _PRIOR * of_kind) / (f + _PRIOR) / n
        degrees[is_known, kind] = f + _PRIOR
    return pooled, degrees
