"""Squared distance of class shares from expected ones: unbiased, with its variance and interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import fdtrc, stdtrit

from t2ibench.arrays import Float64Array, IntArray

_STEPS = 60  # of bisection: more than float64 has bits
_SMALLEST = 1e-9  # lower end of an interval whose test only just rejects 0


def squared_lean(
    counts: npt.ArrayLike,
    expected: npt.ArrayLike | None = None,
    classes: npt.ArrayLike | None = None,
) -> Float64Array:
    """Squared lean of answers in k classes from expected shares r, unbiased at any number.

    h = [Σ_j n_j (n_j − 1) / (N (N − 1)) − 2 Σ_j r_j n_j / N + Σ_j r_j²] / (1 − 1/k)

    It is the U-statistic of Σ_j (p_j − r_j)² / (1 − 1/k). Against uniform shares its root is
    Cramér's V, and |2 p − 1| for two classes; against other shares r of two classes it is
    2 |p − r|, the distance of two leans. Below 0 by chance.

    Args:
        counts: Counts n, shape (..., k); a last axis may be padded with zeros.
        expected: Shares r of sum 1, broadcast to the counts; uniform by default.
        classes: Number of classes k, shape (...), where the last axis is padded.

    Returns:
        h, at most 1 against uniform shares, shape (...); nan for fewer than two answers.

    Source: Simpson 1949, "Measurement of diversity", for Σ p²; Cramér 1946 for V.

    Example:
        Seven of ten: 42 + 6 of 90 ordered pairs agree, so (.5333 − .5) / .5.

        >>> squared_lean([[7, 3], [5, 5], [10, 0]]).round(4).tolist()
        [0.0667, -0.1111, 1.0]
    """
    n = np.asarray(counts, dtype=np.float64)
    k = np.asarray(n.shape[-1] if classes is None else classes, dtype=np.float64)
    r = (
        np.broadcast_to(1.0 / k[..., None], n.shape)
        if expected is None
        else np.asarray(expected, dtype=np.float64)
    )
    total = n.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        agree = (n * (n - 1)).sum(axis=-1) / (total * (total - 1))
        value = agree - 2 * (r * n).sum(axis=-1) / total + (r * r).sum(axis=-1)
        result: Float64Array = np.where(total >= 2, value / (1 - 1 / k), np.nan)
    return result


def squared_lean_without(
    counts: npt.ArrayLike, expected: npt.ArrayLike | None = None
) -> Float64Array:
    """`squared_lean` without one answer of each class, for the jackknife.

    Args:
        counts: Shape (..., k).
        expected: As there.

    Returns:
        Shape (..., k); nan where a class has no answer, or where fewer than two are left.

    Example:
        >>> squared_lean_without([2, 1]).tolist()
        [-1.0, 1.0]
    """
    n = np.asarray(counts, dtype=np.float64)
    fewer = n[..., None, :] - np.eye(n.shape[-1])
    r = None if expected is None else np.asarray(expected, dtype=np.float64)[..., None, :]
    return np.where(n > 0, squared_lean(fewer, r), np.nan)


def pseudo_variance(
    codes: IntArray, expected: Float64Array, classes: IntArray, weights: Float64Array
) -> float:
    """Variance of a weighted sum of squared leans, with one more image that leans nowhere.

    Ten equal answers show no variance, but are compatible with some: with one more image whose
    answers have the expected shares, V = 4 θ'S θ + 2 tr S², where θ are all p − r of the images
    of one prompt, scaled to the weights, and S is the covariance of the answers' shares.

    Args:
        codes: Number of the class that each image was answered with, −1 without an answer, shape
            (images, questions); two or more answers to each question.
        expected: Expected shares, shape (questions, k), padded with zeros.
        classes: Number of classes of each question, shape (questions,).
        weights: Weight of each question's squared lean, shape (questions,).

    Returns:
        V.

    Source: derived here: the variance of a quadratic form of a normal vector.

    Example:
        >>> all_alike = np.zeros((10, 1), dtype=np.int64)
        >>> even = np.full((1, 2), 0.5)
        >>> round(pseudo_variance(all_alike, even, np.array([2]), np.ones(1)), 4)
        0.0645
    """
    one_hot = (codes[..., None] == np.arange(expected.shape[1])).astype(np.float64)
    n = (codes >= 0).sum(axis=0).astype(np.float64)[:, None]
    scale = np.sqrt(weights / (1.0 - 1.0 / classes))[:, None]
    means = one_hot.sum(axis=0) / n
    real = n / (n + 1)
    theta = scale * (means - expected)
    deviations = np.where((codes >= 0)[..., None], scale * (one_hot - means), 0.0)
    spread = (deviations * np.sqrt(real / n / (n - 1))).reshape(len(codes), -1)
    pseudo = (np.sqrt(real * (1 - real) / (n - 1)) * theta).ravel()
    covariance = spread.T @ spread + np.outer(pseudo, pseudo)
    width = expected.shape[1]
    variances = scale**2 * (1 - real) / (n - 1)
    for q, r in enumerate(expected):
        cut = slice(q * width, (q + 1) * width)
        covariance[cut, cut] += variances[q] * (np.diag(r) - np.outer(r, r))
    shrunk = (real * theta).ravel()
    return float(4 * shrunk @ covariance @ shrunk + 2 * (covariance**2).sum())


@dataclass(frozen=True, slots=True)
class FreeSquare:
    """The squared lean of mean shares.

    Attributes:
        value: Unbiased.
        low: Lower end of its interval, above 0 where `p` < 1 − level.
        high: Upper end.
        p: One-sided p-value that the mean shares are the expected ones.
        df: Degrees of freedom of the numerator and of the denominator of the F test.
    """

    value: float
    low: float
    high: float
    p: float
    df: tuple[float, float]


def free_square(
    deviations: Float64Array,
    covariance: Float64Array,
    df: float,
    level: float = 0.95,
    *,
    size: float = float("inf"),
    top: float = 1.0,
) -> FreeSquare:
    """Squared lean of shares with an estimated covariance, its test and its interval.

    h = g (θ'θ − tr S) with g = 1 / (1 − 1/k), F = θ'θ / tr S ~ F((tr S)² / tr S², df). With the
    effective number of answers n = (1 − h/T) / (g tr S) the variance is the larger of
    4 g h θ'S θ / θ'θ + 2 g² tr S² and 4 (1 − h/T) h / n: shares near 0 or 1 vary less than others.

    Args:
        deviations: θ, mean shares less expected ones, shape (k,).
        covariance: S of θ, shape (k, k).
        df: Degrees of freedom of S.
        level: Confidence level, in (0, 1).
        size: Number of answers, at least n.
        top: T, the largest value of h.

    Returns:
        h with its test and its interval.

    Source: Box 1954 for the F test; the interval is `anchored_interval`.

    Example:
        >>> spread = np.array([[0.0025, -0.0025], [-0.0025, 0.0025]])
        >>> found = free_square(np.array([0.2, -0.2]), spread, 9)
        >>> round(found.value, 3), round(found.p, 4), found.low > 0
        (0.15, 0.0031, True)
    """
    g = 1.0 / (1.0 - 1.0 / len(deviations))
    length, trace = float(deviations @ deviations), float(np.trace(covariance))
    squares = float((covariance**2).sum())
    value = g * (length - trace)
    if not trace > 0:
        return FreeSquare(value, value, value, float("nan"), (0.0, df))
    h = trace**2 / squares
    p = float(np.clip(fdtrc(h, df, length / trace), np.finfo(float).tiny, 1.0))
    critical = g * trace * (float(scipy.stats.f.ppf(level, h, df)) - 1.0)
    along = float(deviations @ covariance @ deviations) / length if length > 0 else 0.0
    n = min(size, max((1.0 - value / top) / (g * trace), 1.0))

    def variance(x: float) -> float:
        linear = 4 * g * along * max(x, 0.0) + 2 * g * g * squares
        return max(linear, 4 * max(1.0 - x / top, 0.0) * max(x, 0.0) / n)

    low, high = anchored_interval(
        value, critical, variance(value), df, level, path=variance, top=top
    )
    return FreeSquare(value, low, high, p, (h, df))


def critical_value(null: npt.ArrayLike, level: float) -> float:
    """The largest value that a Monte Carlo test at 1 − level does not reject.

    Args:
        null: Draws of the statistic without an effect, shape (draws,).
        level: In (0, 1).

    Returns:
        The largest draw whose p-value (1 + draws ≥ it) / (1 + draws) is at least 1 − level.

    Source: Phipson & Smyth 2010.

    Example:
        >>> critical_value(np.arange(99), 0.9)
        90.0
    """
    draws = np.sort(np.asarray(null, dtype=np.float64))[::-1]
    reached = int(np.ceil((1 - level) * (len(draws) + 1) - 1e-9)) - 1
    return float(draws[min(max(reached, 1), len(draws)) - 1])


def variance_path(
    value: float,
    variance: float,
    null_variance: float,
    steepest: float,
    rows: int,
    top: float = 1.0,
) -> Callable[[float], float]:
    """The variance of an estimated mean squared lean as its true value h moves.

    V(h) = (1 − h/T) [V₀ (1 − h/T) + ρ a h], with V₀ at h = 0 and 0 at the top T, where all
    answers are alike. For one question about one prompt with N images and two classes a is 4/N and
    ρ = 1; ρ is smaller where rows differ or share no images. It is taken from the variance at the
    estimate, cut to [0, 1] and averaged with one row of ρ = 1.

    Args:
        value: The estimate x.
        variance: Its estimated variance.
        null_variance: V₀.
        steepest: a, an upper bound.
        rows: Number of rows that the estimate is the mean of.
        top: T; infinity where the largest value is not known.

    Returns:
        V, a function of h.

    Source: derived here: for two classes, the variance of (2 p̂ − 1)².

    Example:
        >>> path = variance_path(0.5, 0.1, 0.02, 0.4, rows=1)
        >>> path(0.0), round(path(0.5), 4), path(1.0)
        (0.02, 0.1025, 0.0)
    """
    rest = 1.0 - value / top
    known = value > 0 and rest > 0
    ratio = (variance / rest - null_variance * rest) / (steepest * value) if known else 1.0
    share = (rows * float(np.clip(ratio, 0.0, 1.0)) + 1.0) / (rows + 1.0)

    def path(h: float) -> float:
        left = max(1.0 - h / top, 0.0)
        return left * (null_variance * left + share * steepest * h)

    return path


def anchored_interval(
    value: float,
    critical: float,
    variance: float,
    df: float,
    level: float = 0.95,
    *,
    path: Callable[[float], float] | None = None,
    top: float = float("inf"),
) -> tuple[float, float]:
    """Interval of a mean square whose lower end is above 0 exactly where its test rejects 0.

    An estimate x of a mean square h ≥ 0 is skewed at h = 0, where its test has the critical value
    c, and nearly normal at h = x, with the variance V. Below x the squared distance that is
    compatible with h is interpolated in k = (1 − h/x)², above it is that of Student's t:

    (x − h)² ≤ c² k + t² V(h) (1 − k) for h < x; (h − x)² ≤ t² V(h) for h > x

    Args:
        value: The estimate x, possibly below 0.
        critical: c, at least 0: the largest value that the test does not reject.
        variance: V at x, above 0.
        df: Degrees of freedom of V.
        level: Confidence level, in (0, 1).
        path: Variance at h, where it is larger than V; see `variance_path`.
        top: The largest value of h.

    Returns:
        Lower end, at most 0 where the test does not reject, and upper end, at least 0.

    Source: derived here; certified by `tools/calibration`.

    Example:
        >>> low, high = anchored_interval(0.3, 0.2, 0.01, 1e9)
        >>> round(low, 3), round(high, 3)
        (0.102, 0.496)
        >>> anchored_interval(0.1, 0.2, 0.0004, 1e9)[0]
        0.0
    """
    squared = float(stdtrit(df, (1 + level) / 2)) ** 2

    def spread(h: float) -> float:
        return squared * max(variance, path(h) if path else 0.0)

    def below(h: float) -> bool:
        k = (1 - h / value) ** 2
        return (value - h) ** 2 > max(critical, 0.0) ** 2 * k + spread(h) * (1 - k)

    start = max(value, 0.0)
    high = start + 1.0
    while high < top and (high - value) ** 2 <= spread(high):
        high *= 2
    high = _last(lambda h: h <= start or (h - value) ** 2 <= spread(h), start, min(high, top))
    if value <= critical + 1e-11 * max(1.0, abs(critical)):  # equal but for rounding
        return min(value, 0.0), high
    return max(_last(below, 0.0, value), _SMALLEST), high


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest value in [low, high] up to which a condition holds."""
    if holds(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
