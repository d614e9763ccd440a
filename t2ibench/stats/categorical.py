"""Scores of answers in classes and of concept histograms, with what chance alone would give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats as scipy_stats
from scipy.special import gammaln, xlogy

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def severity(counts: npt.ArrayLike) -> FloatArray:
    """1 + sum p log p / log k: 0 is uniform, 1 is one class only (D'Incà et al. 2024, eq. 5-6).

    Args:
        counts: Counts or shares, shape (..., k).

    Returns:
        Shape (...); nan where there is one class only, or nothing was counted.
    """
    values = np.asarray(counts, dtype=np.float64)
    k, total = values.shape[-1], values.sum(axis=-1)
    if k < 2:
        return np.full(total.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = values / total[..., None]
        found: FloatArray = 1.0 + xlogy(shares, shares).sum(axis=-1) / np.log(k)
    return np.where(total > 0, np.clip(found, 0.0, 1.0), np.nan)


def expected_severity(n: int, k: int) -> float:
    """Mean severity of n answers spread evenly over k classes, exactly.

    Each class's count is binomial, and the expectation of a sum needs no more than that. It is
    .076 for two classes and ten answers: an unbiased model does not score 0.
    """
    if n < 1 or k < 2:
        return float("nan")
    counts = np.arange(n + 1)
    weights = scipy_stats.binom.pmf(counts, n, 1.0 / k)
    return float(1.0 + k * (weights * xlogy(counts / n, counts / n)).sum() / np.log(k))


def miller_madow(counts: npt.ArrayLike) -> FloatArray:
    """Severity with Miller and Madow's correction of the entropy, (classes seen - 1) / 2n.

    Args:
        counts: Shape (..., k).

    Returns:
        Shape (...), at least 0.
    """
    values = np.asarray(counts, dtype=np.float64)
    total, k = values.sum(axis=-1), values.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = ((values > 0).sum(axis=-1) - 1) / (2.0 * total) / np.log(max(k, 2))
    found: FloatArray = np.maximum(severity(values) - gain, 0.0)
    return found


def multinomial_test(
    counts: Sequence[int],
    shares: Sequence[float] | None = None,
    *,
    n_draws: int,
    max_exact: int,
    rng: np.random.Generator,
) -> tuple[float, bool]:
    """Whether answers come from given shares: the probability of counts at most as likely.

    Args:
        counts: Shape (k,).
        shares: Shape (k,), sum 1; uniform by default.
        n_draws: Monte Carlo draws where there are too many outcomes.
        max_exact: Enumerate where there are at most so many outcomes.
        rng: Of the draws.

    Returns:
        p-value, never 0, and whether it is exact.
    """
    observed = np.asarray(counts, dtype=np.int64)
    k, n = len(observed), int(observed.sum())
    p = np.full(k, 1.0 / k) if shares is None else np.asarray(shares, dtype=np.float64)
    if n == 0 or k < 2:
        return float("nan"), True
    if (observed[p == 0] > 0).any():
        return float(np.finfo(np.float64).tiny), True
    n_outcomes = float(np.exp(gammaln(n + k) - gammaln(k) - gammaln(n + 1)))
    exact = n_outcomes <= max_exact
    outcomes = _outcomes(n, k) if exact else rng.multinomial(n, p, n_draws)
    log_p = _log_probability(outcomes, p)
    limit = float(_log_probability(observed[None], p)[0]) + 1e-7
    if exact:
        return float(np.exp(log_p[log_p <= limit]).sum().clip(None, 1.0)), True
    return float((1 + int((log_p <= limit).sum())) / (1 + n_draws)), False


def _log_probability(outcomes: IntArray, p: FloatArray) -> FloatArray:
    n = outcomes.sum(axis=1)
    found: FloatArray = (
        gammaln(n + 1) - gammaln(outcomes + 1).sum(axis=1) + xlogy(outcomes, p).sum(axis=1)
    )
    return found


def _outcomes(n: int, k: int) -> IntArray:
    """Every way to spread n answers over k classes, shape (outcomes, k)."""
    rows = np.arange(n + 1)[:, None]
    for _ in range(k - 2):
        left = n - rows.sum(axis=1)
        last = np.concatenate([np.arange(most + 1) for most in left])
        rows = np.column_stack([np.repeat(rows, left + 1, axis=0), last])
    return np.column_stack([rows, n - rows.sum(axis=1)]).astype(np.int64)


def concept_association(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """Histogram overlap sum min / sum max (Chinchure et al. 2024, algorithm 1).

    Args:
        first: Frequencies, shape (..., v).
        second: Frequencies of the same concepts, shape (..., v).

    Returns:
        Shape (...); nan where both are empty.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.minimum(a, b).sum(axis=-1) / np.maximum(a, b).sum(axis=-1)
    return found


def mad(values: npt.ArrayLike, *, root: bool = True) -> FloatArray:
    """Normalised mean absolute deviation of shares (Chinchure et al. 2024, eq. 7).

    Args:
        values: Shape (..., k); made to sum to 1 along the last axis.
        root: The published score; without it, the ratio before the square root.

    Returns:
        Shape (...), from 0 (all alike) to 1 (one has everything); nan for k < 2.
    """
    rows = np.asarray(values, dtype=np.float64)
    k = rows.shape[-1]
    if k < 2:
        return np.full(rows.shape[:-1], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = rows / rows.sum(axis=-1, keepdims=True)
    most = 2.0 * (k - 1) / k**2  # the mean deviation of (1, 0, ..., 0)
    ratio: FloatArray = np.abs(shares - 1.0 / k).mean(axis=-1) / most
    return np.sqrt(ratio) if root else ratio


def macro_f1(truth: Sequence[str], found: Sequence[str]) -> float:
    """Mean F1 over the classes that either side names; 0 for a class without a hit."""
    scores = []
    for name in sorted({*truth, *found}):
        hits = sum(a == b == name for a, b in zip(truth, found, strict=True))
        scores.append(2 * hits / (truth.count(name) + found.count(name)))
    return float(np.mean(scores)) if scores else float("nan")


def kl_divergence(p: npt.ArrayLike, q: npt.ArrayLike) -> float:
    """KL(p || q) in nats; infinite where q lacks a class that p has."""
    a, b = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return float(scipy_stats.entropy(a, b))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error (SD with ddof 1 over root n)."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array)))
