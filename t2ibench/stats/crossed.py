"""Variance that two crossed ways of sharing add, such as words that several stimuli have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray


def shared_variance(
    values: npt.ArrayLike,
    weights: npt.ArrayLike,
    strata: Sequence[Hashable],
    units: Sequence[Hashable],
    words: Sequence[Hashable],
) -> tuple[float, float]:
    """What a second way of sharing adds to the variance of a weighted sum clustered by the first.

    With i = w (x - mean of its stratum) √(W / (W - 1)), W the words of its stratum,

        E = Σ over words (Σ i)² - Σ over words and units (Σ i)², at least 0,

    the products of two values of one word and two units: the sum of the variances clustered by
    words and by units less that by both, without the part that clusters by units already have.
    Residuals of two units have the covariance -(Σ over units (Σ i)²) / n² even if units do not
    differ by words; it is added back.

    Args:
        values: x, shape (n,).
        weights: w of each value in the sum, shape (n,).
        strata: What each value is one of, such as its group: their means are fixed, shape (n,).
        units: What it shares with others, shape (n,).
        words: What it shares with others across units, shape (n,); those of a stratum with one
            are fixed, and an empty one is none.

    Returns:
        E, and its degrees of freedom: with those of the sum over words, one less than the fewest
        words of a stratum, E has the variance of that sum; nan where E is 0.

    Source: Cameron, Gelbach and Miller 2011, "Robust Inference With Multiway Clustering".

    Example:
        Two words that move two stimuli alike:

        >>> x = [1.0, 3.0, 1.0, 3.0]
        >>> found, df = shared_variance(x, [0.25] * 4, "gggg", "aabb", ["joy", "love"] * 2)
        >>> round(found, 9), round(df, 9)
        (0.5, 0.25)
    """
    x, w = (np.asarray(array, dtype=np.float64) for array in (values, weights))
    distinct = set(zip(strata, words, strict=True))
    count = Counter(stratum for stratum, word in distinct if word)
    kept = np.array(
        [bool(word) and count[stratum] > 1 for stratum, word in zip(strata, words, strict=True)]
    )
    if not kept.any():
        return 0.0, float("nan")
    (group, word, unit) = (
        _numbers([one for one, keep in zip(labels, kept, strict=True) if keep])
        for labels in (strata, words, units)
    )
    x, w = x[kept], w[kept]
    many = np.array([count[s] for s, keep in zip(strata, kept, strict=True) if keep], np.float64)
    means = _sums(x, group) / np.bincount(group)
    influence = w * (x - means[group]) * np.sqrt(many / (many - 1.0))
    both = _numbers(list(zip(word.tolist(), unit.tolist(), strict=True)))
    whole = float((_sums(influence, word) ** 2).sum())
    extra = whole - float((_sums(influence, both) ** 2).sum())
    for number, size in enumerate(np.bincount(group).tolist()):
        own = group == number
        pairs = [float((np.bincount(labels[own]) ** 2).sum()) for labels in (word, both)]
        units_too = float((_sums(influence[own], unit[own]) ** 2).sum())
        extra += (pairs[0] - pairs[1]) / size**2 * units_too
    if not extra > 0:
        return 0.0, float("nan")
    return extra, (float(many.min()) - 1.0) * min(extra / whole, 1.0) ** 2


def _numbers(labels: Sequence[Hashable]) -> IntArray:
    """The number of each label, in the order in which they first stand."""
    places: dict[Hashable, int] = {}
    return np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.int64)


def _sums(values: Float64Array, numbers: IntArray) -> Float64Array:
    return np.bincount(numbers, weights=values).astype(np.float64)
