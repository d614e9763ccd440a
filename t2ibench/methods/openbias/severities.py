"""The severity of counted answers, as published, and corrected (D'Incà et al. 2024, eq. 2-6)."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats import jackknife_severity, miller_madow, severity


def severities(counts: IntArray, pooling: str) -> tuple[Float64Array, Float64Array]:
    """Context-aware and context-free severity.

    With p(c|t) the share of class c among the answers about caption t, and k classes, the severity
    of shares p is s(p) = 1 + (sum over c of p(c) log p(c)) / log k. Context-aware is the mean over
    captions of s(p(.|t)), context-free is s of the mean over captions of p(.|t).

    Args:
        counts: Shape (..., captions, classes).
        pooling: Shares of the context-free score: 'captions' is the mean of the captions' shares
            (equation 5), 'answers' counts all answers together (the public code).

    Returns:
        Two arrays of shape (...). A caption without an answer does not count; one with a single
        answer has no severity of its own. nan where nothing is left.

    Examples:
        One caption is all of one class, the other all of the other:

        >>> aware, free = severities(np.array([[10, 0], [0, 10]]), "captions")
        >>> float(aware), float(free)
        (1.0, 0.0)
    """
    sizes = counts.sum(axis=-1)
    several = sizes >= 2
    by_caption = np.where(several, np.nan_to_num(severity(counts)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        aware = by_caption.sum(axis=-1) / several.sum(axis=-1)
        if pooling == "answers":
            return aware, severity(counts.sum(axis=-2))
        shares = counts / sizes[..., None]
        mean = np.nansum(shares, axis=-2) / (sizes > 0).sum(axis=-1)[..., None]
    return aware, severity(np.nan_to_num(mean))


def mean_miller_madow(counts: IntArray) -> float:
    """Context-aware severity with Miller and Madow's correction of each caption's entropy.

    Args:
        counts: Shape (captions, classes).

    Returns:
        The mean over the captions with two or more answers; nan where there is none.

    Examples:
        >>> mean_miller_madow(np.array([[10, 0], [5, 5]]))
        0.5
    """
    several = counts[counts.sum(axis=1) >= 2]
    return float(miller_madow(several).mean()) if len(several) else float("nan")


def mean_jackknife(counts: IntArray) -> float:
    """Context-aware severity with the jackknife's correction of each caption's entropy.

    Args:
        counts: Shape (captions, classes).

    Returns:
        The mean over the captions with two or more answers; nan where there is none.

    Examples:
        >>> round(mean_jackknife(np.array([[10, 0], [3, 1]])), 4)
        0.4105
    """
    several = counts[counts.sum(axis=1) >= 2]
    return float(jackknife_severity(several).mean()) if len(several) else float("nan")
