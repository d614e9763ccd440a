"""Shares and mean squares of classes, corrected for a judge's errors by people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.student import t_interval

FEWEST_LABELS = 200  # below this a corrected mean square may be off by any amount
# of the confusion matrix: below it the judge tells the classes apart badly
LEAST_DETERMINANT = 0.3


@dataclass(frozen=True, slots=True)
class Corrected:
    """A number as people's answers would give it; without a value, why it cannot be corrected."""

    value: float | None
    interval: tuple[float, float] | None = None
    weight: float = 0.0  # of the judge's answers, in [0, 1]
    reason: str | None = None


def corrected_share(
    judged: npt.ArrayLike,
    labelled: npt.ArrayLike,
    labels: npt.ArrayLike,
    level: float = 0.95,
    *,
    unanswered: float = 0.0,
    labels_of_unanswered: npt.ArrayLike = (),
) -> Corrected:
    """A share from many answers of a judge and a few of people (PPI++, double sampling).

    Among the K images that the judge answered for

    p = w mean(f over all) + mean(y - w f over the labelled), with f and y the indicators of the
    class among the judge's and among people's answers, and w in [0, 1] chosen for the smallest
    variance. It is unbiased whatever errors the judge makes. Without labels p is the judge's share.
    Two labels are added to the variance that the judge got wrong, one each way. Among the U images
    that it did not answer for, for whatever reason, q is the share of the s labels:

    (K p + U q) / M, M = K + U, with the variance
    (K / M)² V_p + (U / M)² q' (1 - q') / s + K U (p - q)² / M³, q' with one more label each way

    The interval is Wilson's, with the effective number of answers.

    Args:
        judged: The judge's indicator of every image that it answered for, shape (K,), 0 or 1.
        labelled: The judge's indicator of the labelled ones of them, a random sample, shape (n,).
        labels: People's indicator of those, shape (n,), n 0 or at least 2.
        level: Confidence level, in (0, 1).
        unanswered: Number of further images, U; estimated, where some show none of the classes.
        labels_of_unanswered: People's indicator of a random sample of them, shape (s,).

    Returns:
        The corrected share.

    Source: Angelopoulos, Duchi & Zrnic 2023, "PPI++: Efficient prediction-powered inference";
    Neyman 1938 for double sampling; Wilson 1927.

    Example:
        >>> found = corrected_share([1] * 60 + [0] * 40, [1] * 12 + [0] * 8, [1] * 12 + [0] * 8)
        >>> round(found.value, 2), found.weight > 0.8
        (0.6, True)
        >>> round(corrected_share([1] * 60 + [0] * 40, [], [], unanswered=50,
        ...                       labels_of_unanswered=[1] * 10).value, 3)
        0.733
    """
    value, variance, weight = _answered_share(
        *(np.asarray(array, dtype=np.float64) for array in (judged, labelled, labels))
    )
    rest = np.asarray(labels_of_unanswered, dtype=np.float64)
    if unanswered and len(rest):
        known = len(np.asarray(judged))
        m, q, s = known + unanswered, float(rest.mean()), len(rest)
        padded = (float(rest.sum()) + 1) / (s + 2)
        variance = (
            (known / m) ** 2 * variance
            + (unanswered / m) ** 2 * padded * (1 - padded) / s
            + known * unanswered * (value - q) ** 2 / m**3
        )
        value = (known * value + unanswered * q) / m
    return Corrected(
        value, _wilson(float(np.clip(value, 0, 1)), variance, level), weight
    )


def _answered_share(
    everything: Float64Array, f: Float64Array, y: Float64Array
) -> tuple[float, float, float]:
    """The share among images that the judge answered for, its variance and its weight."""
    n, many = len(y), len(everything)
    if not n:
        padded = (float(everything.sum()) + 2) / (many + 4)
        return float(everything.mean()), padded * (1 - padded) / (many + 4), 1.0
    variance_f = float(f.var(ddof=1))
    weight = 0.0
    if variance_f > 0:
        covariance = float(np.cov(y, f)[0, 1])
        weight = float(np.clip(covariance / variance_f / (1 + n / many), 0.0, 1.0))
    padded_f, padded_y = np.append(f, [0.0, 1.0]), np.append(y, [1.0, 0.0])
    variance = float((padded_y - weight * padded_f).var(ddof=1)) / (n + 2)
    variance += weight**2 * float(everything.var(ddof=1) if many > 1 else 0.0) / many
    return float(weight * everything.mean() + (y - weight * f).mean()), variance, weight


def _wilson(p: float, variance: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share whose variance is known."""
    if variance == 0:
        return p, p
    z = float(ndtri((1 + level) / 2))
    smoothed = max(p * (1 - p), 0.25 * variance)
    size = smoothed / variance
    centre = (p + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    return float(max(0.0, centre - half)), float(min(1.0, centre + half))


def confusion_matrix(truth: Sequence[int], judged: Sequence[int], k: int) -> IntArray:
    """How often the judge gave each class where people gave each.

    Args:
        truth: People's classes, by number.
        judged: The judge's, of the same images.
        k: Number of classes.

    Returns:
        Shape (k, k), rows by truth.

    Example:
        >>> confusion_matrix([0, 0, 1], [0, 1, 1], 2).tolist()
        [[1, 1], [0, 1]]
    """
    counts = np.zeros((k, k), dtype=np.int64)
    np.add.at(
        counts,
        (np.asarray(truth, dtype=np.int64), np.asarray(judged, dtype=np.int64)),
        1,
    )
    return counts


def corrected_mean_square(
    counts: npt.ArrayLike, confusions: npt.ArrayLike, level: float = 0.95
) -> Corrected:
    """Mean over captions of the squared distance of true shares from uniform (Rogan-Gladen).

    With A the judge's share of class j where people say i, a caption's true shares are A^-T q, and
    h = (|A^-T q|² - 1/k) / (1 - 1/k), where the square is a U-statistic over the caption's pairs of
    images. Deleting one caption at a time, with its labels, gives the bias that the noise of A
    brings, and the variance, which is at least that of uniform answers.

    Args:
        counts: The judge's answers, shape (captions, k).
        confusions: Labels, shape (captions, k, k), rows by truth; see `confusion_matrix`.
        level: Confidence level, in (0, 1).

    Returns:
        The corrected mean square; without a value where there are fewer than 200 labels, a class
        has none, the judge hardly tells the classes apart, or there are fewer than 3 captions.

    Source: Rogan & Gladen 1978, for k classes; Efron & Stein 1981 for the jackknife.

    Example:
        All answers are right, and all are the first class:

        >>> labels = [[[40, 0], [0, 10]]] * 5
        >>> found = corrected_mean_square([[20, 0]] * 5, labels)
        >>> round(found.value, 6)
        1.0
    """
    n = np.asarray(counts, dtype=np.float64)
    labels = np.asarray(confusions, dtype=np.float64)
    usable = n.sum(axis=1) >= 2
    reason = _not_correctable(labels, int(usable.sum()))
    if reason:
        return Corrected(None, reason=reason)
    whole = _mean_square(n[usable], labels.sum(axis=0))
    without = np.array(
        [
            _mean_square(
                np.delete(n, c, axis=0)[np.delete(usable, c)],
                labels.sum(axis=0) - labels[c],
            )
            for c in range(len(n))
        ]
    )
    if not np.isfinite(without).all():
        return Corrected(None, reason="without one caption's labels a class has none")
    captions = len(n)
    value = captions * whole - (captions - 1) * float(without.mean())
    variance = (
        (captions - 1) / captions * float(((without - without.mean()) ** 2).sum())
    )
    variance = max(variance, _least_variance(n[usable], labels.sum(axis=0)))
    return Corrected(value, t_interval(value, variance, captions - 1, level))


def _not_correctable(labels: Float64Array, captions: int) -> str | None:
    total = labels.sum(axis=0)
    if captions < 3:
        return "fewer than 3 captions have two answers"
    if labels.sum() < FEWEST_LABELS:
        return f"{int(labels.sum())} labels; at least {FEWEST_LABELS} are needed"
    if not (total.sum(axis=1) > 0).all():
        return "people never gave one of the classes"
    if abs(np.linalg.det(_rates(total))) < LEAST_DETERMINANT:
        return "the judge tells the classes apart too badly"
    return None


def _rates(confusion: Float64Array) -> Float64Array:
    rates: Float64Array = confusion / confusion.sum(axis=1, keepdims=True)
    return rates


def _least_variance(n: Float64Array, confusion: Float64Array) -> float:
    """Variance of the mean square of uniform answers after the correction."""
    k = n.shape[1]
    inverse = np.linalg.inv(_rates(confusion)).T @ (np.eye(k) - 1 / k)
    gain = float((inverse**2).sum()) / (k - 1)
    total = n.sum(axis=1)
    alone = float((2 / (total * (total - 1) * (k - 1))).mean())
    return float(alone * gain**2 / len(n))


def _mean_square(n: Float64Array, confusion: Float64Array) -> float:
    if not (confusion.sum(axis=1) > 0).all():
        return float("nan")
    k = n.shape[1]
    try:
        # true shares = inverse @ judged shares
        inverse = np.linalg.inv(_rates(confusion)).T
    except np.linalg.LinAlgError:
        return float("nan")
    total = n.sum(axis=1)
    alone = n @ (inverse**2).sum(axis=0)
    squares = (((n @ inverse.T) ** 2).sum(axis=1) - alone) / (total * (total - 1))
    return float(((squares - 1 / k) / (1 - 1 / k)).mean())
