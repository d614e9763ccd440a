"""Shares of answers in clusters: Wilson's interval with an effective number of answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from t2ibench.arrays import Float64Array


@dataclass(frozen=True, slots=True)
class Proportion:
    """The mean over clusters of a class's share.

    Attributes:
        value: The mean share.
        size: Effective number of answers: as many independent answers would be as precise.
        df: Degrees of freedom of its variance.
    """

    value: float
    size: float
    df: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Wilson's interval, with the quantile of Student's t.

        Args:
            level: Confidence level, in (0, 1).

        Returns:
            Lower and upper end, within [0, 1].

        Source: Wilson 1927, "Probable inference".

        Example:
            >>> low, high = Proportion(0.5, 100.0, 1e9).interval()
            >>> round(low, 3), round(high, 3)
            (0.404, 0.596)
        """
        squared = float(stdtrit(self.df, (1 + level) / 2)) ** 2
        scale = 1 + squared / self.size
        middle = (self.value + squared / (2 * self.size)) / scale
        spread = self.value * (1 - self.value) / self.size + squared / (4 * self.size**2)
        half = np.sqrt(squared * spread) / scale
        return max(0.0, float(middle - half)), min(1.0, float(middle + half))

    def p(self, expected: float) -> float:
        """Two-sided p-value of the score test, which agrees with the interval.

        Args:
            expected: The share under test.

        Returns:
            p, in (0, 1]; nan for an expected share of 0 or 1.

        Source: Rao 1948, the score test; inverted it is Wilson's interval.

        Example:
            >>> round(Proportion(0.6, 100.0, 1e9).p(0.5), 4)
            0.0455
        """
        variance = expected * (1 - expected) / self.size
        if not variance > 0:
            return float("nan")
        p = 2 * stdtr(self.df, -abs(self.value - expected) / np.sqrt(variance))
        return float(np.clip(p, np.finfo(float).tiny, 1.0))


def clustered_proportion(hits: npt.ArrayLike, totals: npt.ArrayLike) -> Proportion:
    """The mean over these clusters of a class's share; only the answers within each vary.

    V = Σ_c p_c (1 − p_c) / (n_c − 1) / C², and the effective number of answers is p (1 − p) / V.
    Where the clusters show (nearly) no variance it is at most the number of answers, or that of
    clusters with one more answer that is half of the class.

    Args:
        hits: Answers of the class, shape (C,).
        totals: Answers, at least 1 each, shape (C,).

    Returns:
        The share; with one answer a cluster, that of independent answers.

    Source: stratified sampling (Cochran 1977, chapter 5), Korn & Graubard 1998 for the effective
        number of answers.

    Example:
        >>> found = clustered_proportion([7, 3], [10, 10])
        >>> found.value, round(found.size, 1), found.df
        (0.5, 21.4, 18.0)
    """
    x, n = np.asarray(hits, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    shares, number = x / n, len(n)
    value = float(shares.mean())
    df = float((n - 1).sum())
    if not df > 0:
        return Proportion(value, float(number), max(number - 1.0, 1.0))
    several = n > 1
    within = _within(shares[several], n[several]) / several.sum() / number
    pseudo = _within((x + 0.5) / (n + 1), n + 1) / number**2
    return Proportion(value, float(_effective(value, within, pseudo, float(n.sum()))), df)


def _within(shares: Float64Array, sizes: Float64Array) -> float:
    return float((shares * (1 - shares) / (sizes - 1)).sum())


def _effective(value: float, variance: float, floor: float, total: float) -> float:
    spread = value * (1 - value)
    if not spread > 0:
        return total
    most = max(total, spread / floor if floor > 0 else total)
    return min(most, spread / variance) if variance > 0 else most


def sampled_proportion(hits: npt.ArrayLike, totals: npt.ArrayLike) -> Proportion:
    """The mean over clusters like these of a class's share: the clusters vary too.

    V is the variance of the clusters' shares over their number, at least that of
    `clustered_proportion`.

    Args:
        hits: Answers of the class, shape (C,).
        totals: Answers, at least 1 each, shape (C,); two or more clusters.

    Returns:
        The share, with C − 1 degrees of freedom.

    Source: cluster sampling (Cochran 1977, chapter 9).

    Example:
        >>> found = sampled_proportion([9, 1, 9, 1], [10, 10, 10, 10])
        >>> found.value, round(found.size, 2), found.df
        (0.5, 4.69, 3.0)
    """
    these = clustered_proportion(hits, totals)
    shares = np.asarray(hits, dtype=np.float64) / np.asarray(totals, dtype=np.float64)
    spread = these.value * (1 - these.value)
    variance = float(shares.var(ddof=1)) / len(shares)
    size = min(these.size, spread / variance) if variance > 0 else these.size
    return Proportion(these.value, size, len(shares) - 1.0)


def pooled_proportion(hits: npt.ArrayLike, totals: npt.ArrayLike) -> Proportion:
    """The share over all answers of clusters like these, such as a precision or a recall.

    p = Σ x_c / Σ n_c, V = C / (C − 1) Σ (x_c − p n_c)² / (Σ n_c)². The effective number of answers
    is p (1 − p) / V, at most Σ n_c, and at most C where the clusters do not differ at all. Where it
    is above C, V is the larger (C V + 1 / (4 C)) / (C + 1), as with one more cluster of mean size
    and half of the class: few clusters near a share of 0 or 1 seldom show the one that differs.

    Args:
        hits: Answers of the class x, shape (C,).
        totals: Answers n, shape (C,); clusters without any do not count.

    Returns:
        The share, with C − 1 degrees of freedom; nan without answers.

    Source: the ratio estimator of cluster sampling (Cochran 1977, chapter 9), Korn & Graubard 1998
        for the effective number of answers.

    Example:
        >>> found = pooled_proportion([3, 0, 1], [4, 2, 4])
        >>> found.value, round(found.size, 2), found.df
        (0.4, 4.43, 2.0)
    """
    x, n = np.asarray(hits, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    x, n = x[n > 0], n[n > 0]
    number, total = len(n), float(n.sum())
    if not number:
        return Proportion(float("nan"), 0.0, 1.0)
    value = float(x.sum()) / total
    df = max(number - 1.0, 1.0)
    if number < 2:
        return Proportion(value, 1.0, df)
    variance = number / (number - 1) * float(((x - value * n) ** 2).sum()) / total**2
    if not variance > 0:
        return Proportion(value, float(number), df)
    spread = value * (1 - value)
    careful = (number * variance + 0.25 / number) / (number + 1)
    size = max(spread / careful, min(spread / variance, float(number)))
    return Proportion(value, min(total, size, spread / variance), df)


def share_difference(
    hits: int, total: int, other_hits: int, other_total: int, level: float = 0.95
) -> tuple[float, float]:
    """Newcombe's interval of the difference of two independent shares.

    With (l₁, u₁) and (l₂, u₂) Wilson's intervals of p₁ and p₂,
    p₁ − p₂ − √((p₁ − l₁)² + (u₂ − p₂)²) to p₁ − p₂ + √((u₁ − p₁)² + (p₂ − l₂)²).

    Args:
        hits: Answers of the class.
        total: Out of how many, at least 1.
        other_hits: The same of the share that is taken away.
        other_total: Out of how many, at least 1.
        level: Confidence level, in (0, 1).

    Returns:
        Lower and upper end, from −1 to 1.

    Source: Newcombe 1998, "Interval estimation for the difference between independent proportions",
        method 10.

    Example:
        The paper's first example, 56 of 70 less 48 of 80.

        >>> [round(end, 4) for end in share_difference(56, 70, 48, 80)]
        [0.0524, 0.3339]
    """
    first, second = hits / total, other_hits / other_total
    low, high = Proportion(first, total, np.inf).interval(level)
    other_low, other_high = Proportion(second, other_total, np.inf).interval(level)
    gap = first - second
    return (
        gap - float(np.hypot(first - low, other_high - second)),
        gap + float(np.hypot(high - first, second - other_low)),
    )
