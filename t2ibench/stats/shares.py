"""Squared distance of class shares from expected ones: unbiased, with its variance."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray


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
        >>> squared_lean([[7, 3], [5, 5], [10, 0]]).round(4).tolist()
        [0.0667, -0.1111, 1.0]
    """
    n = np.asarray(counts, dtype=np.float64)
    k = np.asarray(n.shape[-1] if classes is None else classes, dtype=np.float64)
    if expected is None:
        r = np.broadcast_to(1.0 / k[..., None], n.shape)
    else:
        r = np.asarray(expected, dtype=np.float64)
    total = n.sum(axis=-1)
    equal_pairs = (n * (n - 1)).sum(axis=-1)
    pairs = total * (total - 1)
    cross = (r * n).sum(axis=-1)
    expected_square = (r * r).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = equal_pairs / pairs - 2 * cross / total + expected_square
        normalised = square / (1 - 1 / k)
    return np.where(total >= 2, normalised, np.nan)


def squared_lean_without(
    counts: npt.ArrayLike, expected: npt.ArrayLike | None = None
) -> Float64Array:
    """`squared_lean` without one answer of each class, for the jackknife.

    Args:
        counts: Shape (..., k).
        expected: As there.

    Returns:
        Shape (..., k); nan where a class has no answer, or where fewer than two are left.
    """
    n = np.asarray(counts, dtype=np.float64)
    fewer = n[..., None, :] - np.eye(n.shape[-1])
    r: Float64Array | None = None
    if expected is not None:
        r = np.asarray(expected, dtype=np.float64)[..., None, :]
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
    width = expected.shape[1]
    one_hot = (codes[..., None] == np.arange(width)).astype(np.float64)
    answered = codes >= 0
    n = answered.sum(axis=0).astype(np.float64)[:, None]
    scale = np.sqrt(weights / (1.0 - 1.0 / classes))[:, None]
    means = one_hot.sum(axis=0) / n
    # Of all images, the share that are not the additional one.
    real = n / (n + 1)
    theta = scale * (means - expected)
    deviations = np.where(answered[..., None], scale * (one_hot - means), 0.0)
    scaled = deviations * np.sqrt(real / n / (n - 1))
    spread = scaled.reshape(len(codes), -1)
    pseudo = (np.sqrt(real * (1 - real) / (n - 1)) * theta).ravel()
    covariance = spread.T @ spread + np.outer(pseudo, pseudo)
    variances = scale**2 * (1 - real) / (n - 1)
    for question, r in enumerate(expected):
        block = slice(question * width, (question + 1) * width)
        multinomial = np.diag(r) - np.outer(r, r)
        covariance[block, block] += variances[question] * multinomial
    shrunk = (real * theta).ravel()
    linear = 4 * shrunk @ covariance @ shrunk
    quadratic = 2 * (covariance**2).sum()
    return float(linear + quadratic)


def critical_value(null: npt.ArrayLike, level: float) -> float:
    """Return the largest value that a Monte Carlo test at 1 − level does not reject.

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
    place = min(max(reached, 1), len(draws))
    return float(draws[place - 1])
