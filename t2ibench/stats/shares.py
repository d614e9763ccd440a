"""Squared leans: unbiased squared distances of class shares from expected shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray, as_floats


def squared_lean(
    counts: npt.ArrayLike,
    expected: npt.ArrayLike | None = None,
    classes: npt.ArrayLike | None = None,
) -> Float64Array:
    """Return the unbiased squared lean of answers in k classes from expected shares r.

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
    n = as_floats(counts)
    if classes is None:
        classes = n.shape[-1]
    k = as_floats(classes)
    if expected is None:
        uniform = 1.0 / k[..., None]
        r = np.broadcast_to(uniform, n.shape)
    else:
        r = as_floats(expected)
    total = n.sum(axis=-1)
    pairs = total * (total - 1)
    equal_pairs = (n * (n - 1)).sum(axis=-1)
    cross_sum = (r * n).sum(axis=-1)
    expected_square = (r * r).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        square_of_shares = equal_pairs / pairs
        cross = 2 * cross_sum / total
        square = square_of_shares - cross + expected_square
        # The square of answers that are all of one class.
        largest = 1 - 1 / k
        h = square / largest
    return np.where(total >= 2, h, np.nan)


def squared_lean_without(
    counts: npt.ArrayLike, expected: npt.ArrayLike | None = None
) -> Float64Array:
    """Return the squared lean with one answer removed, for each class of that answer.

    For the formula see `squared_lean`.

    The jackknife needs it; the last axis is the class of the removed answer.

    Args:
        counts: Shape (..., k).
        expected: As there.

    Returns:
        Shape (..., k); nan where a class has no answer, or where fewer than two are left.
    """
    n = as_floats(counts)
    k = n.shape[-1]
    each_answer = np.eye(k)
    fewer = n[..., None, :] - each_answer
    r: Float64Array | None = None
    if expected is not None:
        r = as_floats(expected)[..., None, :]
    without = squared_lean(fewer, r)
    return np.where(n > 0, without, np.nan)


def pseudo_variance(
    codes: IntArray, expected: Float64Array, classes: IntArray, weights: Float64Array
) -> float:
    """Return the variance of a weighted sum of squared leans, with one even image added to each.

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
    is_class = codes[..., None] == np.arange(width)
    one_hot = is_class.astype(np.float64)
    answered = codes >= 0
    n = answered.sum(axis=0).astype(np.float64)[:, None]
    means = one_hot.sum(axis=0) / n
    # Scaled to the weights, and to the square of answers that are all of one class.
    largest = 1.0 - 1.0 / classes
    scale = np.sqrt(weights / largest)[:, None]
    theta = scale * (means - expected)
    # Of all images, the share that are not the additional one.
    real = n / (n + 1)
    # S has three parts. The first is of the images, about their mean.
    residuals = scale * (one_hot - means)
    deviations = np.where(answered[..., None], residuals, 0.0)
    factors = np.sqrt(real / n / (n - 1))
    scaled = deviations * factors
    spread = scaled.reshape(len(codes), -1)
    covariance_of_images = spread.T @ spread
    # The second is how far the additional image's expected shares lie from that mean.
    pseudo_factors = np.sqrt(real * (1 - real) / (n - 1))
    pseudo = (pseudo_factors * theta).ravel()
    covariance = covariance_of_images + np.outer(pseudo, pseudo)
    # The third is the multinomial covariance of that image's answers.
    variances = scale**2 * (1 - real) / (n - 1)
    for question, r in enumerate(expected):
        start = question * width
        block = slice(start, start + width)
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
    draws = np.sort(as_floats(null))[::-1]
    n_draws = len(draws)
    # p = (1 + reached) / (1 + draws) is at least 1 − level, but for rounding.
    fewest = (1 - level) * (n_draws + 1) - 1e-9
    reached = int(np.ceil(fewest)) - 1
    place = min(max(reached, 1), n_draws)
    return float(draws[place - 1])
