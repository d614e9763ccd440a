"""The severity of counted answers, and how it varies by chance (D'Incà et al. 2024, eq. 2-6)."""

from __future__ import annotations

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats import expected_severity, miller_madow, severity

_BLOCK = 500  # bootstrap and null draws at a time


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


def draw_severities(
    counts: IntArray,
    shares: Float64Array,
    n_draws: int,
    rng: np.random.Generator,
    pooling: str,
    *,
    resample: bool,
) -> tuple[Float64Array, Float64Array]:
    """Severities of answers that are drawn from given shares.

    Args:
        counts: Shape (captions, classes); they say how many answers each caption has.
        shares: Shape (captions, classes), rows of sum 1.
        n_draws: How many.
        rng: Of the draws.
        pooling: See `severities`.
        resample: Resample the captions too (the bootstrap), or keep them (the null).

    Returns:
        Context-aware and context-free severities, shape (draws,) each.
    """
    parts = [
        severities(
            _draw_counts(counts, shares, min(_BLOCK, n_draws - start), rng, resample=resample),
            pooling,
        )
        for start in range(0, n_draws, _BLOCK)
    ]
    return np.concatenate([aware for aware, _ in parts]), np.concatenate(
        [free for _, free in parts]
    )


def _draw_counts(
    counts: IntArray,
    shares: Float64Array,
    n_draws: int,
    rng: np.random.Generator,
    *,
    resample: bool,
) -> IntArray:
    """Resampled counts, shape (draws, captions, classes)."""
    m = len(counts)
    sizes = counts.sum(axis=1)
    picks = rng.integers(m, size=(n_draws, m)) if resample else np.tile(np.arange(m), (n_draws, 1))
    drawn: IntArray = rng.multinomial(sizes[picks], shares[picks])
    return drawn


def expected_aware(counts: IntArray) -> float:
    """The mean context-aware severity of uniform answers, exactly.

    Args:
        counts: Shape (captions, classes); only how many answers each caption has matters.

    Returns:
        The mean over the captions with two or more answers.

    Examples:
        Two answers of two classes agree half of the time, and then have a severity of 1:

        >>> round(expected_aware(np.array([[2, 0], [1, 1]])), 6)
        0.5
    """
    sizes = counts.sum(axis=1)
    k = counts.shape[1]
    return float(np.mean([expected_severity(int(n), k) for n in sizes[sizes >= 2]]))


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
