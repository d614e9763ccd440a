"""Variances of means of few images, pooled over neutral or over guided prompts."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array

# f₀: as many degrees of freedom as the variance of its kind counts for in each prompt's own.
_PRIOR = 4.0
# The median number of images of a kind from which its variances are pooled. Of two or three images
# everywhere, few degrees of freedom are what covers the noise of what images have in common.
_FEWEST = 4
# The share of that median up to which a prompt has few images.
_FEW = 0.5


def pooled_variance(
    variances: Float64Array, dfs: Float64Array, numbers: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """Return variances of means, with those of few images shrunk to what is usual.

    With s² the variance of the images of a prompt and f its degrees of freedom, where it has at
    most half of the median number of images of its kind:

        s² ← (f s² + f₀ s̄²) / (f + f₀)      s̄² = Σ f s² / Σ f      f ← f + f₀      f₀ = 4

    Where some prompts have two images and others sixty, the mean of two has the largest variance,
    with one degree of freedom: it dominates sums of variances, and now and then it is nearly 0.
    Where all have about as many images, everything stays as it is: pooled, four images everywhere
    rejected a fair model in .07 to .08.

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
        ([[1.0, 1.0, 0.747]], [[7.0, 7.0, 5.0]])
    """
    pooled = variances.astype(np.float64)
    degrees = dfs.astype(np.float64)
    # The usual case, which is found sooner than medians: no prompt has few images.
    if numbers.size and (numbers.min(axis=0) > _FEW * numbers.max(axis=0)).all():
        return pooled, degrees
    is_known = np.isfinite(variances)
    medians = np.median(numbers, axis=0)
    is_few = is_known & (numbers <= _FEW * medians)
    is_pooled = (medians >= _FEWEST) & is_few.any(axis=0)
    for kind in np.flatnonzero(is_pooled).tolist():
        n = numbers[:, kind]
        counted = is_known[:, kind]
        few = is_few[:, kind]
        # A mean that does not vary has no degrees of freedom that could be told.
        f = np.where(np.isfinite(dfs[:, kind]), dfs[:, kind], n - 1)
        squares = variances[:, kind] * n
        weights = f[counted]
        weighted_sum = float(weights @ squares[counted])
        of_kind = weighted_sum / float(weights.sum())
        shrunk_squares = (f * squares + _PRIOR * of_kind) / (f + _PRIOR)
        shrunk = shrunk_squares / n
        pooled[few, kind] = shrunk[few]
        degrees[few, kind] = f[few] + _PRIOR
    return pooled, degrees
