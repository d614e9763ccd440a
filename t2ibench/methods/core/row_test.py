"""The test of a row, with the variance that its images would have at the tested lean.

The variance that images show is that at their own lean. Of 16 images of which 14 are like A it is
far below what an even mixture has, so a test that takes it for the null variance rejects too often,
most of all in the tail that Holm's correction reads: with plainly visible groups, 20 fair rows of
16 images had one that was clear in .08 to .12 of data sets, with the variance below in .03 to .04.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.mixture_variance import MixtureVariance


def null_variance(
    variances: Float64Array,
    dfs: Float64Array,
    numbers: Float64Array,
    distances: Float64Array,
    mixture: MixtureVariance,
    lean: npt.ArrayLike = 0.0,
) -> tuple[Float64Array, Float64Array]:
    """Return the variance that each row's mean y would have if its lean were the tested one.

    With s² the sample variance of n images, and m how far y is from where that lean would be,

        V = max(s², min(within + (1 - lean²) D² / 4, s² (n - 1) / n + m²)) / n

    s² (n - 1) / n + m² is the images' variance about the point of that lean. Where groups overlap
    in images that vary much, m is noise as well, and a mixture's variance is what bounds it. Where
    nothing shows that variance, because no prompt with an attribute has two images, V is s² / n.

    Args:
        variances: s² / n, shape (rows,).
        dfs: Degrees of freedom of s², shape (rows,).
        numbers: n, shape (rows,).
        distances: m, shape (rows,).
        mixture: What mixtures vary by.
        lean: The lean that is tested, shape () or (rows,).

    Returns:
        V and its degrees of freedom: those of s² where that is the largest, otherwise those of the
        mixture.

    Source: the variance under the null hypothesis in place of that at the estimate, as in the score
        test of a share (Wilson 1927); the bound is ours, from simulation.

    Example:
        Of 16 images 14 are at A (1) and 2 at B (-1), so s² is .467 and y .75 from the middle. An
        even mixture has the variance 1:

        >>> mixture = MixtureVariance(within=0.0, df=100.0, square=4.0)
        >>> row = [np.array([value]) for value in (0.467 / 16, 15.0, 16.0, 0.75)]
        >>> variance, df = null_variance(*row, mixture)
        >>> round(16 * float(variance[0]), 2), float(df[0])
        (1.0, 100.0)
    """
    if not np.isfinite(mixture.within):
        return variances, dfs
    sample = variances * numbers
    about_the_point = sample * (numbers - 1) / numbers + distances**2
    under_the_null = np.minimum(mixture.at(lean), about_the_point)
    is_sample_larger = sample >= under_the_null
    largest = np.where(is_sample_larger, sample, under_the_null)
    # Of a single image nothing is known.
    largest = np.where(np.isfinite(variances), largest, np.nan)
    return largest / numbers, np.where(is_sample_larger, dfs, mixture.df)


def reach_null(
    low: npt.ArrayLike, high: npt.ArrayLike, p: npt.ArrayLike, level: float
) -> tuple[Float64Array, Float64Array]:
    """Return intervals, extended to 0 where a test does not reject 0.

    An interval that was made with another variance than the test may end just short of 0.

    Args:
        low: Lower ends, of any shape.
        high: Upper ends, the same shape.
        p: p-values that the value is 0, the same shape.
        level: Confidence level, in (0, 1).

    Example:
        >>> low, high = reach_null([0.1, 0.1], [0.9, 0.9], [0.06, 0.04], 0.95)
        >>> low.tolist(), high.tolist()
        ([0.0, 0.1], [0.9, 0.9])
    """
    lower = np.asarray(low, np.float64)
    upper = np.asarray(high, np.float64)
    is_not_rejected = np.asarray(p, np.float64) >= 1 - level
    return (
        np.where(is_not_rejected, np.minimum(lower, 0.0), lower),
        np.where(is_not_rejected, np.maximum(upper, 0.0), upper),
    )
